// @store each
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createGate, type Gate, type GateOptions, type NotExecuted, type Code } from '@countersign/sdk'
import { BUNDLE } from '../bundle.ts'
import { fileWorld, world } from '../agent-world.ts'
import { openWorld, type Reviewer, type World } from '../gateway-fixture.ts'
import { until } from '../until.ts'

/** The wrapper before a whole gateway: calls that continue where they stopped, and calls that others execute. */
let ann: Reviewer
let gate: Gate

fileWorld()
beforeAll(async () => {
  ann = await world.reviewer('ann')
  const { key } = await world.agent()
  // the port is another one after each start
  const fetching = (url: string, init: RequestInit) =>
    fetch(world.url + new URL(url).pathname + new URL(url).search, init)
  gate = createGate({ url: 'http://127.0.0.1:1', key, taskId: 'sdk', fetch: fetching })
  // polls of the gateway end by its clock
  world.clock.run()
})

const waiting = async (): Promise<string[]> =>
  (await ann.list({ status: 'pending_review' })).body.threads.map(({ thread_id }) => thread_id)
const refusalOf = (call: Promise<unknown>): Promise<NotExecuted> =>
  call.then(
    () => expect.fail('it ran'),
    (error: unknown) => error as NotExecuted,
  )
const codeOf = async (call: Promise<unknown>): Promise<Code> => (await refusalOf(call)).code
const SOON = { maxWaitMs: 500 }

describe('a call with an id', () => {
  it('resumes its thread after a timeout and a restart of the gateway, and runs once', async () => {
    const call = () => gate.guard('hold', { n: 1 }, () => 'ran', { callId: 'call-1', ...SOON })
    const { code, thread_id = '' } = await refusalOf(call())
    expect([code, await waiting()]).toEqual(['still_pending', [thread_id]])
    await world.restart()
    await ann.approve(thread_id)
    expect(await call()).toBe('ran')
    expect(await codeOf(call())).toBe('no_proof')
    expect(await waiting()).toEqual([])
  })

  it('runs once after one approval when the answer with its proof is lost, or its process ends with the proof', async () => {
    for (const ends of ['the answer is lost', 'the process ends']) {
      const callId = `lost: ${ends}`
      const { key } = await world.agent('other')
      // the first answer that carries a proof does not arrive, or the process ends before the redemption
      let lost: string | undefined
      const losing: GateOptions['fetch'] = async (url, init) => {
        if (ends === 'the process ends' && lost !== undefined && url.endsWith('/validate'))
          throw new TypeError('the process has ended')
        const response = await fetch(url, init)
        const text = await response.clone().text()
        const [, token] = /"approval_token":"([^"]+)"/.exec(text) ?? []
        if (token === undefined || lost !== undefined) return response
        lost = token
        if (ends === 'the answer is lost') throw new TypeError('the line was cut')
        return response
      }
      const first = createGate({ url: world.url, key, taskId: 'lost', fetch: losing })
      const call = (gate: Gate) => gate.guard('hold', { n: 9 }, () => 'ran', { callId, ...SOON })
      const { thread_id = '' } = await refusalOf(call(first))
      await ann.approve(thread_id)
      const second = createGate({ url: world.url, key, taskId: 'lost' })
      if (ends === 'the process ends') expect(await codeOf(call(first))).toBe('outcome_unknown')
      expect(await call(ends === 'the process ends' ? second : first)).toBe('ran')
      expect(lost).toBeDefined()
      expect(await codeOf(call(second))).toBe('no_proof')
      expect(await waiting()).toEqual([])
    }
  })

  it('is a different call with another payload, tool, task or id', async () => {
    const [payload, options] = [{ n: 2 }, { callId: 'call-2', ...SOON }]
    const calls = [
      gate.authorize('hold', payload, options),
      gate.authorize('hold', { n: 3 }, options),
      gate.authorize('brief', payload, options),
      gate.authorize('hold', payload, { ...options, taskId: 'another' }),
      gate.authorize('hold', payload, { ...options, callId: 'call-3' }),
    ]
    const threads = await Promise.all(calls.map((call) => refusalOf(call)))
    expect(new Set(threads.map(({ thread_id }) => thread_id)).size).toBe(calls.length)
  })
})

