import { describe, expect, it } from 'vitest'
import {
  type AdapterOptions,
  guardedCall,
  withMembers,
} from '../../../packages/sdk/src/adapters/guarded-call.ts'
import type { NotExecuted } from '@countersign/sdk'
import { openBench } from './laws.ts'

const open = openBench()
const SOON = { maxWaitMs: 400 }

/** Why a call of `hold` with this id did not run, or undefined. */
async function refusalOf(
  callId: string,
  options: AdapterOptions = SOON,
  signal?: AbortSignal,
): Promise<NotExecuted | undefined> {
  const { gate, told, ran } = open()
  const asked = { tool: 'hold', callId, input: { n: 1 }, signal }
  const execute = (value: unknown) => {
    ran.push(callId)
    return { kind: 'value', value } as const
  }
  const outcome = await guardedCall(gate, asked, execute, { ...told, ...options })
  return outcome.kind === 'refused' ? outcome.refusal : undefined
}

describe('a call that resumes its thread', () => {
  it('does not match every call that has an empty id', async () => {
    const first = await refusalOf('')
    await open().ann.approve(first?.thread_id ?? '')
    expect(await refusalOf('')).toBeUndefined()
    const next = await refusalOf('')
    expect(next?.code).toBe('still_pending')
    expect([open().pending.length, open().ran]).toEqual([2, ['']])
  })

  it('does not match a call with other metadata, which the gateway would refuse', async () => {
    const first = await refusalOf('a', { ...SOON, workflow_name: 'one' })
    const second = await refusalOf('b', { ...SOON, workflow_name: 'two' })
    expect([first?.code, second?.code]).toEqual(['still_pending', 'still_pending'])
    expect(first?.thread_id).not.toBe(second?.thread_id)
  })

  it('does not match a call with other metadata under the same id: some models count ids from zero', async () => {
    const first = await refusalOf('0', { ...SOON, task_label: 'one' })
    const second = await refusalOf('0', { ...SOON, task_label: 'two' })
    expect([first?.code, second?.code]).toEqual(['still_pending', 'still_pending'])
    expect(first?.thread_id).not.toBe(second?.thread_id)
  })

  it('is not matched by the same call of another task', async () => {
    const first = await refusalOf('a')
    const [other, own] = await Promise.all([refusalOf('b', { ...SOON, taskId: 'other' }), refusalOf('c')])
    expect(own?.thread_id).toBe(first?.thread_id)
    expect(other?.thread_id).not.toBe(first?.thread_id)
    expect(open().pending).toHaveLength(2)
  })
})

it('withdraws the earlier thread when the repeated call is aborted at once', async () => {
  const first = await refusalOf('a')
  expect((await refusalOf('b', SOON, AbortSignal.abort()))?.code).toBe('aborted')
  expect((await open().ann.show(first?.thread_id ?? '')).body).toHaveProperty('withdrawn_at')
})

it('gives a call another id when its own cannot be hashed, and the same call resumes it', async () => {
  const first = await refusalOf('\ud800')
  expect(first?.code).toBe('still_pending')
  await open().ann.approve(first?.thread_id ?? '')
  expect(await refusalOf('next')).toBeUndefined()
})

it('refuses an input of any depth instead of throwing', async () => {
  const { gate, told } = open()
  const nested = (depth: number): object => ({ a: depth === 1 ? 1 : nested(depth - 1) })
  for (const depth of [510, 511, 512, 513, 5_000]) {
    const asked = { tool: 't', callId: 'deep', input: nested(depth), signal: undefined }
    const outcome = await guardedCall(gate, asked, () => expect.fail('it ran'), told)
    expect([depth, outcome.kind]).toEqual([depth, 'refused'])
  }
})

describe('onNotExecuted', () => {
  it('receives the refusal that the model reads, with its call, outcome and thread', async () => {
    const heard: unknown[] = []
    const refusal = await refusalOf('own', { ...SOON, onNotExecuted: (...args) => heard.push(...args) })
    expect(heard).toEqual([refusal, { tool: 'hold', callId: 'own' }])
    expect(refusal).toMatchObject({ code: 'still_pending', thread_id: open().pending[0] })
  })

  it('may throw its own error in place of the refusal, and the tool does not run', async () => {
    const onNotExecuted = () => {
      throw new RangeError('enough')
    }
    await expect(refusalOf('own', { ...SOON, onNotExecuted })).rejects.toThrow('enough')
    const later = (): Promise<never> => Promise.reject(new RangeError('enough, later'))
    await expect(refusalOf('own', { ...SOON, onNotExecuted: later })).rejects.toThrow('enough, later')
    expect(open().ran).toEqual([])
  })
})

it('replaced members leave symbols, getters and prototypes unchanged', () => {
  const key = Symbol('key')
  class Thing {
    [key] = 1
    run = (): string => 'plain'
    get computed(): string {
      return this.run()
    }
  }
  const other = withMembers(new Thing(), { run: () => 'guarded' })
  expect(other).toBeInstanceOf(Thing)
  expect([other[key], other.computed]).toEqual([1, 'guarded'])
})
