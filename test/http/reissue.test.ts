// @store each
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Decision } from '../../src/contract/agent.ts'
import { LIMITS } from '../../src/contract/limits.ts'
import { BUNDLE } from '../bundle.ts'
import { fileWorld, world } from '../agent-world.ts'
import {
  type Agent,
  type Answer,
  type Approved,
  approved,
  edited,
  held,
  MINUTE,
  Overtaking,
  type Reviewer,
} from '../gateway-fixture.ts'

/** POST /api/agent/threads/{thread_id}/proofs (docs/agent-api.md): a new proof in place of a lost one. */

let bot: Agent
let ann: Reviewer
const overtaking = new Overtaking()

fileWorld({ wrapStore: overtaking.wrapStore })
beforeAll(async () => {
  bot = await world.agent()
  ann = await world.reviewer('ann')
})
afterEach(() => {
  overtaking.before = undefined
})

const RACERS = 64
const proofOf = ({ task, payload }: Approved, token: string | undefined) => ({
  task_id: task,
  signature: token,
  request_payload: payload,
})
const codeOf = ({ status, problem }: Answer<unknown>) => [status, problem.code]

describe('POST threads/{thread_id}/proofs', () => {
  it('200 with a new proof for the same call and the old expiry; the lost one is invalid for good', async () => {
    const one = await approved(bot, ann)
    world.clock.advance(MINUTE)
    let answer: Answer<Decision> | undefined
    const records = await world.evidenceOf(async () => {
      answer = await bot.reissue(one.thread)
    })
    const { approval_token, token_expires_at, ...decision } = answer?.body ?? expect.fail()
    expect([answer?.status, decision]).toEqual([
      200,
      { status: 'approved', task_id: one.task, thread_id: one.thread, message: expect.any(String) as string },
    ])
    expect(approval_token).not.toBe(one.token)
    expect(records).toMatchObject([
      {
        record: {
          type: 'token.reissued',
          actor: { kind: 'agent', id: 'bot' },
          thread_id: one.thread,
          details: { expires_at: token_expires_at },
        },
      },
    ])
    const minted = (await world.evidence()).findLast(({ record }) => record.type === 'token.minted')
    expect(records[0]?.record.details?.['replaced']).toBe(minted?.record.details?.['token_hash'])
    expect(minted?.record.details?.['expires_at']).toBe(token_expires_at)
    expect((await bot.validate(proofOf(one, one.token))).body).toEqual({ valid: false, reason: 'invalid' })
    expect((await bot.validate(proofOf(one, approval_token))).body).toEqual({ valid: true })
    expect((await bot.validate(proofOf(one, one.token))).body).toEqual({ valid: false, reason: 'invalid' })
    expect((await bot.validate(proofOf(one, approval_token))).body).toEqual({ valid: false, reason: 'used' })
  })

  it('200 without a proof while the thread waits, and after it has ended', async () => {
    const { thread } = await held(bot)
    const waiting = await bot.reissue(thread)
    expect([waiting.status, waiting.body.status, waiting.body.approval_token]).toEqual([
      200,
      'pending_review',
      undefined,
    ])
    await bot.withdraw(thread)
    expect((await bot.reissue(thread)).body).toMatchObject({ status: 'rejected' })
  })

  it('404 for a thread of another agent, and for none', async () => {
    const one = await approved(bot, ann)
    const other = await world.agent('other')
    expect(codeOf(await other.reissue(one.thread))).toEqual([404, 'not_found'])
    expect(codeOf(await bot.reissue('thr_00000000000000000000000000'))).toEqual([404, 'not_found'])
  })

  it('409 not_pending before the proof was handed out, and once it has expired', async () => {
    const { thread } = await held(bot)
    await ann.approve(thread)
    expect(codeOf(await bot.reissue(thread))).toEqual([409, 'not_pending'])
    const one = await approved(bot, ann)
    world.clock.advance(LIMITS.TOKEN_TTL_MS)
    expect(codeOf(await bot.reissue(one.thread))).toEqual([409, 'not_pending'])
  })

  it('409 proof_used after the redemption', async () => {
    const one = await approved(bot, ann)
    await bot.validate(proofOf(one, one.token))
    expect(codeOf(await bot.reissue(one.thread))).toEqual([409, 'proof_used'])
  })

  it('409 too_many_proofs after five; the fifth still works', async () => {
    const one = await approved(bot, ann)
    let last: string | undefined
    for (let i = 0; i < LIMITS.PROOF_REISSUES; i++) last = (await bot.reissue(one.thread)).body.approval_token
    expect(codeOf(await bot.reissue(one.thread))).toEqual([409, 'too_many_proofs'])
    expect((await bot.validate(proofOf(one, last))).body).toEqual({ valid: true })
  })

  it('409 not_pending under another key: the rotation ended the proof', async () => {
    const one = await approved(bot, ann)
    bot = await world.agent()
    expect(codeOf(await bot.reissue(one.thread))).toEqual([409, 'not_pending'])
  })

  it('200 rejected: a freeze or a lost voter ends the proofs of an approval', async () => {
    const one = await approved(bot, ann)
    await world.admin('POST', 'freeze', { body: { tenant: 'acme', tool: 'pay', reason: 'a test' } })
    const { body } = await bot.reissue(one.thread)
    expect(body).toMatchObject({ status: 'rejected', message: expect.stringMatching(/^frozen: /) as string })
    expect(body.approval_token).toBeUndefined()
    await world.admin('POST', 'unfreeze', { body: { tenant: 'acme', tool: 'pay', reason: 'a test' } })
    const two = await approved(bot, ann)
    const leaves = edited('directory.yaml', 'groups: [desk, leads, board], roles', 'groups: [], roles')
    await world.changePolicies(leaves)
    expect((await bot.reissue(two.thread)).body).toMatchObject({
      status: 'rejected',
      message: expect.stringMatching(/^reviewer_removed: /) as string,
    })
    await world.changePolicies({ 'directory.yaml': BUNDLE['directory.yaml'] ?? '' })
  })

  it('409 proof_used when a redemption was faster', async () => {
    const one = await approved(bot, ann)
    overtaking.before = () => bot.validate(proofOf(one, one.token))
    expect(codeOf(await bot.reissue(one.thread))).toEqual([409, 'proof_used'])
  })

  it('a refusal that a new proof overtakes does not name the thread in evidence', async () => {
    const one = await approved(bot, ann)
    const records = await world.evidenceOf(async () => {
      overtaking.before = () => bot.reissue(one.thread)
      expect((await bot.validate({ ...proofOf(one, one.token), task_id: 'another' })).body.valid).toBe(false)
    })
    expect(records.map(({ record }) => [record.type, record.thread_id])).toEqual([
      ['token.reissued', one.thread],
      ['token.refused', undefined],
    ])
  })
})

describe(`${RACERS} new proofs and ${RACERS} redemptions of old and new ones at once`, () => {
  it('run the call once', async () => {
    const one = await approved(bot, ann)
    const tokens = [one.token]
    let runs = 0
    const redeem = async (token: string | undefined): Promise<void> => {
      if ((await bot.validate(proofOf(one, token))).body.valid) runs++
    }
    await Promise.all(
      Array.from({ length: RACERS }, async (_, i) => {
        const redeeming = redeem(tokens[i % tokens.length])
        const { body } = await bot.reissue(one.thread)
        const token = (body as Partial<Decision> | undefined)?.approval_token
        if (token !== undefined) {
          tokens.push(token)
          await redeem(token)
        }
        await redeeming
      }),
    )
    for (const token of tokens) await redeem(token)
    expect(runs).toBe(1)
    expect(tokens.length).toBeLessThanOrEqual(1 + LIMITS.PROOF_REISSUES)
  })
})