describe('a call id that policy allows', () => {
  const limited = `${BUNDLE['rules/open.yaml'] ?? ''}limits:
  - id: t-few
    review: That is many.
    count: calls
    at_most: 2
    within: 24h
    per: task
`
  let few: World
  let key: string
  beforeAll(async () => {
    few = await openWorld({ files: { 'rules/open.yaml': limited } })
    ;({ key } = await few.agent())
    few.clock.run()
  })
  afterAll(() => few.close())

  /** Calls of one id: those of `gates` in turn, which know nothing of one another. */
  const calls = (taskId: string, gates: number, fetching: GateOptions['fetch'] = fetch) => {
    const own = Array.from({ length: gates }, () =>
      createGate({ url: few.url, key, taskId, fetch: fetching }),
    )
    let [asked, ran] = [0, 0]
    const next = () =>
      own[asked++ % gates]?.guard('t', { n: 1 }, () => ++ran, { callId: 'call_0', ...SOON }) ?? expect.fail()
    const reported = async () => {
      await next()
      await Promise.all(own.map((one) => one.settled()))
    }
    return { next, reported, ran: () => ran }
  }

  it.each([
    ['in one process', 1],
    ['in processes of their own', 4],
  ])(
    'does not exempt a repeated call from its limit: each concurrent call is judged, %s',
    async (_, gates) => {
      const { next, ran } = calls(`few-${gates}`, gates)
      const settled = await Promise.allSettled([next(), next(), next(), next()])
      const threads = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as NotExecuted] : []))
      expect([ran(), threads.map(({ code }) => code)]).toEqual([2, ['still_pending', 'still_pending']])
      const [thread, ...others] = new Set(threads.map(({ thread_id }) => thread_id))
      expect(others).toEqual([])
      // then a call continues with the thread, once
      await (await few.reviewer('ann')).approve(thread ?? '')
      expect(await next()).toBe(3)
      expect(await codeOf(next())).toBe('no_proof')
    },
  )

  /** The first proposal gets no answer, whether it was delivered or not. */
  const losing = (delivered: boolean): NonNullable<GateOptions['fetch']> => {
    let lose = true
    return async (url, init) => {
      const lost = lose && url.endsWith('/requests')
      if (lost) lose = false
      if (!lost) return fetch(url, init)
      if (delivered) await (await fetch(url, init)).text()
      throw new TypeError('the line was cut')
    }
  }
  const typesOf = async (act: () => Promise<unknown>): Promise<string[]> =>
    (await few.evidenceOf(act)).map(({ record }) => record.type)

  it('is judged again when the answer is lost, because another process may have used it', async () => {
    const { reported, ran } = calls('lost', 1, losing(true))
    expect(await typesOf(reported)).toEqual(['decision.allowed', 'decision.allowed', 'call.ended'])
    expect(ran()).toBe(1)
  })

  it('runs once per allow, even when another process had the first and this one could not connect', async () => {
    const [before, after] = [calls('again', 1), calls('again', 1, losing(false))]
    const types = await typesOf(async () => {
      await before.next()
      await after.next()
    })
    expect([before.ran(), after.ran()]).toEqual([1, 1])
    expect(types.filter((type) => type === 'decision.allowed')).toHaveLength(2)
  })

  it('counts once when the answer is lost and the id is known to no other process', async () => {
    const own = createGate({ url: few.url, key, taskId: 'own', fetch: losing(true) })
    const types = await typesOf(async () => {
      await own.guard('t', { n: 1 }, () => 'ran')
      await own.settled()
    })
    expect(types).toEqual(['decision.allowed', 'call.ended'])
  })

  it.each([
    ['too much to do', 'overloaded'],
    ['calls', 'rate_limited'],
  ])('is judged again when every earlier answer was a refusal: %s', async (_, code) => {
    let refuse = false
    const { reported } = calls(code, 2, async (url, init) => {
      if (!refuse || !url.endsWith('/requests')) return fetch(url, init)
      refuse = false
      return Response.json({ code, detail: 'later' }, { status: 503, headers: { 'retry-after': '0' } })
    })
    await reported()
    refuse = true
    expect(await typesOf(reported)).toEqual(['decision.allowed', 'call.ended'])
  })
})

