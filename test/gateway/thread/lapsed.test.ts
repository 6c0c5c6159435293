// @store each, in the soak
import { describe, expect, it } from 'vitest'
import { identify } from '../../../src/gateway/auth/identify.ts'
import { redeem } from '../../../src/gateway/agent/redeem.ts'
import { ann, bot, eachAgentWorld, world } from '../../agent-world.ts'
import { approved, edited, elsewhere, held, Overtaking } from '../../gateway-fixture.ts'

/** Approvals that policy or people would no longer give, during concurrent acts (docs/operations.md). */

let overtaking: Overtaking

eachAgentWorld(() => {
  overtaking = new Overtaking()
  return { wrapStore: overtaking.wrapStore }
})

/** Removes ann, who approved, from every group. */
const annLeaves = (): Promise<void> =>
  world.changePolicies(edited('directory.yaml', 'groups: [desk, leads, board], roles', 'groups: [], roles'))

describe('an expired approval', () => {
  it('is not released when another gateway has redeemed it under its own bundle', async () => {
    const { task, thread, token, payload } = await approved(bot, ann)
    const { deps } = world.app
    const known = deps.policies.current()
    await annLeaves()
    const other = { ...elsewhere(world), policies: { ...deps.policies, current: () => known } }
    const caller = await identify(other, 'agent', bot.key)
    let answer: unknown
    overtaking.before = async () => {
      const proof = { task_id: task, signature: token, request_payload: payload }
      answer = (await redeem(other, caller, proof)).answer
    }
    const { body } = await bot.poll({ thread_id: thread })
    expect(answer).toMatchObject({ valid: true })
    expect(body.status).toBe('approved')
    expect((await ann.show(thread)).body).toMatchObject({ status: 'approved' })
  })

  it('is released when no other gateway was faster', async () => {
    const { thread } = await held(bot)
    await ann.approve(thread)
    await annLeaves()
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('rejected')
  })
})
