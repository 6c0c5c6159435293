import { describe, expect, it, vi } from 'vitest'
import { createGate, type GuardOptions, NotExecuted, type Payload } from '../../src/sdk/index.ts'

/*
 * A gateway, or something between, whose answers do not fit together: the call does not run, it ends, and what is said of it is true.
 */
type Route = 'resolve' | 'requests' | 'decisions' | 'validate' | 'events'
type Script = Partial<Record<Route, (honest: object, tries: number) => Response | object>>

const TOOL = { name: 'pay', description: '', input_schema: { type: 'object' }, risk: 'low', revision: 'r' }
const THREAD = 'thr_1'
const REPLAYED = { headers: { 'idempotent-replayed': 'true' } }

/** Holds each call, approves it at the first poll and redeems its proof, but for what the script makes of these answers. */
function gateBefore(script: Script, first: object = { status: 'pending_review', thread_id: THREAD }) {
  const asked: Route[] = []
  const said: { event_type?: string }[] = []
  let action_hash: unknown
  const gate = createGate({
    url: 'http://127.0.0.1:1',
    key: 'csk_test',
    taskId: 't',
    maxWaitMs: 5_000,
    fetch: async (url, { body }) => {
      const route = /resolve|requests|decisions|validate|events/.exec(url)?.[0] as Route
      const sent = JSON.parse((body as string | undefined) ?? '{}') as Record<string, unknown>
      if (route === 'requests') ({ action_hash } = sent)
      if (route === 'events') said.push(sent)
      const about = { task_id: 't', thread_id: THREAD, action_hash }
      const honest = {
        resolve: { tools: [TOOL], unknown: [] },
        requests: { task_id: 't', action_hash, ...first },
        decisions: { ...about, status: 'approved', approval_token: 'cst_x' },
        validate: { ...about, valid: true },
        events: { event_id: 'e', recorded_at: '' },
      }[route]
      const tries = asked.filter((one) => one === route).length
      asked.push(route)
      const answer = script[route]?.(honest, tries) ?? honest
      if (answer instanceof Response) return answer
      return Response.json(answer, { status: route === 'events' ? 201 : 200 })
    },
  })
  return { gate, asked, said }
}

const ALLOW = { status: 'allow' }

async function refusedBy(script: Script, options: GuardOptions<Payload> = {}, first?: object) {
  const { gate, asked } = gateBefore(script, first)
  const execute = vi.fn()
  const refusal = await gate.guard('pay', {}, execute, options).catch((error: unknown) => error)
  expect(execute).not.toHaveBeenCalled()
  expect(refusal).toBeInstanceOf(NotExecuted)
  const { outcome, message } = refusal as NotExecuted
  return { outcome, message, asked }
}

describe('answers that do not fit together', () => {
  it('the honest ones run the call', async () => {
    for (const first of [undefined, ALLOW])
      expect(await gateBefore({}, first).gate.guard('pay', {}, () => 'ran')).toBe('ran')
  })

  it.each<[string, Script]>([
    ['valid, with the reason why it is not', { validate: (is) => ({ ...is, reason: 'used' }) }],
    ['valid in another task', { validate: (is) => ({ ...is, task_id: 'another' }) }],
    ['valid, without a word of the task', { validate: (is) => ({ ...is, task_id: undefined }) }],
  ])('%s: the proof is refused', async (_, script) => {
    expect((await refusedBy(script)).outcome).toBe('proof_refused')
  })

  it('a decision in another task is about another action', async () => {
    const elsewhere: Script = { decisions: (is) => ({ ...is, task_id: 'another' }) }
    const { outcome, asked } = await refusedBy(elsewhere)
    expect([outcome, asked.includes('validate')]).toEqual(['unknown_status', false])
    expect((await refusedBy({}, {}, { ...ALLOW, task_id: 'another' })).outcome).toBe('unknown_status')
  })
})

describe('an allow that is always said to be an old one', () => {
  const old: Script = { requests: (is) => Response.json(is, REPLAYED) }

  it('does not run under an id that others may know, and is not asked for without end', async () => {
    const { outcome, asked } = await refusedBy(old, { callId: 'call_0' }, ALLOW)
    expect(outcome).toBe('gateway_error')
    expect(asked.length).toBeLessThan(1_100)
  })

  it('is taken after as many as somebody may have used before', async () => {
    const some: Script = { requests: (is, tries) => (tries < 200 ? Response.json(is, REPLAYED) : is) }
    const { gate } = gateBefore(some, ALLOW)
    expect(await gate.guard('pay', {}, () => 'ran', { callId: 'call_0' })).toBe('ran')
  })
})

describe('a proof that was on its way when the line was cut', () => {
  it('is not said to be with somebody else', async () => {
    const cut: Script = {
      decisions: (is, tries) => {
        if (tries === 0) throw new TypeError('the line was cut')
        return { ...is, approval_token: undefined }
      },
    }
    const { outcome, message } = await refusedBy(cut)
    expect([outcome, message]).toEqual(['no_proof', expect.stringContaining('an answer that was lost')])
  })
})

describe('a call that ran, and failed because another one did not', () => {
  it('is not NotExecuted, and says so', async () => {
    const { gate, said } = gateBefore({}, ALLOW)
    const inner = new NotExecuted('rejected', 'not that much')
    const execute = vi.fn(() => Promise.reject(inner))
    const error: unknown = await gate.guard('pay', {}, execute).catch((thrown: unknown) => thrown)
    expect(execute).toHaveBeenCalledTimes(1)
    expect(error).not.toBeInstanceOf(NotExecuted)
    expect(error).toMatchObject({ message: 'pay ran, and failed: not that much', cause: inner })
    expect(said.map(({ event_type }) => event_type)).toEqual(['tool.execution.failed'])
  })
})