describe('authorize', () => {
  it('resolves with the frozen payload that policy allows, and reports nothing', async () => {
    const recorded = await world.evidenceOf(async () => {
      const given = { deep: { list: [1] } }
      const allowed = await gate.authorize('t', given)
      expect(allowed).toEqual(given)
      expect(allowed).not.toBe(given)
      expect([allowed, allowed['deep']].every(Object.isFrozen)).toBe(true)
    })
    expect(recorded.map(({ record }) => record.type)).toEqual(['decision.allowed'])
  })

  it('resolves after approval, with the proof already redeemed', async () => {
    let thread = ''
    const recorded = await world.evidenceOf(async () => {
      const options = { onPending: ({ thread_id = '' }) => void (thread = thread_id) }
      const authorized = gate.authorize('hold', { n: 4 }, options)
      await until(() => thread !== '')
      await ann.approve(thread)
      expect(await authorized).toEqual({ n: 4 })
    })
    expect(recorded.at(-1)?.record).toMatchObject({ type: 'token.redeemed', thread_id: thread })
  })

  it('throws in every other case, as guard does', async () => {
    expect(await codeOf(gate.authorize('bare', {}))).toBe('rejected')
    expect(await codeOf(gate.authorize('wipe', {}))).toBe('unknown_tool')
    expect(await codeOf(gate.authorize('pay', { amount: 'all' }))).toBe('invalid_payload')
    expect(await codeOf(gate.authorize('t', {}, { signal: AbortSignal.abort() }))).toBe('aborted')
  })

  it('names the misfit even where only the gateway can detect it, at first and in a revision', async () => {
    const misfit = { amount: 500, pin: 'abc' }
    const places = /fit the contract of `pay`: \/payload\/(?:revision\/request_payload\/)?pin must /
    const first = await refusalOf(gate.authorize('pay', misfit))
    expect(first).toMatchObject({ code: 'invalid_payload', message: expect.stringMatching(places) })
    let thread = ''
    const options = {
      onPending: ({ thread_id = '' }) => void (thread = thread_id),
      revise: () => misfit,
    }
    const revised = refusalOf(gate.authorize('pay', { amount: 500 }, options))
    await until(() => thread !== '')
    await ann.vote(thread, { decision: 'request_changes', revision: 1, comment: 'with a pin' })
    expect(await revised).toMatchObject({
      code: 'invalid_payload',
      message: expect.stringMatching(places),
      thread_id: thread,
    })
  })
})

describe('a revision', () => {
  it("repeats the call's claims about the task, because policy needs them", async () => {
    const payroll = `tool: hold
rules:
  - id: hold-payroll
    review: People look at the payroll.
    when:
      task.workflow: { is: payroll }
      task.label: { is: march }
`
    const own = await openWorld({ files: { 'rules/hold.yaml': payroll } })
    try {
      const [{ key }, cat] = [await own.agent(), await own.reviewer('cat')]
      own.clock.run()
      const claims = { workflow_name: 'payroll', task_label: 'march', risk_level: 'medium' as const }
      let thread = ''
      const revised = createGate({ url: own.url, key }).guard('hold', { n: 1 }, ({ n }) => n, {
        ...claims,
        preview: 'one',
        onPending: ({ thread_id = '' }) => void (thread = thread_id),
        revise: () => ({ n: 2 }),
      })
      await until(() => thread !== '')
      await cat.vote(thread, { decision: 'request_changes', revision: 1, comment: 'two' })
      const approving = async () => {
        await until(async () => (await cat.show(thread)).body.revision === 2)
        return cat.approve(thread, 2)
      }
      const [n, { body }] = await Promise.all([revised, approving()])
      expect(n).toBe(2)
      expect(body.revisions).toMatchObject([claims, claims])
      // the preview of the old payload does not appear with the new one
      expect(body.revisions.map(({ preview }) => preview)).toEqual(['one', undefined])
    } finally {
      await own.close()
    }
  })
})
