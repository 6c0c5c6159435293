// @store each
import { beforeEach, describe, expect, it } from 'vitest'
import { BUNDLE } from '../bundle.ts'
import { ann, bot, eachAgentWorld, world } from '../agent-world.ts'
import { approved, edited, held, HOUR, MINUTE, type Reviewer } from '../gateway-fixture.ts'

/** An approval counts only while policy asks for no more (docs/decisions/0004). */

let ben: Reviewer
let cat: Reviewer

eachAgentWorld()
beforeEach(async () => {
  ben = await world.reviewer('ben')
  cat = await world.reviewer('cat')
})

/** From now on, the board decides twice about calls that one of the desk could approve. */
const raised = (): Promise<void> =>
  world.changePolicies(
    edited(
      'rules/pay.yaml',
      'review: More than pocket money.',
      'review: More than pocket money.\n    risk: critical',
    ),
  )
const lowered = (): Promise<void> =>
  world.changePolicies(
    edited('rules/pay.yaml', 'More than pocket money.', 'More than pocket money, said again.'),
  )

async function typesOf(thread: string): Promise<string[]> {
  return (await world.allEvidence())
    .filter((one) => one.record.thread_id === thread)
    .map((one) => one.record.type)
}

describe('a bundle that asks for more', () => {
  it('200 pending_review: the vote that was enough before is not enough, and the page says why', async () => {
    const { thread } = await held(bot)
    await raised()
    expect((await cat.approve(thread)).body).toMatchObject({ status: 'pending_review' })
    expect((await ann.show(thread)).body).toMatchObject({
      raised: { asks: 'two of board', fillable: true },
      approvals: { given: 1, required: 3 },
    })
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
    await ann.approve(thread)
    expect((await ben.approve(thread)).body).toMatchObject({ status: 'approved' })
    expect(await typesOf(thread)).toEqual([
      'review.pending',
      'requirement.raised',
      'vote.cast',
      'vote.cast',
      'vote.cast',
      'review.approved',
    ])
  })

  it('200 pending_review: an uncollected approval waits again, with its charges released and its deadline', async () => {
    const { thread } = await held(bot)
    const before = (await ann.show(thread)).body.deadline
    await cat.approve(thread)
    await raised()
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
    expect((await ann.show(thread)).body.deadline).toBe(before)
    await lowered()
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
    await ann.approve(thread)
    await ben.approve(thread)
    expect((await bot.poll({ thread_id: thread })).body).toMatchObject({ status: 'approved' })
  })

  it('200 rejected: an approval of which the deadline is past expires', async () => {
    const { thread } = await held(bot)
    world.clock.advance(8 * HOUR - MINUTE)
    await cat.approve(thread)
    world.clock.advance(2 * MINUTE)
    await raised()
    await bot.poll({ thread_id: thread })
    expect((await bot.poll({ thread_id: thread })).body).toMatchObject({ status: 'rejected' })
  })

  it('200 invalid: a proof that was handed out is never accepted again, and its thread ends', async () => {
    const { task, thread, token, payload } = await approved(bot, cat)
    await raised()
    const proof = { task_id: task, signature: token, request_payload: payload }
    expect((await bot.validate(proof)).body).toEqual({ valid: false, reason: 'invalid' })
    await lowered()
    expect((await bot.validate(proof)).body).toEqual({ valid: false, reason: 'invalid' })
    expect((await bot.poll({ thread_id: thread })).body).toMatchObject({
      status: 'rejected',
      message: 'policy_changed: the policy in force now asks for two of board',
    })
  })

  it('200: an approval whose votes also fill the raised seats stays', async () => {
    const { task, thread, token, payload } = await approved(bot, cat)
    await world.changePolicies(
      edited(
        'routing.yaml',
        'low:      { group: desk,  approvals: 1, expires: 8h }',
        'low:      { group: desk,  approvals: 1, expires: 3h }',
      ),
    )
    const proof = { task_id: task, signature: token, request_payload: payload }
    expect((await bot.validate(proof)).body).toMatchObject({ valid: true })
    expect(await typesOf(thread)).not.toContain('requirement.raised')
  })

  it('lets exactly one of a poll and a raise win, 64 ways', async () => {
    const threads = await Promise.all(Array.from({ length: 64 }, async () => (await held(bot)).thread))
    for (const thread of threads) await cat.approve(thread)
    const changing = raised()
    const polled = await Promise.all(threads.map((thread) => bot.poll({ thread_id: thread })))
    await changing
    for (const [i, thread] of threads.entries()) {
      const after = (await bot.poll({ thread_id: thread })).body.status
      expect(after).toBe(polled[i]?.body.status === 'approved' ? 'rejected' : 'pending_review')
    }
  })
})

