// @store each
import { beforeEach, describe, expect, it } from 'vitest'
import type { VoteResults } from '../../../src/contract/display.ts'
import { displayedDigest } from '../../../src/domain/digest.ts'
import { freeze } from '../../../src/gateway/admin/freeze.ts'
import { eachWorld, world } from '../../agent-world.ts'
import {
  type Agent,
  type Answer,
  approved,
  call,
  edited,
  elsewhere,
  held,
  Overtaking,
  type Reviewer,
} from '../../gateway-fixture.ts'

/** A frozen reviewer (docs/operations.md): refused at once on every instance, and votes that never count again. */

let bot: Agent
let overtaking: Overtaking
let ben: Reviewer
let cat: Reviewer

eachWorld(() => {
  overtaking = new Overtaking()
  return {
    wrapStore: overtaking.wrapStore,
    files: edited('directory.yaml', 'groups: [desk, audit] }', 'groups: [desk, audit], roles: [admin] }'),
  }
})
beforeEach(async () => {
  bot = await world.agent()
  ben = await world.reviewer('ben')
  cat = await world.reviewer('cat')
})

const REASON = { tenant: 'acme', reason: 'a stolen laptop' }
const act = (what: 'freeze' | 'unfreeze', reviewer: string): Promise<Answer<unknown>> =>
  world.admin('POST', what, { body: { ...REASON, reviewer } })
const actAs = (by: Reviewer, what: string, reviewer: string): Promise<Answer<{ detail?: string }>> =>
  call(`${world.url}/api/admin/${what}`, 'POST', { body: { ...REASON, reviewer }, headers: by.credentials() })
/** Freezes ben on another instance between a verb's reads and its commit. */
const freezeMeanwhile = (): void => {
  overtaking.before = freezeNow
}
const freezeNow = (): Promise<unknown> =>
  freeze(elsewhere(world), { actor: { kind: 'admin', id: 'admin' } }, { ...REASON, reviewer: 'ben' })

/** An entry of a vote on several calls, which saw every part. */
async function seen(thread_id: string) {
  const { parts, ...known } = (await ben.show(thread_id)).body.display
  const digest = displayedDigest({ thread_id, revision: 1, ...known, seen: parts })
  return { thread_id, revision: 1, displayed: { digest, seen: parts, unseen: [] } }
}

describe('a frozen reviewer', () => {
  it('is refused with the key and the session, and gets no link', async () => {
    const session = await world.signIn('ben')
    const { thread } = await held(bot)
    expect((await act('freeze', 'ben')).body).toMatchObject({ reviewer: 'ben', known: true })
    for (const who of [ben, session]) {
      expect((await who.approve(thread)).status).toBe(401)
      expect((await who.show(thread)).status).toBe(401)
    }
    expect((await world.admin('POST', 'reviewers/acme/ben/login-link', { body: {} })).status).toBe(403)
    expect((await act('unfreeze', 'ben')).status).toBe(204)
    expect((await session.show(thread)).status).toBe(401)
    expect((await ben.approve(thread)).status).toBe(200)
  })

  it('cannot vote, reveal or comment when frozen between the reads and the commit', async () => {
    for (const path of ['votes', 'reveal', 'comments', 'claim']) {
      const { thread } = await held(bot)
      freezeMeanwhile()
      const body =
        path === 'votes'
          ? { decision: 'approve', revision: 1 }
          : path === 'comments'
            ? { comment: 'x' }
            : path === 'reveal'
              ? { revision: 1 }
              : {}
      expect([path, (await ben.call('POST', `threads/${thread}/${path}`, { body })).status]).toEqual([
        path,
        401,
      ])
      await act('unfreeze', 'ben')
    }
  })

  it('casts only the votes before the freeze, of several votes at once', async () => {
    const threads = [await held(bot), await held(bot), await held(bot)].map(({ thread }) => thread)
    const votes = await Promise.all(threads.map(seen))
    let commits = 0
    const next = async (): Promise<void> => {
      commits += 1
      if (commits === 2) await freezeNow()
      else overtaking.before = next
    }
    overtaking.before = next
    const body = { decision: 'approve', votes }
    const answer = await ben.call<VoteResults>('POST', 'votes', { body })
    const codes = answer.body.results.map(({ problem }) => problem?.code)
    expect(codes).toEqual([undefined, 'unauthenticated', 'unauthenticated'])
    const statuses = await Promise.all(threads.map((thread_id) => bot.poll({ thread_id })))
    expect(statuses.map(({ body: { status } }) => status)).toEqual(Array(3).fill('pending_review'))
  })

  it('supports no proof, even after the freeze was lifted', async () => {
    const { task, token, payload, thread } = await approved(bot, ben)
    await act('freeze', 'ben')
    await act('unfreeze', 'ben')
    const proof = { task_id: task, signature: token, request_payload: payload }
    expect((await bot.validate(proof)).body).toEqual({ valid: false, reason: 'invalid' })
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('rejected')
    expect((await bot.validate(proof)).body.valid).toBe(false)
  })

  it('loses the seat of an approval that was not collected, which waits again', async () => {
    const { task, thread, payload } = await held(bot)
    expect((await ben.approve(thread)).body.status).toBe('approved')
    const records = await world.evidenceOf(async () => {
      await act('freeze', 'ben')
      await world.due()
    })
    const types = records.map(({ record }) => record.type)
    expect(types).toEqual(['freeze.started', 'review.resumed'])
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
    await act('unfreeze', 'ben')
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
    expect((await cat.approve(thread)).body.status).toBe('approved')
    const { body } = await bot.poll({ thread_id: thread })
    const proof = { task_id: task, signature: body.approval_token, request_payload: payload }
    expect((await bot.validate(proof)).body).toEqual({ valid: true })
  })

  it('fills no seat with an earlier vote, and may vote again once the freeze was lifted', async () => {
    const { thread } = await held(bot, { payload: { amount: 20_000, to: 'audit-7' } })
    expect((await cat.approve(thread)).body.approvals).toEqual({ given: 1, required: 2 })
    await act('freeze', 'cat')
    await act('unfreeze', 'cat')
    expect((await ben.show(thread)).body.approvals).toEqual({ given: 0, required: 2 })
    expect((await cat.approve(thread)).body.approvals).toEqual({ given: 1, required: 2 })
  })

  it('is not the last other administrator, for whom the admin key is needed', async () => {
    const ann = await world.reviewer('ann')
    const { status, body } = await actAs(ann, 'freeze', 'cat')
    expect([status, body.detail]).toEqual([403, expect.stringContaining('the admin key')])
    expect((await actAs(ann, 'freeze', 'ann')).status).toBe(200)
    expect((await actAs(ann, 'unfreeze', 'ann')).status).toBe(401)
    expect((await actAs(cat, 'unfreeze', 'ann')).status).toBe(204)
    expect((await act('freeze', 'cat')).status).toBe(200)
  })
})
