// @store each, in the soak
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { LIMITS } from '../../src/contract/limits.ts'
import { agentWorld, ann, bot, world } from '../agent-world.ts'
import { type Agent, approved, type Approved, held, HOUR, Overtaking } from '../gateway-fixture.ts'
import { until } from '../until.ts'

/** Withdrawing a call (docs/agent-api.md): its thread ends, and its approval and proof are void. */

let other: Agent
const overtaking = new Overtaking()

agentWorld({ wrapStore: overtaking.wrapStore })
beforeAll(async () => {
  other = await world.agent('other')
})
afterEach(() => {
  overtaking.before = undefined
})

const REASON = 'the user pressed stop'
const MESSAGE = `withdrawn: ${REASON}`
const proofOf = ({ task, token, payload }: Approved) => ({
  task_id: task,
  signature: token,
  request_payload: payload,
})

describe('POST threads/{thread_id}/withdrawals', () => {
  it('200 rejected: the agent reads the reason, and reviewers can no longer vote', async () => {
    const { task, thread } = await held(bot)
    const records = await world.evidenceOf(async () => {
      const { status, body } = await bot.withdraw(thread, { reason: REASON })
      expect([status, body]).toEqual([
        200,
        { status: 'rejected', task_id: task, thread_id: thread, message: MESSAGE },
      ])
    })
    expect(records.map(({ record }) => record)).toMatchObject([
      {
        type: 'review.withdrawn',
        actor: { kind: 'agent', id: 'bot' },
        thread_id: thread,
        details: { was: 'pending_review' },
      },
    ])
    expect(records[0]?.disclosures?.members).toEqual({ reason: REASON })
    expect((await bot.poll({ thread_id: thread })).body).toMatchObject({
      status: 'rejected',
      message: MESSAGE,
    })
    expect((await ann.approve(thread)).problem).toMatchObject({
      code: 'not_pending',
      detail: 'the thread is withdrawn',
    })
    const { body } = await ann.show(thread)
    expect([body.status, body.message, body.can_vote.code]).toEqual(['rejected', MESSAGE, 'not_pending'])
    expect(body.withdrawn_at).toBe(records[0]?.record.at)
    expect((await ann.list({ task_id: task })).body.threads).toMatchObject([
      { withdrawn_at: body.withdrawn_at },
    ])
  })

  it('200 without a reason, and without a body', async () => {
    const [one, two] = [await held(bot), await held(bot)]
    expect((await bot.withdraw(one.thread)).body.message).toBe('withdrawn: the agent stopped the call')
    const url = `${world.url}/api/agent/threads/${two.thread}/withdrawals`
    const answer = await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${bot.key}` } })
    expect([answer.status, await answer.json()]).toMatchObject([200, { status: 'rejected' }])
  })

  it('200 unchanged with a grace, after which the gateway withdraws the call', async () => {
    const { thread } = await held(bot)
    const left = await bot.withdraw(thread, { grace_seconds: 120 })
    expect([left.status, left.body.status]).toEqual([200, 'pending_review'])
    world.clock.advance(120_000 - 1)
    await world.due()
    expect((await ann.show(thread)).body.status).toBe('pending_review')
    world.clock.advance(1)
    await world.due()
    expect((await ann.show(thread)).body).toMatchObject({
      status: 'rejected',
      message: 'withdrawn: the agent stopped waiting',
    })
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('rejected')
  })

  it.each([
    ['a poll', {}],
    ['a poll that waits', { headers: { prefer: 'wait=1' } }],
  ])('%s within the grace keeps the call, and an approval in between is delivered', async (_, options) => {
    const { task, thread, payload } = await held(bot)
    await bot.withdraw(thread, { grace_seconds: 120 })
    const poll = bot.poll({ thread_id: thread }, options)
    await until(
      async () =>
        (await world.app.deps.store.get('acme', 'thread', thread))?.body.includes('left_until') === false,
    )
    world.clock.advance(120_000)
    await world.due()
    expect((await poll).body.status).toBe('pending_review')
    await bot.withdraw(thread, { grace_seconds: 120 })
    await ann.approve(thread)
    const { body } = await bot.poll({ thread_id: thread })
    const proof = { task_id: task, signature: body.approval_token, request_payload: payload }
    world.clock.advance(120_000)
    await world.due()
    expect((await bot.validate(proof)).body).toEqual({ valid: true })
  })

  it('a wait that began before its agent left does not keep the call', async () => {
    const { thread } = await held(bot)
    const waiting = bot.poll({ thread_id: thread }, { headers: { prefer: 'wait=50' } })
    await until(() => world.watches > 0)
    await bot.withdraw(thread, { grace_seconds: 60 })
    world.clock.advance(60_000)
    await world.due()
    expect((await waiting).body).toMatchObject({ status: 'rejected' })
  })

  it('an uncollected approval ends with the grace; a collected one does not', async () => {
    const { thread } = await held(bot)
    await ann.approve(thread)
    await bot.withdraw(thread, { grace_seconds: 1 })
    const collected = await approved(bot, ann)
    await bot.withdraw(collected.thread, { grace_seconds: 1 })
    world.clock.advance(1_000)
    await world.due()
    expect((await ann.show(thread)).body.status).toBe('rejected')
    expect((await bot.validate(proofOf(collected))).body).toEqual({ valid: true })
  })

  it('the gateway withdraws a call whose agent lost its key in the grace', async () => {
    const short = await world.agent('short')
    const { thread } = await held(short)
    await short.withdraw(thread, { grace_seconds: 10 })
    await world.admin('DELETE', 'agents/acme/short/key')
    world.clock.advance(10_000)
    const records = await world.evidenceOf(() => world.due())
    expect(records.map(({ record }) => [record.type, record.actor.id])).toContainEqual([
      'review.withdrawn',
      'timer',
    ])
    expect((await ann.show(thread)).body.status).toBe('rejected')
  })

  it('400 for a grace of no time, or of more than an hour', async () => {
    const { thread } = await held(bot)
    for (const grace_seconds of [0, 3_601, 1.5, '60'])
      expect((await bot.withdraw(thread, { grace_seconds })).problem.code).toBe('invalid_request')
  })

  it('200 for a repeated withdrawal, without another change', async () => {
    const { thread } = await held(bot)
    const first = await bot.withdraw(thread, { reason: REASON })
    const records = await world.evidenceOf(async () => {
      expect((await bot.withdraw(thread, { reason: 'something else' })).body).toEqual(first.body)
    })
    expect(records).toEqual([])
  })

  it('200 for an approval that the agent has not collected, which is then never returned', async () => {
    const { thread } = await held(bot)
    await ann.approve(thread)
    await bot.withdraw(thread)
    const { body } = await bot.poll({ thread_id: thread })
    expect(body).toMatchObject({ status: 'rejected', message: expect.stringMatching(/^withdrawn: /) })
    expect(body).not.toHaveProperty('approval_token')
  })

  it("200 with the reviewers' comment if they rejected the call before", async () => {
    const { thread } = await held(bot)
    await ann.vote(thread, { decision: 'reject', revision: 1, comment: 'not today' })
    const { status, body } = await bot.withdraw(thread, { reason: REASON })
    expect([status, body.status, body.message]).toEqual([200, 'rejected', 'not today'])
  })

  it('200 with `expired: ` if the thread had expired, whether or not a request noticed', async () => {
    const { thread } = await held(bot)
    world.clock.advance(100 * HOUR)
    expect((await bot.withdraw(thread)).body.message).toMatch(/^expired: /)
  })

  it('409 for a redeemed call, which does not change', async () => {
    const one = await approved(bot, ann)
    expect((await bot.validate(proofOf(one))).body).toEqual({ valid: true })
    const { status, problem } = await bot.withdraw(one.thread)
    expect([status, problem.code]).toEqual([409, 'not_pending'])
    expect((await bot.poll({ thread_id: one.thread })).body.status).toBe('approved')
  })

  it('409 for an approval without proof that was read, because the call may have run', async () => {
    const unsigned = await world.agent('unsigned')
    const { thread } = await held(unsigned)
    await ann.approve(thread)
    expect((await unsigned.poll({ thread_id: thread })).body.status).toBe('approved')
    expect((await unsigned.withdraw(thread)).problem.code).toBe('not_pending')
  })

  it('404 for the thread of another agent or tenant, and for an unknown one', async () => {
    const { thread } = await held(bot)
    const foreign = await world.agent('bot', 'globex')
    for (const [agent, id] of [
      [other, thread],
      [foreign, thread],
      [bot, 'thr_00000000000000000000000000'],
      [bot, 'no-thread'],
    ] as const) {
      const { status, problem } = await agent.withdraw(id)
      expect([status, problem.code]).toEqual([404, 'not_found'])
    }
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
  })

  it.each([
    ['a reason that is no text', { reason: 7 }, '/reason'],
    ['an empty reason', { reason: ' ' }, '/reason'],
    ['a reason as long as a report', { reason: 'x'.repeat(LIMITS.WITHDRAWAL_REASON_CHARS + 1) }, '/reason'],
    ['a member too many', { why: 'x' }, '/why'],
  ])('400 for %s', async (_, body, pointer) => {
    const { thread } = await held(bot)
    const { status, problem } = await bot.withdraw(thread, body)
    expect([status, problem.errors?.[0]?.pointer]).toEqual([400, pointer])
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
  })

  it('401 without a key', async () => {
    const { thread } = await held(bot)
    const url = `${world.url}/api/agent/threads/${thread}/withdrawals`
    expect((await fetch(url, { method: 'POST' })).status).toBe(401)
  })
})

describe('a withdrawal', () => {
  it('precedes a vote in progress, which is refused', async () => {
    const { thread } = await held(bot)
    overtaking.before = async () => {
      overtaking.before = undefined
      await bot.withdraw(thread)
    }
    expect((await ann.approve(thread)).problem.code).toBe('not_pending')
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('rejected')
  })

  it('precedes a redemption in progress, and voids the proof', async () => {
    const one = await approved(bot, ann)
    overtaking.before = async () => {
      overtaking.before = undefined
      expect((await bot.withdraw(one.thread)).status).toBe(200)
    }
    expect((await bot.validate(proofOf(one))).body).toEqual({ valid: false, reason: 'invalid' })
  })

  it('wakes an agent that waits for the decision', async () => {
    const { thread } = await held(bot)
    const waiting = bot.poll({ thread_id: thread }, { headers: { prefer: 'wait=50' } })
    await bot.withdraw(thread, { reason: REASON })
    expect((await waiting).body).toMatchObject({ status: 'rejected', message: MESSAGE })
  })
})
