import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createGate, type Gate, type GateObserver, type Kind } from '../../src/http/gate.ts'
import { LOAD_LIMIT } from '../../src/http/load-limit.ts'
import { newTask, openWorld, overriding, until } from '../gateway-fixture.ts'

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
const { MOST, LEAST, TICK_MS } = LOAD_LIMIT
const BODY_BYTES = 1_024 * 1_024
const WAITED_MS = 30
const PLACES_OF_PEOPLE = 64

/** As much of an answer as the gate touches. */
class FakeResponse extends EventEmitter {
  sendDate = true
  status = 0
  entered = 0
  destroyed = false
  headers: string[] = []
  text = ''
  writeHead(status: number, headers: string[]): this {
    Object.assign(this, { status, headers })
    return this
  }
  end(text: string): void {
    this.text = text
  }
}

let gate: Gate
let clock = 0
let refused: Readonly<Record<Kind, number>>[] = []
let limits: number[] = []
let told: unknown[] = []

beforeEach(() => {
  vi.useFakeTimers()
  clock = 0
  refused = []
  limits = []
  told = []
  const observe: GateObserver = {
    looked: (sight) => {
      limits.push(sight.limit)
      refused.push(sight.refused)
    },
    overload: (over) => told.push(over),
  }
  gate = createGate({ storeDeadlineMs: 2_000, bodyBytes: BODY_BYTES, observe, now: () => clock })
})
afterEach(() => {
  gate.close()
  vi.useRealTimers()
})

const ask = (url: string, headers?: Record<string, string>): FakeResponse =>
  enter(url, new FakeResponse(), headers)

function enter(
  url: string,
  response: FakeResponse,
  headers: Record<string, string> = { 'content-length': '10' },
): FakeResponse {
  const request = { url, headers, method: 'POST' } as unknown as IncomingMessage
  gate.enter(request, response as unknown as ServerResponse, () => response.entered++)
  return response
}

/** Asks, and gives it the time that a request may wait for a place: the status of the refusal, or 0. */
function asked(url: string, headers?: Record<string, string>): number {
  const response = ask(url, headers)
  pass(WAITED_MS)
  expect([response.entered, response.status]).toEqual(response.status === 0 ? [1, 0] : [0, 503])
  return response.status
}

const askOften = (url: string, times: number): FakeResponse[] => Array.from({ length: times }, () => ask(url))
const admitted = (all: readonly FakeResponse[]): FakeResponse[] => all.filter(({ entered }) => entered === 1)

const assign = (response: FakeResponse | undefined, sender: string): boolean =>
  gate.assign(response as unknown as ServerResponse, sender)

/** Lets the gate's timers run for `ms`, while each turn of the loop takes `turnMs` by its clock. */
function pass(ms: number, turnMs: number = TICK_MS): void {
  for (let left = ms; left > 0; left -= TICK_MS) {
    clock += turnMs
    vi.advanceTimersByTime(TICK_MS)
  }
}

