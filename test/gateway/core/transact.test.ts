// @store each
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  type Commit,
  type Guard,
  type Store,
  StoreIndeterminate,
  StoreUnavailable,
} from '../../../src/store/store.ts'
import {
  type Agent,
  approved,
  type Held,
  held,
  isCheckpoint,
  newTask,
  openWorld,
  overriding,
  REVIEWED,
  type Reviewer,
  type World,
} from '../../gateway-fixture.ts'

/** Verbs on a store that refuses, is away, or does not report what it did. */

type Misbehaviour = (real: () => ReturnType<Store['commit']>, commit: Commit) => ReturnType<Store['commit']>

let world: World
let bot: Agent
let ann: Reviewer
/** Replaces commits of the tenant; undefined for a store that works. */
let misbehave: Misbehaviour | undefined
/** Runs before each read of a record other than a key. */
let reads: ((type: string) => void) | undefined
/** Counts the commits of verbs, which write evidence. A gateway's checkpoint at its start does not count. */
let commits = 0

const PROOFLESS = { task_id: 'a', signature: 'x', request_payload: {} }

async function open(): Promise<void> {
  misbehave = undefined
  reads = undefined
  world = await openWorld({
    wrapStore: (store) =>
      overriding(store, {
        commit: async (partition, commit) => {
          if (partition === 'acme' && commit.events.length > 0) commits++
          const real = () => store.commit(partition, commit)
          const isOthers = partition !== 'acme' || isCheckpoint(commit)
          return misbehave === undefined || isOthers ? real() : misbehave(real, commit)
        },
        get: async (partition, type, id) => {
          if (type !== 'key') reads?.(type)
          return store.get(partition, type, id)
        },
      }),
  })
  bot = await world.agent()
  ann = await world.reviewer('ann')
}
afterEach(() => world.close())

const unavailable: Misbehaviour = () => Promise.reject(new StoreUnavailable('away'))
const late: Misbehaviour = () => Promise.resolve({ ok: false, reason: 'late' })
/** The store commits, and its answer is lost. */
const silent: Misbehaviour = async (real) => {
  await real()
  throw new StoreIndeterminate('no answer')
}
const lost: Misbehaviour = () => Promise.reject(new StoreIndeterminate('no answer'))

interface Verb {
  readonly name: string
  readonly prepare: () => Promise<
    () => Promise<{ status: number; headers: Headers; problem: { code: string }; text: string }>
  >
}

const VERBS: readonly Verb[] = [
  {
    name: 'submit that would allow',
    prepare: () => Promise.resolve(() => bot.submit('s', { tool_name: 't' })),
  },
  {
    name: 'submit that would hold',
    prepare: () => Promise.resolve(() => bot.submit('s', { tool_name: 'pay', payload: REVIEWED })),
  },
  {
    name: 'poll that would mint',
    prepare: async () => {
      const { thread } = await held(bot)
      await ann.approve(thread)
      return () => bot.poll({ thread_id: thread })
    },
  },
  {
    name: 'validate that would redeem',
    prepare: async () => {
      const { thread, task, payload } = await held(bot)
      await ann.approve(thread)
      const { body } = await bot.poll({ thread_id: thread })
      return () => bot.validate({ task_id: task, signature: body.approval_token, request_payload: payload })
    },
  },
  {
    name: 'vote',
    prepare: async () => {
      const { thread } = await held(bot)
      return () => ann.approve(thread)
    },
  },
  {
    name: 'revise',
    prepare: async () => {
      const { thread, task } = await held(bot)
      return () => bot.revise(task, thread, { request_payload: REVIEWED })
    },
  },
  {
    name: 'event',
    prepare: () => Promise.resolve(() => bot.event('s', { event_type: 'x', event_summary: 'x' })),
  },
]

describe('a store that is unavailable', () => {
  it('logs one line with the reason for each refused request, without a stack', async () => {
    await open()
    misbehave = () => Promise.reject(new StoreUnavailable('away', { cause: new Error('ECONNREFUSED') }))
    await bot.submit(newTask(), { tool_name: 't' })
    const lines = world.logged.map((line) => JSON.parse(line) as Record<string, unknown>)
    const said = lines.filter(({ code }) => code === 'store_unavailable')
    expect(said).toMatchObject([
      { level: 'error', reason: 'away: ECONNREFUSED', route: '/api/agent/tasks/:taskID/requests' },
    ])
    expect(JSON.stringify(said)).not.toContain(' at ')
  })
})

