import { describe, expect, it } from 'vitest'
import {
  type AdapterOptions,
  guardedCall,
  withMembers,
} from '../../packages/sdk/src/adapters/guarded-call.ts'
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

describe('a call that goes on', () => {
  it('is not every call whose id is empty', async () => {
    const first = await refusalOf('')
    await open().ann.approve(first?.thread_id ?? '')
    expect(await refusalOf('')).toBeUndefined()
    const next = await refusalOf('')
    expect(next?.outcome).toBe('timeout')
    expect([open().pending.length, open().ran]).toEqual([2, ['']])
  })

  it('is another one when something else is said of it: the gateway would refuse the same', async () => {
    const first = await refusalOf('a', { ...SOON, workflow_name: 'one' })
    const second = await refusalOf('b', { ...SOON, workflow_name: 'two' })
    expect([first?.outcome, second?.outcome]).toEqual(['timeout', 'timeout'])
    expect(first?.thread_id).not.toBe(second?.thread_id)
  })

  it('is another one then even under the same id, which some models count from zero', async () => {
    const first = await refusalOf('0', { ...SOON, task_label: 'one' })
    const second = await refusalOf('0', { ...SOON, task_label: 'two' })
    expect([first?.outcome, second?.outcome]).toEqual(['timeout', 'timeout'])
    expect(first?.thread_id).not.toBe(second?.thread_id)
  })

  it('is not taken by the same call of another task', async () => {
    const first = await refusalOf('a')
    const [other, own] = await Promise.all([refusalOf('b', { ...SOON, taskId: 'other' }), refusalOf('c')])
    expect(own?.thread_id).toBe(first?.thread_id)
    expect(other?.thread_id).not.toBe(first?.thread_id)
    expect(open().pending).toHaveLength(2)
  })
})

it('a call that comes again and is given up at once withdraws the thread that it left', async () => {
  const first = await refusalOf('a')
  expect((await refusalOf('b', SOON, AbortSignal.abort()))?.outcome).toBe('aborted')
  expect((await open().ann.show(first?.thread_id ?? '')).body).toHaveProperty('withdrawn_at')
})

it('a call whose id cannot be hashed is asked about under another, and so is the same call after it', async () => {
  const first = await refusalOf('\ud800')
  expect(first?.outcome).toBe('timeout')
  await open().ann.approve(first?.thread_id ?? '')
  expect(await refusalOf('next')).toBeUndefined()
})

it('an input of whatever depth is refused, as every call that does not run', async () => {
  const { gate, told } = open()
  const nested = (depth: number): object => ({ a: depth === 1 ? 1 : nested(depth - 1) })
  for (const depth of [510, 511, 512, 513, 5_000]) {
    const asked = { tool: 't', callId: 'deep', input: nested(depth), signal: undefined }
    const outcome = await guardedCall(gate, asked, () => expect.fail('it ran'), told)
    expect([depth, outcome.kind]).toEqual([depth, 'refused'])
  }
})

describe('onNotExecuted', () => {
  it('hears what the model reads, of which call, with outcome and thread', async () => {
    const heard: unknown[] = []
    const refusal = await refusalOf('own', { ...SOON, onNotExecuted: (...args) => heard.push(...args) })
    expect(heard).toEqual([refusal, { tool: 'hold', callId: 'own' }])
    expect(refusal).toMatchObject({ outcome: 'timeout', thread_id: open().pending[0] })
  })

  it('may put an error of its own in the place of the refusal, and nothing runs', async () => {
    const onNotExecuted = () => {
      throw new RangeError('enough')
    }
    await expect(refusalOf('own', { ...SOON, onNotExecuted })).rejects.toThrow('enough')
    const later = (): Promise<never> => Promise.reject(new RangeError('enough, later'))
    await expect(refusalOf('own', { ...SOON, onNotExecuted: later })).rejects.toThrow('enough, later')
    expect(open().ran).toEqual([])
  })
})

it('other members leave symbols, getters and prototypes as they are', () => {
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
