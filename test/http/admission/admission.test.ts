import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ADMISSION, type Admission, createAdmission } from '../../../src/http/admission/admission.ts'
import { PATIENCE } from '../../../src/http/admission/lane.ts'
import { newTask, openWorld, overriding } from '../../gateway-fixture.ts'
import { until } from '../../until.ts'

const PROPOSE = '/api/agent/tasks/a/requests'
const FOLLOW = ['/api/agent/decisions?thread_id=x', '/api/agent/approvals/validate']
const PEOPLE = [
  '/api/review/threads',
  '/api/admin/policies',
  '/console/',
  '/openapi.json',
  '/api/review/threads?tool=%20',
  '*',
]
const HEALTH = ['/livez', '/readyz']
const { PLACES, BEGIN_AT_ONCE, LATE_MS, SWEEP_MS, WAITING_BYTES, LEAST_BYTES } = ADMISSION
const BODY_BYTES = 1_024 * 1_024
/** Places for proposals that one tenant may have. */
const OWN = 0.75 * PLACES.propose

/** As much of a request and its answer as the queue touches. */
class Call extends EventEmitter {
  sendDate = true
  headersSent = false
  writableEnded = false
  destroyed = false
  status = 0
  began = 0
  headers: string[] = []
  text = ''
  readonly request
  constructor(url: string, tenant: string, headers: Record<string, string>) {
    super()
    this.request = { url, headers, tenant, complete: false, readableLength: 0 }
  }
  writeHead(status: number, headers: string[]): void {
    Object.assign(this, { status, headers, headersSent: true })
  }
  end(text = ''): void {
    this.text = text
    this.writableEnded = true
    this.emit('prefinish')
    this.emit('close')
  }
  /** The caller disconnects. */
  leave(): void {
    this.destroyed = true
    this.emit('close')
  }
  get retryAfter(): number {
    return Number(this.headers[this.headers.indexOf('retry-after') + 1])
  }
}

let admission: Admission
let clock = 0
let said: unknown[] = []

beforeEach(() => {
  vi.useFakeTimers()
  clock = 0
  said = []
  admission = createAdmission({
    bodyBytes: BODY_BYTES,
    senderOf: (request) => {
      const { tenant } = request as unknown as Call['request']
      return { tenant, holder: tenant }
    },
    onOverload: (over) => said.push(over),
    now: () => clock,
  })
})
afterEach(() => {
  admission.close()
  vi.useRealTimers()
})

interface Asked {
  readonly url?: string
  readonly tenant?: string
  readonly headers?: Record<string, string>
}

function ask({ url = PROPOSE, tenant = 'acme', headers = {} }: Asked = {}): Call {
  const call = new Call(url, tenant, headers)
  admission.enter(call.request as unknown as IncomingMessage, response(call), () => call.began++)
  return call
}

const response = (call: Call): ServerResponse => call as unknown as ServerResponse
const askOften = (times: number, asked?: Asked): Call[] => Array.from({ length: times }, () => ask(asked))
const begun = (calls: readonly Call[]): Call[] => calls.filter(({ began }) => began > 0)
const refused = (calls: readonly Call[]): Call[] => calls.filter(({ status }) => status !== 0)

/** Lets `ms` pass, a turn of the loop in each of them. */
function pass(ms: number): void {
  for (let i = 0; i < ms; i++) {
    clock += 1
    vi.advanceTimersByTime(1)
  }
}

