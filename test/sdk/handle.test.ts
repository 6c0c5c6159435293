import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import * as sdk from '@countersign/sdk'
import { canonicalJson, type Handle, NotExecuted, type Payload } from '@countersign/sdk'
import { gateBefore, problem, THREAD } from './double.ts'

/** Data that the tests of the package for Python read, too (clients/python/tests/test_shared.py). */
interface Shared {
  readonly refusals: readonly { class: string; code: string; retryable: boolean; sentence: string }[]
  readonly handles: readonly {
    readonly name: string
    readonly call: { tool: string; payload: Payload; task_id: string; call_id: string }
    readonly answer: object
    readonly times?: number
    readonly handle: string
  }[]
}
const SHARED = JSON.parse(
  readFileSync(new URL('../../clients/python/tests/shared.json', import.meta.url), 'utf8'),
) as Shared

const call = { taskId: 't', callId: 'c1', onPending: () => undefined }
const saved = (handle: Handle): Handle => JSON.parse(JSON.stringify(handle)) as Handle
const refusal = (work: Promise<unknown>): Promise<NotExecuted> =>
  work.then(
    () => expect.fail('it ran'),
    (error: unknown) => error as NotExecuted,
  )

describe('what both languages share', () => {
  it('has the same refusals: class, code, advice', () => {
    const classes = Object.values(sdk).filter(
      (one) => typeof one === 'function' && (one === NotExecuted || one.prototype instanceof NotExecuted),
    ) as (new (reason: string) => NotExecuted)[]
    const rows = classes.map((one) => {
      const { name, code, retryable, message } = new one('why')
      return { class: name, code, retryable, sentence: message }
    })
    expect(rows.sort((a, b) => (a.code < b.code ? -1 : 1))).toEqual(SHARED.refusals)
    for (const one of classes) expect(new one('why').name).toBe(one.name)
  })

  it.each(SHARED.handles)(
    'makes the same handle: $name',
    async ({ call: given, answer, times = 1, handle }) => {
      const about = { task_id: given.task_id, ...answer }
      const { gate } = gateBefore({ requests: (is) => ({ ...is, ...about }) }, about)
      const options = { taskId: given.task_id, callId: given.call_id, onPending: () => undefined }
      const made: Handle[] = []
      while (made.length < times) made.push(await gate.propose(given.tool, given.payload, options))
      expect(canonicalJson(made.at(-1) as unknown as Payload)).toBe(handle)
      expect(new TextEncoder().encode(handle).length).toBeLessThanOrEqual(1_024)
    },
  )
})