describe('a vote of before a raise', () => {
  it('200: a vote by key that fills no seat lets its reviewer vote again in a session', async () => {
    const { thread } = await held(bot)
    await cat.approve(thread)
    const signedIn = (BUNDLE['routing.yaml'] ?? '').replaceAll(/approvals: \d,/g, '$& interactive: true,')
    await world.changePolicies({ 'routing.yaml': signedIn })
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
    expect((await cat.approve(thread)).problem.code).toBe('sign_in_required')
    const session = await world.signIn('cat')
    expect((await session.approve(thread)).body).toMatchObject({ status: 'approved' })
    expect((await cat.show(thread)).body.votes).toMatchObject([{ void: true }, { void: false }])
  })
})

describe('POST votes with a rejection of an approved call', () => {
  it('200 rejected: the reviewer takes the own approval back before it is collected', async () => {
    const { thread } = await held(bot)
    await cat.approve(thread)
    expect(
      (await cat.vote(thread, { decision: 'reject', revision: 1, comment: 'wrong account' })).body,
    ).toMatchObject({
      status: 'rejected',
      decided_by: [{ reviewer: 'cat', decision: 'reject' }],
    })
    expect((await bot.poll({ thread_id: thread })).body).toMatchObject({
      status: 'rejected',
      message: 'wrong account',
    })
  })

  it('200 rejected: another reviewer ends a proof that was handed out', async () => {
    const { task, thread, token, payload } = await approved(bot, cat)
    expect((await ann.vote(thread, { decision: 'reject', revision: 1 })).status).toBe(200)
    const proof = { task_id: task, signature: token, request_payload: payload }
    expect((await bot.validate(proof)).body).toEqual({ valid: false, reason: 'invalid' })
  })

  it('409 not_pending: the proof was redeemed, and the call may have run', async () => {
    const { task, thread, token, payload } = await approved(bot, cat)
    await bot.validate({ task_id: task, signature: token, request_payload: payload })
    const { status, problem } = await cat.vote(thread, { decision: 'reject', revision: 1 })
    expect(status).toBe(409)
    expect(problem.detail).toBe('its approval was used at 2026-03-02 12:00 UTC; the call may have run')
  })

  it('409 not_pending: an approval without a proof was read', async () => {
    const unsigned = await world.agent('unsigned')
    const { thread } = await held(unsigned)
    await cat.approve(thread)
    await unsigned.poll({ thread_id: thread })
    expect((await cat.vote(thread, { decision: 'reject', revision: 1 })).problem.detail).toContain(
      'may have run',
    )
  })

  it('takes back or redeems, never both, 64 ways', async () => {
    const all = await Promise.all(Array.from({ length: 64 }, () => approved(bot, cat)))
    await Promise.all(
      all.map(async ({ task, thread, token, payload }) => {
        const [back, used] = await Promise.all([
          ann.vote(thread, { decision: 'reject', revision: 1 }),
          bot.validate({ task_id: task, signature: token, request_payload: payload }),
        ])
        // 503: a busy store did not answer in time, and nothing was taken back
        expect([used.body.valid ? 409 : 200, 503]).toContain(back.status)
      }),
    )
  })
})

describe('a reviewer for whom the agent says it works', () => {
  it.each(['cat', 'CAT', ' c a t ', 'сat', 'c\u200bat'])(
    '403 self_review for the subject %j, who may reject',
    async (subject) => {
      const { thread } = await held(bot, { subject })
      expect((await cat.approve(thread)).problem.code).toBe('self_review')
      expect((await cat.vote(thread, { decision: 'reject', revision: 1 })).body).toMatchObject({
        status: 'rejected',
      })
    },
  )

  it('403 self_review by mail', async () => {
    const { thread } = await held(bot, { subject: 'Ann@ACME.example' })
    expect((await ann.approve(thread)).problem.code).toBe('self_review')
    expect((await cat.approve(thread)).body).toMatchObject({ status: 'approved' })
  })
})