describe('places', () => {
  it('a request begins at once while a place is free, and waits otherwise', () => {
    const calls = askOften(OWN + 2)
    expect(begun(calls)).toHaveLength(OWN)
    expect(admission.sight().waiting.propose).toBe(2)
    calls[0]?.end()
    expect(begun(calls)).toHaveLength(OWN)
    pass(1)
    expect(begun(calls)).toHaveLength(OWN + 1)
    expect(admission.sight()).toMatchObject({ underWay: { propose: OWN }, waiting: { propose: 1 } })
  })

  it('a place is freed once, when the answer is complete or the caller has disconnected', () => {
    const calls = askOften(OWN + 3)
    calls[0]?.emit('prefinish')
    calls[0]?.emit('close')
    calls[1]?.leave()
    pass(1)
    expect(begun(calls)).toHaveLength(OWN + 2)
  })

  it("one tenant cannot take every place: another tenant's request begins before those that wait", () => {
    const many = askOften(10 * OWN)
    expect(begun(many)).toHaveLength(OWN)
    const other = ask({ tenant: 'other' })
    pass(1)
    expect([other.began, begun(many).length]).toEqual([1, OWN])
  })

  it('tenants with waiting requests take turns', () => {
    const first = askOften(OWN)
    askOften(PLACES.propose, { tenant: 'second' })
    const waiting = [...askOften(20, { tenant: 'a' }), ...askOften(20, { tenant: 'b' })]
    for (const call of first.slice(0, 8)) call.end()
    pass(1)
    const turns = begun(waiting).map(({ request }) => request.tenant)
    expect(Math.abs(turns.filter((tenant) => tenant === 'a').length - turns.length / 2)).toBeLessThanOrEqual(
      1,
    )
  })

  it('new calls, follow-ups and reviewers have separate places; health is always answered', () => {
    askOften(1_000)
    for (const url of FOLLOW) expect(ask({ url }).began).toBe(1)
    for (const url of PEOPLE) expect(ask({ url }).began).toBe(1)
    askOften(200, { url: PEOPLE[0] as string })
    expect(ask({ url: PEOPLE[1] as string }).began).toBe(0)
    for (const url of HEALTH) expect(begun(askOften(1_000, { url }))).toHaveLength(1_000)
  })

  it.each(['/api/%61gent/tasks/a/requests', '/%61pi/agent/tasks/a/requests', '/a%70i/%61gent/decisions?x'])(
    "an agent that writes its path as %s takes no reviewer's place",
    (url) => {
      askOften(OWN)
      expect(ask({ url }).began).toBe(0)
    },
  )

  it('a poll that waits for reviewers takes no place, and frees none when it ends', () => {
    const [first] = askOften(OWN) as [Call]
    admission.leave(response(first))
    expect(ask().began).toBe(1)
    first.end()
    expect(ask().began).toBe(0)
  })

  it('a limited number begins per turn of the event loop, so that new connections are accepted in between', () => {
    const calls = askOften(2 * OWN)
    for (const call of begun(calls)) call.end()
    vi.advanceTimersToNextTimer()
    expect(begun(calls)).toHaveLength(OWN + BEGIN_AT_ONCE)
    admission.connected()
    vi.advanceTimersToNextTimer()
    expect(begun(calls)).toHaveLength(OWN + BEGIN_AT_ONCE + ADMISSION.BEGIN_IN_CROWD)
    pass(10)
    expect(begun(calls)).toHaveLength(2 * OWN)
  })

  it('refusals of one turn are bounded too, although each gives up its place at once and no queue exists', () => {
    const refusing = (tenant: string): Call[] =>
      Array.from({ length: 300 }, () => {
        const call = new Call(PROPOSE, tenant, {})
        admission.enter(call.request as unknown as IncomingMessage, response(call), () => {
          call.began++
          call.end()
        })
        return call
      })
    const strangers = refusing('?')
    expect(begun(strangers)).toHaveLength(BEGIN_AT_ONCE)
    pass(300 / BEGIN_AT_ONCE + 2)
    expect(begun(strangers)).toHaveLength(300)
    expect(begun(refusing('acme'))).toHaveLength(PLACES.propose)
  })

  it('thousands of requests that are answered at once do not overflow the stack', () => {
    const held = askOften(OWN)
    const others = Array.from({ length: 4_000 }, () => new Call(PROPOSE, 'acme', {}))
    for (const call of others)
      admission.enter(call.request as unknown as IncomingMessage, response(call), () => {
        call.began++
        call.end()
      })
    held[0]?.end()
    pass(4_000 / BEGIN_AT_ONCE + 10)
    expect(begun(others)).toHaveLength(4_000)
  })
})