describe('a handle', () => {
  it('continues the call in another process, where a lost proof is replaced, and runs once', async () => {
    const handle = saved(await gateBefore({}).gate.propose('pay', { cents: 1 }, call))
    const { action_hash } = handle
    const lost = (is: object) => ({ ...is, action_hash, approval_token: undefined })
    const { gate, asked } = gateBefore({
      decisions: lost,
      proofs: (is) => ({ ...is, action_hash }),
      validate: (is) => ({ ...is, action_hash }),
    })
    expect(await gate.resume(handle, (approved) => approved, { maxWaitMs: 0 })).toEqual({ cents: 1 })
    expect(asked).toEqual(['decisions', 'proofs', 'validate', 'outcomes'])
  })

  it('says that a call may have run, to the second of two processes', async () => {
    const handle = await gateBefore({}).gate.propose('pay', {}, call)
    const { gate } = gateBefore({
      decisions: (is) => ({ ...is, action_hash: handle.action_hash, approval_token: undefined }),
      proofs: () => problem(409, 'proof_used', 'used'),
    })
    const error = await refusal(gate.resume(handle, () => 'ran'))
    expect(error).toBeInstanceOf(sdk.NoProof)
    expect(error.message).toMatch(/^It may have run: /)
    expect(error.console_url).toBe(`http://127.0.0.1:1/console/#/thread/${THREAD}`)
  })

  it('is asked about once with maxWaitMs 0, and the refusal carries it', async () => {
    const pending = { decisions: () => ({ status: 'pending_review', task_id: 't', thread_id: THREAD }) }
    const { gate, asked } = gateBefore(pending)
    const handle = saved(await gate.propose('pay', { cents: 1 }, call))
    const error = await refusal(gate.resume(handle, () => 'ran', { maxWaitMs: 0 }))
    expect(error).toMatchObject({ code: 'still_pending', thread_id: THREAD, retryable: true })
    expect(canonicalJson(error.handle as unknown as Payload)).toBe(
      canonicalJson(handle as unknown as Payload),
    )
    expect(asked).toEqual(['resolve', 'requests', 'decisions'])
  })

  it('gets its decision without the proof, which resume uses later', async () => {
    const { gate, asked } = gateBefore({})
    const handle = await gate.propose('pay', {}, call)
    const told = await gate.decision(handle)
    expect(told).toMatchObject({ status: 'approved', thread_id: THREAD })
    expect(JSON.stringify(told)).not.toContain('cst_')
    expect(await gate.resume(handle, () => 'ran')).toBe('ran')
    expect(asked.slice(2)).toEqual(['decisions', 'validate', 'outcomes'])
  })

  it('of an allowed call runs once in its process; then policy judges again', async () => {
    const { gate, asked } = gateBefore({}, { status: 'allow' })
    const handle = saved(await gate.propose('pay', {}, call))
    expect(await gate.decision(handle)).toMatchObject({ status: 'allow' })
    expect(await gate.resume(handle, () => 'ran')).toBe('ran')
    expect(await gate.resume(handle, () => 'again')).toBe('again')
    expect(asked.filter((one) => one === 'requests')).toHaveLength(2)
  })

  it('with other arguments sends nothing, and runs nothing', async () => {
    const { gate, asked } = gateBefore({})
    const handle = saved(await gate.propose('pay', { cents: 1 }, call))
    const before = asked.length
    const edited = { ...handle, payload: { cents: 2 } }
    for (const work of [
      gate.resume(edited, () => 1),
      gate.resume(handle, () => 1, { payload: { cents: 2 } }),
    ])
      expect(await refusal(work)).toMatchObject({ code: 'arguments_changed', thread_id: THREAD })
    expect(asked.length).toBe(before)
    expect(await gate.resume(edited, () => 'ran', { payload: { cents: 1 } })).toBe('ran')
  })

  it('with a wrong member is a TypeError that names the member', async () => {
    const { gate, asked } = gateBefore({})
    const handle = saved(await gate.propose('pay', {}, call))
    const before = asked.length
    const edits: [string, object][] = [
      ['v', { v: 2 }],
      ['extra', { extra: 1 }],
      ['action_hash', { action_hash: 'abc' }],
      ['thread_id', { thread_id: undefined }],
      ['again', { again: 0 }],
      ['status', { status: 'allowed' }],
      ['payload', { payload: [] }],
      ['1024', { payload: { long: 'x'.repeat(1_024) } }],
    ]
    for (const [name, edit] of edits) {
      const work = gate.resume({ ...handle, ...edit } as Handle, () => expect.fail('it ran'))
      await expect(work, name).rejects.toThrow(TypeError)
      await expect(gate.decision({ ...handle, ...edit } as Handle)).rejects.toThrow(name)
    }
    const { payload: _, ...small } = handle
    await expect(gate.resume(small, () => expect.fail('it ran'))).rejects.toThrow(/no payload: pass/)
    await expect(gate.propose('pay', {}, { ...call, callId: 'c'.repeat(800) })).rejects.toThrow(/shorter/)
    expect(asked.length).toBe(before)
  })

  it('revises, in the same thread, to another handle', async () => {
    const { gate, sent } = gateBefore({})
    const handle = await gate.propose('pay', { cents: 2 }, call)
    const next = await gate.revise(handle, { cents: 1 })
    expect(next).toMatchObject({ status: 'pending_review', thread_id: THREAD, payload: { cents: 1 } })
    expect(next.action_hash).not.toBe(handle.action_hash)
    expect([sent.events]).toMatchObject([{ payload: { revision: { action_hash: next.action_hash } } }])
  })

  it('withdraws, at the end of its block too, but not after the redemption', async () => {
    const { gate, asked } = gateBefore({})
    expect(await gate.withdraw(await gate.propose('pay', {}, call), 'no longer needed')).toBe(true)
    {
      await using handle = await gate.propose('pay', {}, { ...call, callId: 'c2' })
      expect(gate.pageOf(handle)).toBe(`http://127.0.0.1:1/console/#/thread/${THREAD}`)
    }
    expect(asked.filter((one) => one === 'withdrawals')).toHaveLength(2)
    {
      await using handle = await gate.propose('pay', {}, { ...call, callId: 'c3' })
      await gate.resume(handle, () => 'ran')
    }
    expect(asked.filter((one) => one === 'withdrawals')).toHaveLength(2)
    const used = gateBefore({ withdrawals: () => problem(409, 'not_pending', 'redeemed') }).gate
    expect(await used.withdraw(await used.propose('pay', {}, call))).toBe(false)
  })

  it('waits until the deadline, which counts from the proposal', async () => {
    const pending = () => ({ status: 'pending_review', task_id: 't', thread_id: THREAD })
    const { gate, asked } = gateBefore({ decisions: pending })
    const options = { ...call, deadlineMs: 300 }
    const error = await refusal(gate.guard('pay', {}, () => 'ran', options))
    expect(error).toMatchObject({ code: 'still_pending', handle: { thread_id: THREAD } })
    expect(asked).not.toContain('withdrawals')
  })

  it('is kept for a grace after a time-out of the signal, and withdrawn after any other abort', async () => {
    for (const [reason, code, body] of [
      [new DOMException('late', 'TimeoutError'), 'still_pending', { grace_seconds: 120 }],
      [new Error('stop'), 'aborted', { reason: 'the agent gave up the call' }],
    ] as const) {
      const pending = () => ({ status: 'pending_review', task_id: 't', thread_id: THREAD })
      const { gate, withdrawn } = gateBefore({ decisions: pending })
      const handle = saved(await gate.propose('pay', {}, call))
      expect(
        await refusal(gate.resume(handle, () => 1, { signal: AbortSignal.abort(reason) })),
      ).toMatchObject({ code })
      expect(withdrawn).toEqual([body])
    }
  })

  it('withdraws the call when beforeProof fails, and redeems nothing', async () => {
    const { gate, asked, withdrawn } = gateBefore({})
    const beforeProof = () => Promise.reject(new Error('the file changed'))
    const error = await refusal(gate.guard('pay', {}, () => 'ran', { beforeProof }))
    expect([error.code, withdrawn.length, asked.includes('validate')]).toEqual(['aborted', 1, false])
  })

  it('withdraws the call when onPending fails', async () => {
    const { gate, withdrawn } = gateBefore({})
    const onPending = () => Promise.reject(new Error('no screen'))
    const error = await refusal(gate.propose('pay', {}, { ...call, onPending }))
    expect([error.code, withdrawn.length]).toEqual(['aborted', 1])
  })
})