describe.each(VERBS)('a store that fails under $name', ({ prepare }) => {
  it.each([
    ['is away', unavailable],
    ['was too late', late],
  ])(
    'a store that %s: 503 store_unavailable with Retry-After, nothing changed, and a retry works',
    async (_, how) => {
      await open()
      const act = await prepare()
      const records = await world.evidenceOf(async () => {
        misbehave = how
        const { status, headers, problem } = await act()
        expect([status, problem.code]).toEqual([503, 'store_unavailable'])
        expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
        misbehave = undefined
      })
      expect(records).toEqual([])
      expect((await act()).status).toBeLessThan(300)
    },
  )

  it.each([
    ['wrote and did not say', silent],
    ['did not write and did not say', lost],
  ])('a store that %s: 503 outcome_unknown, never a decision', async (_, how) => {
    await open()
    const act = await prepare()
    misbehave = how
    const { status, headers, problem, text } = await act()
    expect([status, problem.code]).toEqual([503, 'outcome_unknown'])
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(text).not.toMatch(/"(allow|approved|valid)"/)
  })

  it('a store that fails guards for a while: the verb decides again until it succeeds', async () => {
    await open()
    const act = await prepare()
    let left = 5
    // a failed limit is exhausted, so the verb would not try again
    const records = (guards: readonly Guard[]): number[] =>
      guards.flatMap((guard, i) => ('limit' in guard ? [] : [i]))
    misbehave = (real, { guards }) =>
      left-- > 0 ? Promise.resolve({ ok: false, reason: 'guard', failed: records(guards) }) : real()
    expect((await act()).status).toBeLessThan(300)
    expect(left).toBeLessThan(0)
  })

  it('a store that always fails guards: 503 store_unavailable after a bounded number of attempts', async () => {
    await open()
    const act = await prepare()
    commits = 0
    misbehave = () => Promise.resolve({ ok: false, reason: 'guard', failed: [0] })
    const { status, problem } = await act()
    expect([status, problem.code]).toEqual([503, 'store_unavailable'])
    expect(commits).toBeLessThanOrEqual(32)
  })
})

describe('a store that fails at validate', () => {
  it('a write without an answer: 503, and the retry reads used', async () => {
    await open()
    const { thread, task, payload } = await held(bot)
    await ann.approve(thread)
    const { body } = await bot.poll({ thread_id: thread })
    const proof = { task_id: task, signature: body.approval_token, request_payload: payload }
    misbehave = silent
    expect((await bot.validate(proof)).problem.code).toBe('outcome_unknown')
    misbehave = undefined
    expect((await bot.validate(proof)).body).toEqual({ valid: false, reason: 'used' })
  })

  it('an unavailable store: 503 for a well-formed token, but 200 invalid for a malformed one', async () => {
    await open()
    misbehave = unavailable
    expect((await bot.validate(PROOFLESS)).body).toEqual({ valid: false, reason: 'invalid' })
  })

  it('an unreadable store: 503 store_unavailable for every verb that reads', async () => {
    await open()
    const { thread, task } = await held(bot)
    reads = () => {
      throw new StoreUnavailable('away')
    }
    const answers = await Promise.all([
      bot.poll({ thread_id: thread }),
      bot.revise(task, thread, { request_payload: REVIEWED }),
      ann.show(thread),
      ann.approve(thread),
      ann.list(),
    ])
    expect(answers.map(({ problem }) => problem.code)).toEqual(answers.map(() => 'store_unavailable'))
    for (const { headers } of answers) expect(headers.get('retry-after')).toBe('1')
  })

  it('an unexpected failure: 500 without its error text, which is in the log', async () => {
    await open()
    misbehave = () => Promise.reject(new Error('private words about /some/path'))
    const { status, problem, text } = await bot.submit('s', { tool_name: 't' })
    expect([status, problem.code]).toEqual([500, 'internal'])
    expect(text).not.toContain('private words')
    expect(world.logged.join('')).toContain('private words')
  })
})

