// @store each
import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../../src/contract/limits.ts'
import { census } from '../../../src/gateway/jobs/backlog.ts'
import { INDEX } from '../../../src/gateway/core/indexes.ts'
import { runDue } from '../../../src/gateway/jobs/scheduler.ts'
import { StoreUnavailable } from '../../../src/store/store.ts'
import { ann, bot, eachAgentWorld, world } from '../../agent-world.ts'
import {
  approved,
  breakRecord,
  held,
  HOUR,
  MINUTE,
  newTask,
  openWorld,
  Overtaking,
  overriding,
  REVIEWED,
} from '../../gateway-fixture.ts'

/** Changes that time alone brings about (docs/agent-api.md and docs/review-api.md). */

eachAgentWorld()

const LARGE = { payload: { amount: 20_000 } }
const dueTypes = async (): Promise<string[]> =>
  (await world.evidenceOf(() => world.due())).map(({ record }) => record.type)

describe('runDue', () => {
  it('reminds, escalates and expires at the right times, once each', async () => {
    const { thread } = await held(bot, LARGE)
    expect(await dueTypes()).toEqual([])
    world.clock.advance(15 * MINUTE - 1)
    expect(await dueTypes()).toEqual([])
    world.clock.advance(1)
    expect(await dueTypes()).toEqual(['review.reminded'])
    expect(await dueTypes()).toEqual([])
    world.clock.advance(15 * MINUTE)
    expect(await dueTypes()).toEqual(['review.escalated'])
    world.clock.advance(30 * MINUTE - 1)
    expect(await dueTypes()).toEqual([])
    world.clock.advance(1)
    expect(await dueTypes()).toEqual(['review.expired'])
    expect((await bot.poll({ thread_id: thread })).body.message).toMatch(/^expired: /)
    world.clock.advance(24 * HOUR)
    expect(await dueTypes()).toEqual([])
  })

  it('serves the other tenants when one fails, and reports the failure', async () => {
    const away = new StoreUnavailable('its shard is away')
    const { store } = world.app.deps
    const other = await world.agent('bot', 'globex')
    const { thread } = await held(other, LARGE)
    world.clock.advance(2 * HOUR)
    const broken = overriding(store, {
      claimDue: (tenant, ...rest) =>
        tenant === 'acme' ? Promise.reject(away) : store.claimDue(tenant, ...rest),
    })
    await expect(runDue({ ...world.app.deps, store: broken })).rejects.toMatchObject({ cause: away })
    const told = (await world.evidence('globex')).filter(({ record }) => record.thread_id === thread)
    expect(told.map(({ record }) => record.type)).toContain('review.expired')
  })

  it('handles the other threads when one record is broken, and reports the failure', async () => {
    const [broken, whole] = [await held(bot), await held(bot)]
    const mend = await breakRecord(world, 'thread', broken.thread)
    world.clock.advance(8 * HOUR)
    const expired = await world.evidenceOf(() => expect(runDue(world.app.deps)).rejects.toThrow())
    expect(expired.map(({ record }) => [record.type, record.thread_id])).toEqual([
      ['review.expired', whole.thread],
    ])
    await mend()
  })

  it('handles after a restart everything that became due before', async () => {
    await held(bot, LARGE)
    await world.stop()
    world.clock.advance(2 * HOUR)
    await world.start()
    await world.due()
    const types = (await world.evidence()).map(({ record }) => record.type)
    expect(types.filter((type) => type === 'review.expired')).toHaveLength(1)
  })

  it('returns a thread that is not due to its time, and changes nothing else', async () => {
    const { thread } = await held(bot)
    const { deps } = world.app
    const { store } = deps
    const places = await store.range('acme', INDEX.due, { limit: 10 })
    const before = await store.get('acme', 'thread', thread)
    const writes = [{ op: 'index', index: INDEX.due, member: thread, to: store.now() } as const]
    const commit = { commitId: deps.nextCommitId(), deadline: Infinity, guards: [], writes, events: [] }
    expect(await store.commit('acme', commit)).toMatchObject({ ok: true })
    await world.due()
    expect(await store.range('acme', INDEX.due, { limit: 10 })).toEqual(places)
    expect(await store.get('acme', 'thread', thread)).toEqual(before)
  })

  it('leaves decided threads unchanged, because nothing is due after a vote', async () => {
    const one = await held(bot, LARGE)
    const two = await held(bot, LARGE)
    await ann.vote(one.thread, { decision: 'reject', revision: 1 })
    await ann.approve(two.thread)
    await bot.poll({ thread_id: two.thread })
    world.clock.advance(24 * HOUR)
    expect(await dueTypes()).toEqual([])
    expect((await bot.poll({ thread_id: two.thread })).body.status).toBe('approved')
  })

  it('rejects an approval that the agent did not collect', async () => {
    const { thread } = await held(bot, LARGE)
    await ann.approve(thread)
    world.clock.advance(HOUR)
    expect(await dueTypes()).toEqual(['review.expired'])
    expect((await ann.show(thread)).body.status).toBe('rejected')
  })

  it('restarts reminders and escalation with a revision', async () => {
    const { task, thread } = await held(bot, LARGE)
    world.clock.advance(15 * MINUTE)
    await world.due()
    await bot.revise(task, thread, { request_payload: { amount: 20_001 } })
    world.clock.advance(15 * MINUTE - 1)
    expect(await dueTypes()).toEqual([])
    world.clock.advance(1)
    expect(await dueTypes()).toEqual(['review.reminded'])
  })

  it('does each thing once with four concurrent workers, because an item is leased', async () => {
    for (let i = 0; i < 10; i++) await held(bot, LARGE)
    world.clock.advance(15 * MINUTE)
    const records = await world.evidenceOf(() => Promise.all([1, 2, 3, 4].map(() => runDue(world.app.deps))))
    expect(records.map(({ record }) => record.type)).toEqual(Array(10).fill('review.reminded'))
  })

  it('handles an item of a dead worker again when its lease ends', async () => {
    await held(bot, LARGE)
    world.clock.advance(15 * MINUTE)
    const { store } = world.app.deps
    const claimed = await store.claimDue('acme', 'due', { now: store.now(), lease: 30_000, limit: 10 })
    expect(claimed).toHaveLength(1)
    expect(await dueTypes()).toEqual([])
    world.clock.advance(30_000)
    expect(await dueTypes()).toEqual(['review.reminded'])
  })

  it('handles more than one batch', async () => {
    const task = newTask()
    // ten at a time, which a gateway accepts on the slowest machine
    for (let i = 0; i < 13; i++)
      await Promise.all(
        Array.from({ length: 10 }, () => held(bot, { tool_name: 'brief', payload: {} }, task)),
      )
    world.clock.advance(MINUTE)
    expect((await dueTypes()).filter((type) => type === 'review.expired')).toHaveLength(130)
  })

  it('stops after the current items, and handles the rest when their lease ends', async () => {
    const stop = new AbortController()
    const overtaking = new Overtaking()
    const own = await openWorld({ wrapStore: overtaking.wrapStore })
    const agent = await own.agent()
    for (let i = 0; i < 40; i++) await held(agent, { tool_name: 'brief', payload: {} })
    own.clock.advance(MINUTE)
    const ended = await own.evidenceOf(() => {
      overtaking.before = async () => stop.abort()
      return runDue(own.app.deps, stop.signal)
    })
    expect(ended.length).toBeGreaterThan(0)
    expect(ended.length).toBeLessThan(40)
    own.clock.advance(MINUTE)
    expect(await own.evidenceOf(() => own.due())).toHaveLength(40 - ended.length)
    await own.close()
  })

  it('handles every tenant', async () => {
    const stranger = await world.agent('bot', 'globex')
    await held(stranger, { tool_name: 'brief', payload: {} })
    world.clock.advance(MINUTE)
    const records = await world.evidenceOf(() => world.due(), 'globex')
    expect(records.map(({ record }) => record.type)).toEqual(['review.expired'])
  })

  it('deletes answers after a day and tokens after a week, and not before', async () => {
    const { store } = world.app.deps
    // ignores counters of budgets, which live longer, and the entry for ended threads, which always returns
    const answers = async () =>
      (await store.range('acme', 'purge', { limit: 10 })).filter(
        ({ member }) => !/^(?:limit|threads|disclosures) /.test(member),
      )
    await bot.submit('a', { tool_name: 't' }, { 'idempotency-key': 'k' })
    const one = await approved(bot, ann)
    expect(await answers()).toHaveLength(2)
    world.clock.advance(LIMITS.IDEMPOTENCY_MS - 1)
    await world.due()
    expect(await answers()).toHaveLength(2)
    world.clock.advance(1)
    await world.due()
    expect((await answers()).map(({ member }) => member.split(' ')[0])).toEqual(['token'])
    const proof = { task_id: one.task, signature: one.token, request_payload: one.payload }
    expect((await bot.validate(proof)).body.reason).toBe('expired')
    world.clock.advance(LIMITS.TOKEN_RETENTION_MS)
    await world.due()
    expect(await answers()).toEqual([])
    expect((await bot.validate(proof)).body.reason).toBe('invalid')
  })

  it('leaves items that only a later version can handle', async () => {
    const { store } = world.app.deps
    const entry = { op: 'index', index: 'purge', member: 'lease of something' } as const
    const commit = { guards: [], events: [], deadline: store.now() + MINUTE }
    const write = {
      ...commit,
      commitId: world.app.deps.nextCommitId(),
      writes: [{ ...entry, to: store.now() }],
    }
    await store.commit('acme', write)
    await world.due()
    const left = await store.range('acme', 'purge', { limit: 10 })
    expect(left.map(({ member }) => member)).toContain(entry.member)
  })

  it('keeps an answer that was renewed', async () => {
    const submit = (amount: number) =>
      bot.submit('a', { tool_name: 'pay', payload: { amount } }, { 'idempotency-key': 'k' })
    await submit(500)
    world.clock.advance(LIMITS.IDEMPOTENCY_MS)
    const renewed = await submit(501)
    await world.due()
    expect((await submit(501)).body.thread_id).toBe(renewed.body.thread_id)
  })
})