describe('the gate', () => {
  it('lets in what there are places for, and refuses the rest as 503 overloaded with Retry-After', () => {
    const all = askOften(PROPOSE, MOST + 3)
    expect(admitted(all)).toHaveLength(MOST)
    const answers = all.slice(MOST)
    expect(answers.map(({ status }) => status)).toEqual([0, 0, 0])
    pass(WAITED_MS)
    for (const { status, headers, text } of answers) {
      expect(status).toBe(503)
      expect(JSON.parse(text)).toMatchObject({ code: 'overloaded', status: 503 })
      expect(headers).toEqual(expect.arrayContaining(['cache-control', 'no-store']))
      expect(headers[headers.indexOf('content-length') + 1]).toBe(String(Buffer.byteLength(text)))
    }
    const waits = answers.map(({ headers }) => headers[headers.indexOf('retry-after') + 1])
    expect(new Set(waits)).toEqual(new Set(['1', '2', '3']))
    pass(100)
    expect(refused).toEqual([
      { propose: 3, follow: 0, people: 0 },
      { propose: 0, follow: 0, people: 0 },
    ])
  })

  it('a place is free again when its answer is sent or its connection is gone, once', () => {
    const [first] = askOften(PROPOSE, MOST) as [FakeResponse]
    expect(asked(PROPOSE)).toBe(503)
    first.emit('close')
    first.emit('close')
    expect(asked(PROPOSE)).toBe(0)
    expect(asked(PROPOSE)).toBe(503)
  })

  it('a place is free again when its answer is complete, however slowly that is read, once', () => {
    const [first] = askOften(PEOPLE[0] as string, PLACES_OF_PEOPLE) as [FakeResponse]
    expect(asked(PEOPLE[0] as string)).toBe(503)
    first.emit('prefinish')
    expect(asked(PEOPLE[0] as string)).toBe(0)
    first.emit('close')
    expect(asked(PEOPLE[0] as string)).toBe(503)
  })

  it('whoever comes to a full house waits a moment for a place, in turn; who has gone meanwhile is passed over', () => {
    const all = askOften(PROPOSE, MOST + 3)
    const [gone, second, third] = all.slice(MOST) as [FakeResponse, FakeResponse, FakeResponse]
    gone.destroyed = true
    all[0]?.emit('close')
    expect([gone, second, third].map(({ entered }) => entered)).toEqual([0, 1, 0])
    pass(WAITED_MS)
    expect([second.status, third.status]).toEqual([0, 503])
    all[1]?.emit('close')
    expect(asked(PROPOSE)).toBe(0)
  })

  it('refuses at once when too many wait', () => {
    const all = askOften(PROPOSE, MOST + 64 + 2)
    expect(all.filter(({ status }) => status === 503)).toHaveLength(2)
  })

  it('a request that only waits for people takes no place, and gives back none when it ends', () => {
    const [first] = askOften(FOLLOW[0] as string, MOST) as [FakeResponse]
    gate.park(first as unknown as ServerResponse)
    expect(asked(FOLLOW[0] as string)).toBe(0)
    first.emit('close')
    expect(asked(FOLLOW[0] as string)).toBe(503)
  })

  it('a request that was parked may come back, and waits for a place like any other', () => {
    const [first] = askOften(PEOPLE[0] as string, PLACES_OF_PEOPLE) as [FakeResponse]
    gate.park(first as unknown as ServerResponse)
    const [second] = askOften(PEOPLE[0] as string, 1) as [FakeResponse]
    enter(PEOPLE[0] as string, first)
    expect(first.entered).toBe(1)
    second.emit('close')
    expect(first.entered).toBe(2)
    expect(asked(PEOPLE[0] as string)).toBe(503)
  })

  it('who asks anew, who follows up, and people cannot take places from one another; health is always answered', () => {
    askOften(PROPOSE, 2 * MOST)
    for (const url of FOLLOW) expect(asked(url)).toBe(0)
    for (const url of PEOPLE) expect(asked(url)).toBe(0)
    askOften(PEOPLE[0] as string, 200)
    expect(asked(PEOPLE[0] as string)).toBe(503)
    for (const url of HEALTH) expect(admitted(askOften(url, 1_000))).toHaveLength(1_000)
  })

  it.each(['/api/%61gent/tasks/a/requests', '/%61pi/agent/tasks/a/requests', '/a%70i/%61gent/decisions?x'])(
    'an agent that writes its path as %s takes no place of people',
    (url) => {
      askOften(PROPOSE, 2 * MOST)
      expect(asked(url)).toBe(503)
    },
  )

  it('bodies on their way in are bounded together; one of unknown length counts as the longest', () => {
    const most = 64
    const large = Array.from({ length: most + 1 }, (_, i) =>
      ask(PROPOSE, i % 2 === 0 ? {} : { 'content-length': String(BODY_BYTES) }),
    )
    expect(admitted(large)).toHaveLength(most)
    pass(WAITED_MS)
    large[0]?.emit('close')
    expect(asked(PROPOSE, { 'content-length': 'nonsense' })).toBe(0)
    expect(asked(PROPOSE, { 'content-length': '-1' })).toBe(503)
  })

  it('a sender has three quarters of the least places at the most, until what it sends is there', () => {
    const all = askOften(PROPOSE, MOST)
    const taken = all.map((one) => assign(one, 'bot'))
    expect(taken.filter(Boolean)).toHaveLength(0.75 * LEAST)
    expect(assign(all.at(-1), 'other')).toBe(true)
    gate.settle(all[0] as unknown as ServerResponse)
    gate.settle(all[0] as unknown as ServerResponse)
    expect(assign(all.at(-2), 'bot')).toBe(true)
    expect(assign(all.at(-3), 'bot')).toBe(false)
    // those who leave, and those who only wait, give back what they had, once
    all[1]?.emit('close')
    gate.park(all[1] as unknown as ServerResponse)
    gate.park(all[2] as unknown as ServerResponse)
    expect([assign(all.at(-3), 'bot'), assign(all.at(-4), 'bot'), assign(all.at(-5), 'bot')]).toEqual([
      true,
      true,
      false,
    ])
    // of its own kind: what it asked before it may follow up
    expect(assign(ask(FOLLOW[1] ?? ''), 'bot')).toBe(true)
  })

  it('bodies that take their time make no places fewer', () => {
    const slow = askOften(PROPOSE, 10)
    for (const one of slow) assign(one, 'bot')
    pass(10_000)
    for (const one of slow.slice(5)) gate.settle(one as unknown as ServerResponse)
    for (const one of slow) one.emit('close')
    pass(100)
    expect(limits.at(-1)).toBe(MOST)
  })

  it('a sender has three quarters of the room for bodies at the most', () => {
    const large = Array.from({ length: 64 }, () => ask(PROPOSE, { 'content-length': String(BODY_BYTES) }))
    expect(large.filter((one) => assign(one, 'bot'))).toHaveLength(48)
    expect(assign(large[63], 'other')).toBe(true)
    for (const one of large) one.emit('close')
    expect(assign(ask(PROPOSE, {}), 'bot')).toBe(true)
  })

  it('has fewer places while turns of the loop are long, never fewer than the least, and all of them again later', () => {
    askOften(PROPOSE, MOST)
    pass(2_000, 40)
    expect(limits.at(-1)).toBe(LEAST)
    expect(asked(PROPOSE)).toBe(503)
    pass(10_000)
    expect(limits.at(-1)).toBeLessThan(MOST)
  })

  it('has fewer places while nothing that is under way is answered', () => {
    const all = askOften(PROPOSE, 300)
    pass(450)
    expect(limits.at(-1)).toBe(MOST)
    pass(20_000)
    expect(limits.at(-1)).toBeLessThan(150)
    for (const one of all) one.emit('close')
    pass(5_000)
    expect(limits.at(-1)).toBe(MOST)
  })

  it('says once that it refuses, and once that it does no more, and how many it were', () => {
    const [first] = askOften(PROPOSE, MOST + 5)
    pass(1_000)
    first?.emit('close')
    expect(told).toEqual([{ began: true, refused: 1 }])
    pass(6_000)
    expect(told).toEqual([
      { began: true, refused: 1 },
      { began: false, refused: 5 },
    ])
  })
})

describe('a gateway with too much to do', () => {
  it('503 overloaded changes nothing; who was let in is answered, and reviewers, polls and probes go on', async () => {
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
      const tasks = Array.from({ length: MOST + 40 }, () => newTask())
      let answered = 0
      const propose = async (task: string) => {
        const answer = await agent.submit(task, { tool_name: 't' })
        answered += 1
        return { task, ...answer }
      }
      const asked = tasks.map(propose)
      const first = await Promise.race(asked)
      await until(() => answered >= 40)
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
      expect(allowed.length).toBeGreaterThanOrEqual(LEAST)
      expect(allowed.length).toBeLessThanOrEqual(MOST)
      const recorded = (await world.allEvidence()).flatMap(({ record }) => record.task_id ?? [])
      expect(recorded.toSorted()).toEqual([body.task_id, ...allowed.map((one) => one.task)].toSorted())
      const metrics = await (await fetch(world.app.metricsUrl)).text()
      const count = answers.length - allowed.length
      expect(metrics).toContain(`countersign_requests_refused_total{kind="propose"} ${count}`)
      expect(world.logged.filter((line) => line.includes('some requests are refused'))).toHaveLength(1)
    } finally {
      open()
      await world.close()
    }
  })
})