describe('many writes at once', () => {
  it('a gateway that was suspended during a decision writes nothing of this decision later', async () => {
    await open()
    const thread = await held(bot)
    reads = (type) => {
      if (type !== 'thread') return
      reads = undefined
      world.clock.advance(61_000)
    }
    const types = await world.evidenceOf(async () => {
      const { status, problem } = await ann.approve(thread.thread)
      expect([status, problem.code]).toEqual([503, 'store_unavailable'])
    })
    expect(types).toEqual([])
    expect((await ann.approve(thread.thread)).status).toBe(200)
  })

  it('64 calls of one task do not conflict: as many commits as calls', async () => {
    await open()
    await bot.submit('warm', { tool_name: 't' })
    commits = 0
    const task = newTask()
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, i) =>
        bot.submit(task, { tool_name: 'pay', payload: { ...REVIEWED, amount: 501 + i } }),
      ),
    )
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    expect(commits).toBe(64)
  })

  it('an approval of one thread never waits for the votes on others', async () => {
    await open()
    const threads: string[] = []
    for (let i = 0; i < 10; i++) threads.push((await held(bot)).thread)
    commits = 0
    const answers = await Promise.all(threads.map((thread) => ann.approve(thread)))
    expect(answers.every(({ body }) => body.status === 'approved')).toBe(true)
    expect(commits).toBe(10)
  })
})

describe('writes that are too late, and calls that cannot be judged', () => {
  it('a vote and a revision after the deadline change nothing: 409 not_pending', async () => {
    await open()
    const verbs = [
      (one: Held) => ann.approve(one.thread),
      (one: Held) => bot.revise(one.task, one.thread, { request_payload: REVIEWED }),
    ]
    for (const act of verbs) {
      misbehave = undefined
      const one = await held(bot)
      const deadline = Date.parse((await ann.show(one.thread)).body.deadline ?? '')
      world.clock.advance(deadline - world.app.deps.store.now() - 10)
      misbehave = (real) => {
        world.clock.advance(misbehave === undefined ? 0 : 1_500)
        misbehave = undefined
        return real()
      }
      const { status, problem } = await act(one)
      expect([status, problem.code]).toEqual([409, 'not_pending'])
      expect((await bot.poll({ thread_id: one.thread })).body.message).toMatch(/^expired: /)
    }
  })

  it('a failing engine ends no approval or review and redeems nothing, and all works afterwards', async () => {
    await open()
    const proven = await approved(bot, ann)
    const waiting = await held(bot)
    const voted = await held(bot)
    await ann.approve(voted.thread)
    const { policies } = world.app.deps
    const snapshot = policies.current()
    if (snapshot === undefined) throw new Error('no bundle')
    const fault = {
      verdict: 'reject',
      risk: 'critical',
      policyRisk: 'critical',
      message: '',
      fault: 'engine_error',
    }
    const decide = async () => ({ ...fault, by: ['engine_error'], fired: [], reads: [] })
    const broken = vi
      .spyOn(policies, 'current')
      .mockReturnValue(Object.create(snapshot, { decide: { value: decide } }) as typeof snapshot)
    const proof = { task_id: proven.task, signature: proven.token, request_payload: proven.payload }
    const revise = () => bot.revise(waiting.task, waiting.thread, { request_payload: REVIEWED })
    expect((await bot.poll({ thread_id: voted.thread })).problem.code).toBe('not_ready')
    expect((await revise()).problem.code).toBe('not_ready')
    const refusal = await world.evidenceOf(() => bot.validate(proof))
    expect(refusal.map(({ record }) => record.details?.['because'])).toEqual(['policy_fault'])
    broken.mockRestore()
    expect((await bot.poll({ thread_id: voted.thread })).body.approval_token).toBeDefined()
    expect((await revise()).status).toBe(201)
    expect((await bot.validate(proof)).body.valid).toBe(true)
  })

  it('redeems nothing when no bundle was ever loaded, records it, and keeps the proof valid', async () => {
    await open()
    const proven = await approved(bot, ann)
    const { policies } = world.app.deps
    const none = vi.spyOn(policies, 'current').mockReturnValue(undefined)
    const proof = { task_id: proven.task, signature: proven.token, request_payload: proven.payload }
    const records = await world.evidenceOf(async () => {
      expect((await bot.validate(proof)).body).toEqual({ valid: false, reason: 'invalid' })
    })
    none.mockRestore()
    expect(records.map(({ record }) => [record.type, record.details?.['because']])).toEqual([
      ['token.refused', 'no_policy'],
    ])
    expect((await bot.validate(proof)).body.valid).toBe(true)
  })
})
