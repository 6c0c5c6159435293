// @store each, in the soak
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { FreezeList, Frozen } from '../../src/contract/freeze.ts'
import { LIMITS } from '../../src/contract/limits.ts'
import { freeze, unfreeze } from '../../src/gateway/admin/freeze.ts'
import { agentWorld, ann, bot, world } from '../agent-world.ts'
import {
  type Agent,
  type Answer,
  approved,
  breakRecord,
  elsewhere,
  held,
  HOUR,
  newTask,
  Overtaking,
  type Reviewer,
} from '../gateway-fixture.ts'

/** Freezing (docs/operations.md): at once, on every instance, and for good. */

let other: Agent
const overtaking = new Overtaking()

agentWorld({ wrapStore: overtaking.wrapStore })
beforeAll(async () => {
  other = await world.agent('other')
})
afterEach(async () => {
  overtaking.before = undefined
  const { body } = await world.admin<FreezeList>('GET', 'freezes?tenant=acme')
  for (const { agent, tool } of body.freezes)
    expect((await act('unfreeze', { agent, tool, reason: 'the test is over' })).status).toBe(204)
})

const REASON = 'it talks to strangers'
const act = (what: 'freeze' | 'unfreeze', body: object): Promise<Answer<Frozen>> =>
  world.admin('POST', what, { body: { tenant: 'acme', reason: REASON, ...body } })
const proofOf = ({ task, token, payload }: { task: string; token: string; payload: unknown }) => ({
  task_id: task,
  signature: token,
  request_payload: payload,
})
const admin = { kind: 'admin', id: 'admin' } as const
/** Freezes or unfreezes on another instance. */
async function actElsewhere(what: typeof freeze | typeof unfreeze, scope: object): Promise<void> {
  await what(elsewhere(world), { actor: admin }, { tenant: 'acme', reason: REASON, ...scope })
}

describe('POST /api/admin/freeze', () => {
  it('rejects new calls of the agent with the reason, and no calls of others', async () => {
    const { status, body } = await act('freeze', { agent: 'bot' })
    expect(status).toBe(200)
    expect(body).toEqual({
      tenant: 'acme',
      agent: 'bot',
      reason: REASON,
      frozen_at: expect.stringMatching(/^2026-/),
      by: 'admin:admin',
      known: true,
    })
    const task = newTask()
    const records = await world.evidenceOf(async () => {
      const refused = await bot.submit(task, { tool_name: 't', payload: {} })
      expect([refused.status, refused.body]).toEqual([
        200,
        { status: 'reject', task_id: task, message: `frozen: ${REASON}` },
      ])
    })
    expect(
      records.map(({ record }) => [record.type, record.details?.['by'], record.details?.['policy']]),
    ).toEqual([['decision.rejected', ['frozen'], 'none']])
    expect((await other.submit(task, { tool_name: 't', payload: {} })).body.status).toBe('allow')
  })

  it('stops a frozen tool for every agent, and stops nothing else', async () => {
    await act('freeze', { tool: 't' })
    const statuses = await Promise.all(
      [bot, other].map(async (agent) => [
        (await agent.submit(newTask(), { tool_name: 't', payload: {} })).body.status,
        (await agent.submit(newTask(), { tool_name: 'pay', payload: { amount: 5 } })).body.status,
      ]),
    )
    expect(statuses).toEqual([
      ['reject', 'allow'],
      ['reject', 'allow'],
    ])
  })

  it('stops all agents of a frozen tenant, and no other tenant', async () => {
    const foreign = await world.agent('bot', 'globex')
    await act('freeze', {})
    for (const agent of [bot, other])
      expect((await agent.submit(newTask(), { tool_name: 't', payload: {} })).body.status).toBe('reject')
    expect((await foreign.submit(newTask(), { tool_name: 't', payload: {} })).body.status).toBe('allow')
  })

  it('freezes a name that the bundle does not know, and says so', async () => {
    expect((await act('freeze', { agent: 'bto' })).body.known).toBe(false)
    expect((await act('freeze', { tool: 'shel' })).body.known).toBe(false)
    expect((await act('freeze', { tool: 'pay' })).body.known).toBe(true)
    expect((await world.admin<FreezeList>('GET', 'freezes?tenant=acme')).body.freezes).toHaveLength(3)
  })

  it('replaces an existing freeze with the new reason', async () => {
    await act('freeze', { agent: 'bot' })
    await act('freeze', { agent: 'bot', reason: 'and it lies' })
    const { body } = await world.admin<FreezeList>('GET', 'freezes?tenant=acme')
    expect(body.freezes).toMatchObject([{ agent: 'bot', reason: 'and it lies' }])
  })

  it.each([
    ['no reason', { reason: undefined }, '/reason'],
    ['an empty reason', { reason: ' ' }, '/reason'],
    ['a reason as long as a report', { reason: 'x'.repeat(LIMITS.FREEZE_REASON_CHARS + 1) }, '/reason'],
    ['an agent and a tool', { agent: 'bot', tool: 't' }, ''],
    ['no name', { agent: '' }, '/agent'],
    ['a member too many', { agents: ['bot'] }, '/agents'],
    ['no tenant', { tenant: undefined }, '/tenant'],
  ])('400 for %s', async (_, body, pointer) => {
    const { status, problem } = await act('freeze', body)
    expect([status, problem.errors?.[0]?.pointer]).toEqual([400, pointer])
  })

  it('is for the admin key and for the admin role in its own tenant', async () => {
    const ben = await world.reviewer('ben')
    const ask = async (reviewer: Reviewer, tenant: string): Promise<number> => {
      const body = { tenant, agent: 'bot', reason: REASON }
      const headers = { authorization: `Bearer ${reviewer.key}` }
      return (await world.admin('POST', 'freeze', { body, headers })).status
    }
    expect([await ask(ben, 'acme'), await ask(ann, 'globex'), await ask(ann, 'acme')]).toEqual([
      403, 404, 200,
    ])
    const { body } = await world.admin<FreezeList>('GET', 'freezes?tenant=acme')
    expect(body.freezes).toMatchObject([{ agent: 'bot', by: 'reviewer:ann' }])
  })

  it('409 for more names than allowed; the whole tenant can still be frozen', async () => {
    const { deps } = world.app
    for (let i = 0; i < LIMITS.FREEZES; i++)
      await freeze(deps, { actor: admin }, { tenant: 'crowded', agent: `a${i}`, reason: REASON })
    const { status, problem } = await act('freeze', { tenant: 'crowded', agent: 'one-more' })
    expect([status, problem.code]).toEqual([409, 'too_many_freezes'])
    expect((await act('freeze', { tenant: 'crowded', agent: 'a7' })).status).toBe(200)
    expect((await act('freeze', { tenant: 'crowded' })).status).toBe(200)
  })
})