describe('the queue', () => {
  it('a caller that disconnects leaves the queue', () => {
    const calls = askOften(OWN + 3)
    const [gone, next] = calls.slice(OWN) as [Call, Call]
    gone.leave()
    expect(admission.sight().waiting.propose).toBe(2)
    calls[0]?.end()
    pass(1)
    expect([gone.began, next.began]).toEqual([0, 1])
  })

  it('a burst waits up to its patience; then 503 overloaded with Retry-After, and nothing began', () => {
    const calls = askOften(OWN + 3)
    pass(PATIENCE.BURST_MS)
    expect(refused(calls)).toEqual([])
    pass(SWEEP_MS + 1)
    const answers = refused(calls)
    expect(answers).toHaveLength(3)
    for (const { status, headers, text, began, retryAfter } of answers) {
      expect([status, began]).toEqual([503, 0])
      expect(JSON.parse(text)).toMatchObject({ code: 'overloaded', status: 503 })
      expect(headers).toEqual(expect.arrayContaining(['cache-control', 'no-store']))
      expect(headers[headers.indexOf('content-length') + 1]).toBe(String(Buffer.byteLength(text)))
      expect(retryAfter).toBeGreaterThanOrEqual(1)
    }
    expect(admission.sight()).toMatchObject({ waiting: { propose: 0 }, refused: { propose: 3 } })
  })

  it('the queue is bounded in memory, with three quarters for one tenant; the rest is refused at once', () => {
    const room = (0.75 * WAITING_BYTES) / LEAST_BYTES
    const calls = askOften(OWN + room + 2)
    expect(refused(calls)).toHaveLength(2)
    expect(refused([ask({ tenant: 'other' })])).toEqual([])
  })

  it('counts one piece of a body that is large or has no known length', () => {
    const bytes = 0.75 * WAITING_BYTES
    const held = Math.max(OWN, 48)
    const bodies = [{ 'transfer-encoding': 'chunked' }, { 'content-length': String(BODY_BYTES) }]
    const calls = Array.from({ length: held + bytes / ADMISSION.READ_BYTES + 5 }, (_, i) =>
      ask({ headers: bodies[i % 2] as Record<string, string> }),
    )
    const waiting = calls.length - begun(calls).length - refused(calls).length
    expect(waiting).toBe(bytes / ADMISSION.READ_BYTES)
  })

  it('a request that would wait too long is refused at once, with its own Retry-After', () => {
    const calls = askOften(OWN + 200)
    const perSecond = 20
    for (let second = 0; second < 3; second++)
      for (let i = 0; i < perSecond; i++) {
        begun(calls)
          .find(({ writableEnded }) => !writableEnded)
          ?.end()
        pass(1_000 / perSecond)
      }
    const late = askOften(100)
    expect(refused(late)).toHaveLength(100)
    // 140 calls wait, and each refused call counts the refused calls before it
    expect(late[0]?.retryAfter).toBeGreaterThanOrEqual(7)
    expect(late[0]?.retryAfter).toBeLessThanOrEqual(8)
    expect(late[99]?.retryAfter).toBeGreaterThanOrEqual(11)
    expect(late[99]?.retryAfter).toBeLessThanOrEqual(13)
  })

  it('logs once that it refuses, and once that it has stopped, with the number of refusals', () => {
    const calls = askOften(OWN + 5)
    pass(PATIENCE.BURST_MS + 2 * SWEEP_MS)
    for (const call of begun(calls)) call.end()
    expect(said).toEqual([{ began: true, refused: 1 }])
    pass(ADMISSION.CALM_MS + SWEEP_MS)
    expect(said).toEqual([
      { began: true, refused: 1 },
      { began: false, refused: 5 },
    ])
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('bodies', () => {
  const body = { 'content-length': '10' }

  it('a late body takes no place; when it is complete, its request is the next of its tenant', () => {
    const slow = askOften(OWN, { headers: body })
    const others = askOften(2)
    pass(LATE_MS + SWEEP_MS)
    expect(begun(others)).toHaveLength(2)
    const more = askOften(OWN)
    const [first] = slow as [Call]
    let resumed = 0
    admission.resume(response(first), () => resumed++)
    pass(1)
    expect([resumed, begun(more).length]).toEqual([0, OWN - 2])
    others[0]?.end()
    pass(1)
    expect([resumed, begun(more).length]).toEqual([1, OWN - 2])
  })

  it('a body in time continues at once, and keeps its place', () => {
    const [first] = askOften(OWN, { headers: body }) as [Call]
    let resumed = 0
    admission.resume(response(first), () => resumed++)
    expect([resumed, ask().began]).toEqual([1, 0])
  })

  it('counts an unread body as in time', () => {
    const calls = askOften(OWN, { headers: body })
    for (const { request } of calls.slice(1)) request.readableLength = 3
    pass(LATE_MS + SWEEP_MS)
    expect(admission.sight().underWay.propose).toBe(OWN - 1)
  })

  it('one sender with too many late bodies gets 429, and the rest of those bodies is ignored', () => {
    const most = (0.75 * WAITING_BYTES) / ADMISSION.READ_BYTES
    const large = { 'content-length': String(BODY_BYTES) }
    const slow: Call[] = []
    while (slow.length < most + 50) {
      slow.push(...askOften(40, { headers: large }))
      pass(LATE_MS + SWEEP_MS)
    }
    const answers = refused(slow)
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: slow.length - most }, () => 429))
    let resumed = 0
    admission.resume(response(answers[0] as Call), () => resumed++)
    expect(resumed).toBe(0)
    expect(ask({ tenant: 'other', headers: large }).began).toBe(1)
  })

  it('bodies in progress are bounded together, and one tenant gets three quarters of the room', () => {
    const large = { 'content-length': String(BODY_BYTES) }
    const calls = askOften(100, { headers: large })
    expect(begun(calls)).toHaveLength(48)
    const other = ask({ tenant: 'other', headers: large })
    pass(1)
    expect(other.began).toBe(1)
    other.end()
    calls[0]?.end()
    pass(1)
    expect(begun(calls)).toHaveLength(49)
  })
})

interface Load {
  readonly perMs: number
  readonly atOnce?: number
  readonly asked?: number
  readonly ms: number
  /** Each waits for its answer before it asks again. */
  readonly clients?: number
}

/**
 * A gateway in numbers, with a clock of its own. In a turn of 1 ms it serves `perMs` of the calls that have begun. A
 * refusal costs a fifth of serving.
 */
function simulate({ perMs, atOnce = 0, asked = 0, ms, clients = Infinity }: Load) {
  const waits: number[] = []
  const works: Call[] = []
  let [open, due, spent, refusals] = [0, atOnce, 0, 0]
  const call = (): void => {
    const at = clock
    const one = new Call(PROPOSE, 'acme', {})
    open += 1
    one.once('close', () => {
      open -= 1
      if (one.status === 0) waits.push(clock - at)
      else {
        refusals += 1
        spent += 0.2
      }
    })
    admission.enter(one.request as unknown as IncomingMessage, response(one), () => works.push(one))
  }
  for (let t = 0; t < ms; t++) {
    for (due = Math.min(due + asked, clients - open); due >= 1; due -= 1) call()
    pass(1)
    for (spent -= perMs; spent < 0 && works.length > 0; spent += 1) works.shift()?.end()
    spent = Math.max(0, spent)
  }
  const p99 = waits.toSorted((one, other) => one - other)[Math.floor(waits.length * 0.99)] ?? Infinity
  return { served: waits.length, refusals, p99 }
}

describe('a gateway with too many requests', () => {
  it('serves a whole burst if it can do so within the patience', () => {
    const { served, refusals } = simulate({ perMs: 1, atOnce: 4_000, ms: 4_500 })
    expect([served, refusals]).toEqual([4_000, 0])
  })

  it.each([
    ['2,048 connections', { perMs: 4, asked: 8, ms: 10_000, clients: 2_048 }, 1],
    // a refusal costs 0.2 of serving: s + (2 - s) * 0.2 = 1
    ['as many connections as it likes', { perMs: 8, asked: 16, ms: 10_000 }, 0.75],
  ])('serves in time what refusals leave, at twice its capacity from %s', (_, load, left) => {
    const { served, p99 } = simulate(load)
    expect(served / (load.perMs * load.ms)).toBeGreaterThan(0.95 * left)
    expect(p99).toBeLessThan(2_000)
  })
})

describe('an overloaded gateway', () => {
  it('503 overloaded changes nothing; admitted calls, reviewers, polls and probes are served', async () => {
    vi.useRealTimers()
    let open = (): void => undefined
    const opened = new Promise<void>((resolve) => (open = resolve))
    let stuck = false
    const world = await openWorld({
      config: { storeDeadline: 20_000 },
      wrapStore: (store) =>
        overriding(store, {
          commit: async (...args) => {
            if (stuck) await opened
            return store.commit(...args)
          },
        }),
    })
    try {
      const [agent, ann] = [await world.agent(), await world.reviewer('ann')]
      const { body } = await agent.submit(newTask(), { tool_name: 'pay', payload: { amount: 500 } })
      stuck = true
      const tasks = Array.from({ length: PLACES.propose + 40 }, () => newTask())
      let answered = 0
      const propose = async (task: string) => {
        const answer = await agent.submit(task, { tool_name: 't' })
        answered += 1
        return { task, ...answer }
      }
      const asked = tasks.map(propose)
      const first = await Promise.race(asked)
      await until(() => answered >= PLACES.propose + 40 - OWN)
      expect([first.status, first.problem.code]).toEqual([503, 'overloaded'])
      expect(Number(first.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      expect((await ann.list()).status).toBe(200)
      expect((await agent.poll({ thread_id: body.thread_id ?? '' })).body.status).toBe('pending_review')
      expect((await fetch(`${world.url}/readyz`)).status).toBe(200)
      stuck = false
      open()
      const answers = await Promise.all(asked)
      const allowed = answers.filter((one) => one.status === 200)
      expect(new Set(allowed.map((one) => one.body.status))).toEqual(new Set(['allow']))
      expect(allowed).toHaveLength(OWN)
      const recorded = (await world.allEvidence()).flatMap(({ record }) => record.task_id ?? [])
      expect(recorded.toSorted()).toEqual([body.task_id, ...allowed.map((one) => one.task)].toSorted())
      const metrics = await (await fetch(world.app.metricsUrl)).text()
      const count = answers.length - allowed.length
      expect(metrics).toContain(`countersign_requests_refused_total{kind="propose"} ${count}`)
      expect(world.logged.filter((line) => line.includes('some are refused'))).toHaveLength(1)
    } finally {
      open()
      await world.close()
    }
  })
})