describe('census', () => {
  const counted = async () => {
    const { pending, groups } = await census(world.app.deps)
    const waiting = Object.fromEntries([...pending].map(([risk, { count }]) => [risk, count]))
    const oldest = Object.fromEntries([...pending].map(([risk, { oldestAgeMs }]) => [risk, oldestAgeMs]))
    return { waiting, oldest, groups: Object.fromEntries(groups) }
  }

  it('counts waiting threads of all tenants by risk and group, with the oldest of each risk', async () => {
    const stranger = await world.agent('bot', 'globex')
    expect((await counted()).oldest).toEqual({ low: 0, medium: 0, high: 0, critical: 0 })
    const first = await held(bot, { payload: REVIEWED })
    world.clock.advance(MINUTE)
    await held(bot, LARGE)
    await held(stranger, LARGE)
    const done = await held(bot, { payload: { amount: 60_000 } })
    await ann.vote(done.thread, { decision: 'request_changes', revision: 1 })
    const now = await counted()
    expect(now.waiting).toEqual({ low: 1, medium: 0, high: 2, critical: 0 })
    expect(now.oldest).toEqual({ low: MINUTE, medium: 0, high: 0, critical: 0 })
    expect(now.groups).toEqual({ desk: 1, leads: 2, board: 0, audit: 0 })
    await ann.approve(first.thread)
    await bot.revise(done.task, done.thread, { request_payload: { amount: 200 } })
    const later = await counted()
    expect(later.waiting).toEqual({ low: 0, medium: 0, high: 2, critical: 1 })
    expect(later.oldest).toEqual({ low: 0, medium: 0, high: 0, critical: 0 })
    expect(later.groups).toEqual({ desk: 1, leads: 2, board: 1, audit: 0 })
  })

  it('counts an unreadable thread by its index entry, without its groups', async () => {
    const { thread } = await held(bot, LARGE)
    await held(bot, LARGE)
    const mend = await breakRecord(world, 'thread', thread)
    world.clock.advance(MINUTE)
    const now = await counted()
    expect([now.waiting['high'], now.oldest['high'], now.groups['leads']]).toEqual([2, MINUTE, 1])
    await mend()
  })

  it('measures how long a delivery is overdue, unless its destination is paused', async () => {
    const own = await openWorld({ webhooks: { everyMs: 24 * HOUR } })
    try {
      const { deps } = own.app
      const late = async () => (await census(deps)).overdueMs
      const body = { tenant: 'acme', url: 'https://hooks.example.com/' }
      const made = await own.admin<{ id: string }>('POST', 'webhooks', { body })
      expect(made).toMatchObject({ status: 201 })
      const { id } = made.body
      expect(await late()).toBe(0)
      const to = deps.store.now() + MINUTE
      await deps.store.commit('acme', {
        commitId: 'enqueued',
        deadline: Infinity,
        guards: [],
        writes: [{ op: 'index', index: `outbox/${id}`, member: 'evt_1', to }],
        events: [],
      })
      expect(await late()).toBe(0)
      own.clock.advance(3 * MINUTE)
      expect(await late()).toBe(2 * MINUTE)
      await own.admin('POST', `webhooks/${id}/pause`)
      expect(await late()).toBe(0)
    } finally {
      await own.close()
    }
  })

  it('counts the freezes in force of all tenants by scope, without lifted ones', async () => {
    const frozen = async () => Object.fromEntries((await census(world.app.deps)).frozen)
    expect(await frozen()).toEqual({})
    const reason = 'sends money to strangers'
    for (const scope of [{ agent: 'bot' }, { agent: 'other-bot' }, { tool: 'pay' }])
      await world.admin('POST', 'freeze', { body: { tenant: 'acme', reason, ...scope } })
    await world.admin('POST', 'freeze', { body: { tenant: 'globex', reason } })
    expect(await frozen()).toEqual({ agent: 2, tool: 1, tenant: 1 })
    await world.admin('POST', 'unfreeze', { body: { tenant: 'acme', agent: 'bot', reason: 'mended' } })
    await world.admin('POST', 'unfreeze', { body: { tenant: 'globex', reason: 'mended' } })
    expect(await frozen()).toEqual({ agent: 1, tool: 1 })
  })
})