describe('a freeze during a review', () => {
  it('rejects a waiting thread when its agent polls, even after the freeze is lifted', async () => {
    const { thread } = await held(bot)
    await act('freeze', { agent: 'bot' })
    const dead = { status: 'rejected', message: `frozen: ${REASON}` }
    const records = await world.evidenceOf(async () => {
      expect((await bot.poll({ thread_id: thread })).body).toMatchObject(dead)
    })
    expect(records.map(({ record }) => [record.type, record.details?.['was']])).toEqual([
      ['review.frozen', 'pending_review'],
    ])
    await act('unfreeze', { agent: 'bot' })
    expect((await bot.poll({ thread_id: thread })).body).toMatchObject(dead)
    expect((await ann.approve(thread)).problem.code).toBe('not_pending')
    expect((await held(bot)).thread).not.toBe(thread)
  })

  it('rejects a waiting thread when a reviewer opens it, before the timer runs', async () => {
    const { thread } = await held(bot)
    expect((await ann.show(thread)).body.can_vote.allowed).toBe(true)
    await act('freeze', { agent: 'bot' })
    const { body } = await ann.show(thread)
    expect([body.status, body.message, body.can_vote.code]).toEqual([
      'rejected',
      `frozen: ${REASON}`,
      'not_pending',
    ])
    expect(body.evidence.at(-1)?.type).toBe('review.frozen')
  })

  it('stops votes and claims on a waiting thread before the timer or a reviewer reads it', async () => {
    const { task, thread } = await held(bot)
    const mine = async (query: Record<string, string>): Promise<unknown> =>
      (await ann.list({ task_id: task, ...query })).body.threads.map((one) => [one.thread_id, one.mine])
    expect(await mine({ mine: 'true' })).toEqual([[thread, true]])
    await act('freeze', { agent: 'bot' })
    expect(await mine({ mine: 'true' })).toEqual([])
    expect(await mine({})).toEqual([[thread, false]])
    const claimed = await ann.call('POST', `threads/${thread}/claim`, { body: {} })
    expect([claimed.status, claimed.problem.code, claimed.problem.detail]).toEqual([
      409,
      'not_pending',
      `the thread is frozen: ${REASON}`,
    ])
    expect((await ann.show(thread)).body.evidence.map(({ type }) => type)).toEqual([
      'review.pending',
      'review.frozen',
    ])
  })

  it('cancels earlier calls even when nothing read them before it was lifted', async () => {
    const { thread, task, payload } = await held(bot)
    const one = await approved(bot, ann)
    await act('freeze', {})
    await act('unfreeze', {})
    expect((await ann.approve(thread)).problem).toMatchObject({
      code: 'not_pending',
      detail: `the thread is frozen: ${REASON}`,
    })
    const revised = await bot.revise(task, thread, { request_payload: payload })
    expect(revised.problem).toMatchObject({ code: 'not_pending', detail: `the thread is frozen: ${REASON}` })
    expect((await bot.validate(proofOf(one))).body).toEqual({ valid: false, reason: 'invalid' })
    expect((await bot.poll({ thread_id: one.thread })).body.status).toBe('rejected')
  })

  it('refuses a token without redeeming it, and records the reason', async () => {
    const one = await approved(bot, ann)
    await act('freeze', { agent: 'bot' })
    const records = await world.evidenceOf(async () => {
      expect((await bot.validate(proofOf(one))).body).toEqual({ valid: false, reason: 'invalid' })
    })
    expect(records.map(({ record }) => [record.type, record.details?.['because']])).toEqual([
      ['token.refused', 'frozen'],
    ])
  })

  it('does not change a redeemed call', async () => {
    const one = await approved(bot, ann)
    expect((await bot.validate(proofOf(one))).body).toEqual({ valid: true })
    await act('freeze', { agent: 'bot' })
    await world.due()
    expect((await bot.validate(proofOf(one))).body).toEqual({ valid: false, reason: 'used' })
    expect((await ann.show(one.thread)).body.status).toBe('approved')
  })

  it('ends through the timer: waiting threads, requested changes, approvals, and issued tokens', async () => {
    const waiting = await held(bot)
    const back = await held(bot)
    await ann.vote(back.thread, { decision: 'request_changes', revision: 1, comment: 'less' })
    const granted = await held(bot)
    await ann.approve(granted.thread)
    const proved = await approved(bot, ann)
    const foreign = await held(other)
    await act('freeze', { agent: 'bot' })
    const records = await world.evidenceOf(() => world.due())
    const ended = records.filter(({ record }) => record.type === 'review.frozen')
    const was = new Map(ended.map(({ record }) => [record.thread_id, record.details?.['was']]))
    expect([waiting, back, granted, proved, foreign].map(({ thread }) => was.get(thread))).toEqual([
      'pending_review',
      'changes_requested',
      'approved',
      'approved',
      undefined,
    ])
    expect((await ann.show(foreign.thread)).body.status).toBe('pending_review')
    expect(await world.evidenceOf(() => world.due())).toEqual([])
  })

  it('ends other threads when one record is broken, and that thread after its repair', async () => {
    const broken = await held(bot)
    const [waiting, proved] = [await held(bot), await approved(bot, ann)]
    const mend = await breakRecord(world, 'thread', broken.thread)
    await act('freeze', { agent: 'bot' })
    const ended = async (): Promise<unknown[]> => {
      const records = await world.evidenceOf(() => world.due().catch(() => undefined))
      return records
        .filter(({ record }) => record.type === 'review.frozen')
        .map(({ record }) => record.thread_id)
    }
    expect(await ended()).toEqual(expect.arrayContaining([waiting.thread, proved.thread]))
    await mend()
    expect((await ann.vote(broken.thread, { decision: 'approve', revision: 1 })).status).toBe(409)
    expect((await bot.poll({ thread_id: broken.thread })).body.status).toBe('rejected')
  })

  it('ends a poll that waits', async () => {
    const { thread } = await held(bot)
    const before = world.watches
    const waiting = bot.poll({ thread_id: thread }, { headers: { prefer: 'wait=50' } })
    await expect.poll(() => world.watches).toBeGreaterThan(before)
    await act('freeze', { agent: 'bot' })
    await world.due()
    expect((await waiting).body).toMatchObject({ status: 'rejected', message: `frozen: ${REASON}` })
  })
})

