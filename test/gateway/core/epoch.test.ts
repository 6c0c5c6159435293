// @store each, in the soak
import { describe, expect, it } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { ann, bot, eachAgentWorld, world } from '../../agent-world.ts'
import { approved, edited, held, overriding } from '../../gateway-fixture.ts'

/**
 * A store that is restored or taken over between the reads of a verb and its commit (S19).
 * The verb may have read records of the earlier epoch that the store has lost.
 */

let epoch: string
/** The next commit finds the store in another epoch than the verb's reads. */
let isReplaced: boolean

const wrapStore = (store: Store): Store =>
  overriding(store, {
    epoch: () => Promise.resolve(epoch),
    commit: async (partition, commit) => {
      if (isReplaced) epoch = 'second'
      isReplaced = false
      const failed = commit.guards.flatMap((guard, i) =>
        'epoch' in guard && guard.epoch !== epoch ? [i] : [],
      )
      if (failed.length > 0) return { ok: false, reason: 'guard', failed }
      const real = { epoch: await store.epoch(partition) }
      const guards = commit.guards.map((guard) => ('epoch' in guard ? real : guard))
      return store.commit(partition, { ...commit, guards })
    },
  })

eachAgentWorld(() => {
  epoch = 'first'
  isReplaced = false
  return { wrapStore }
})

describe('a store whose epoch changes at the commit', () => {
  it('a vote is counted in the new epoch, and its approval yields a proof', async () => {
    const { thread } = await held(bot)
    isReplaced = true
    expect((await ann.approve(thread)).body.status).toBe('approved')
    expect(isReplaced).toBe(false)
    expect((await bot.poll({ thread_id: thread })).body.approval_token).toMatch(/^cst_/)
  })

  it.each([
    ['a proof is not given out', 'bot'],
    ['an approval without proof is not given out', 'unsigned'],
  ])('%s', async (_, id) => {
    const agent = await world.agent(id)
    const { thread } = await held(agent)
    await ann.approve(thread)
    isReplaced = true
    const { body } = await agent.poll({ thread_id: thread })
    expect([body.status, body.approval_token]).toEqual(['rejected', undefined])
    expect(body.message).toMatch(/^store_changed: /)
  })

  it('an approval without a proof is not returned again', async () => {
    const agent = await world.agent('unsigned')
    const { thread } = await held(agent)
    await ann.approve(thread)
    expect((await agent.poll({ thread_id: thread })).body.status).toBe('approved')
    isReplaced = true
    expect((await agent.poll({ thread_id: thread })).body.message).toMatch(/^store_changed: /)
  })

  it('a proof is not redeemed', async () => {
    const { task, token, payload } = await approved(bot, ann)
    const proof = { task_id: task, signature: token, request_payload: payload }
    const records = await world.evidenceOf(async () => {
      isReplaced = true
      expect((await bot.validate(proof)).body).toEqual({ valid: false, reason: 'invalid' })
    })
    expect(records.map(({ record }) => [record.type, record.details?.['because']])).toEqual([
      ['token.refused', 'store_changed'],
      ['approval.revoked', undefined],
    ])
  })

  it('filled seats approve nothing until a reviewer votes again', async () => {
    await world.changePolicies(edited('directory.yaml', 'groups: [audit] }', 'groups: [audit, board] }'))
    const { thread } = await held(bot, { payload: { amount: 20_000, to: 'audit-7' } })
    for (const id of ['cat', 'dan']) await (await world.reviewer(id)).approve(thread)
    world.clock.advance(30 * 60_000)
    isReplaced = true
    expect((await ann.show(thread)).body.status).toBe('pending_review')
    expect(isReplaced).toBe(false)
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
    expect((await ann.approve(thread)).body.status).toBe('approved')
  })
})