describe('on another instance', () => {
  it('rejects a call that it overtakes', async () => {
    overtaking.before = () => actElsewhere(freeze, { agent: 'bot' })
    const { body } = await bot.submit(newTask(), { tool_name: 't', payload: {} })
    expect(body).toMatchObject({ status: 'reject', message: `frozen: ${REASON}` })
  })

  it('refuses a redemption that it overtakes, even when it is lifted at once', async () => {
    const one = await approved(bot, ann)
    overtaking.before = async () => {
      await actElsewhere(freeze, { tool: 'pay' })
      await actElsewhere(unfreeze, { tool: 'pay' })
    }
    expect((await bot.validate(proofOf(one))).body).toEqual({ valid: false, reason: 'invalid' })
  })

  it('refuses a claim that it overtakes', async () => {
    const { thread } = await held(bot)
    overtaking.before = () => actElsewhere(freeze, { agent: 'bot' })
    const { problem } = await ann.call('POST', `threads/${thread}/claim`, { body: {} })
    expect(problem.code).toBe('not_pending')
  })

  it('stops a vote, a revision and a proof that it overtakes', async () => {
    const voted = await held(bot)
    overtaking.before = () => actElsewhere(freeze, { agent: 'bot' })
    expect((await ann.approve(voted.thread)).problem.code).toBe('not_pending')
    await actElsewhere(unfreeze, { agent: 'bot' })
    const revised = await held(bot)
    overtaking.before = () => actElsewhere(freeze, { agent: 'bot' })
    const revision = await bot.revise(revised.task, revised.thread, { request_payload: { amount: 600 } })
    expect(revision.problem.code).toBe('not_pending')
    await actElsewhere(unfreeze, { agent: 'bot' })
    const granted = await held(bot)
    await ann.approve(granted.thread)
    overtaking.before = () => actElsewhere(freeze, { agent: 'bot' })
    expect((await bot.poll({ thread_id: granted.thread })).body.status).toBe('rejected')
  })

  it('a call is judged again after another instance has lifted the freeze', async () => {
    await act('freeze', { agent: 'bot' })
    await bot.submit(newTask(), { tool_name: 't', payload: {} })
    await actElsewhere(unfreeze, { agent: 'bot' })
    expect((await bot.submit(newTask(), { tool_name: 't', payload: {} })).body.status).toBe('allow')
  })
})

describe('a stored answer', () => {
  it('is not replayed after a freeze, even when that was lifted', async () => {
    const task = newTask()
    const ask = () => bot.submit(task, { tool_name: 't', payload: {} }, { 'idempotency-key': 'k1' })
    expect((await ask()).body.status).toBe('allow')
    await act('freeze', { agent: 'bot' })
    expect((await ask()).body.status).toBe('reject')
    const again = newTask()
    const allowed = () => bot.submit(again, { tool_name: 't', payload: {} }, { 'idempotency-key': 'k2' })
    await act('unfreeze', { agent: 'bot' })
    expect((await allowed()).body.status).toBe('allow')
    expect(await world.evidenceOf(allowed)).toEqual([])
    await act('freeze', { agent: 'bot' })
    await act('unfreeze', { agent: 'bot' })
    const records = await world.evidenceOf(async () => expect((await allowed()).body.status).toBe('allow'))
    expect(records.map(({ record }) => record.type)).toEqual(['decision.allowed'])
  })

  it('is not replayed when a freeze overtakes the request', async () => {
    const task = newTask()
    const ask = () => bot.submit(task, { tool_name: 't', payload: {} }, { 'idempotency-key': 'k3' })
    expect((await ask()).body.status).toBe('allow')
    overtaking.before = () => actElsewhere(freeze, {})
    expect((await ask()).body.status).toBe('reject')
  })
})

describe('POST /api/admin/unfreeze', () => {
  it('404 for a scope that is not frozen; freezing and unfreezing are evidence', async () => {
    expect((await act('unfreeze', { agent: 'bot' })).status).toBe(404)
    const records = await world.evidenceOf(async () => {
      await act('freeze', { agent: 'bot' })
      await act('unfreeze', { agent: 'bot', reason: 'it was a test' })
    })
    expect(
      records.map(({ record: { type, actor }, disclosures }) => [
        type,
        actor.id,
        disclosures?.members['reason'],
      ]),
    ).toEqual([
      ['freeze.started', 'admin', REASON],
      ['freeze.ended', 'admin', 'it was a test'],
    ])
    expect((await act('unfreeze', { agent: 'bot' })).status).toBe(404)
  })

  it('leaves a wider freeze in force', async () => {
    await act('freeze', {})
    await act('freeze', { agent: 'bot' })
    await act('unfreeze', { agent: 'bot' })
    expect((await bot.submit(newTask(), { tool_name: 't', payload: {} })).body.status).toBe('reject')
  })
})

describe('a restart', () => {
  it('forgets no freeze', async () => {
    const { thread } = await held(bot)
    await act('freeze', { agent: 'bot' })
    await world.restart()
    world.clock.advance(HOUR)
    expect((await bot.submit(newTask(), { tool_name: 't', payload: {} })).body.status).toBe('reject')
    expect((await bot.poll({ thread_id: thread })).body.message).toBe(`frozen: ${REASON}`)
  })
})
