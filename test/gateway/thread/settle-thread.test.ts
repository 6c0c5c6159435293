// @store each, in the soak
import { beforeEach, describe, expect, it } from 'vitest'
import { freeze } from '../../../src/gateway/admin/freeze.ts'
import { eachWorld, world } from '../../agent-world.ts'
import {
  type Agent,
  edited,
  elsewhere,
  held,
  type Held,
  MINUTE,
  Overtaking,
  type Reviewer,
} from '../../gateway-fixture.ts'

/** Seats that fill without another vote (docs/review-api.md). */

const DAN = 'dan:  { name: Dan Day, groups: [audit] }'
const DAN_OF_THE_BOARD = edited('directory.yaml', DAN, DAN.replace('[audit]', '[audit, board]'))

let bot: Agent
let overtaking: Overtaking
let people: Record<'ann' | 'ben' | 'cat' | 'dan', Reviewer>

eachWorld(() => {
  overtaking = new Overtaking()
  return { files: DAN_OF_THE_BOARD, wrapStore: overtaking.wrapStore }
})
beforeEach(async () => {
  bot = await world.agent()
  const [ann, ben, cat, dan] = await Promise.all(
    ['ann', 'ben', 'cat', 'dan'].map((name) => world.reviewer(name)),
  )
  people = { ann, ben, cat, dan } as typeof people
})

/**
 * One of `audit`, one of `leads`; after half an hour `board` may take the seat of `leads`.
 * Both voters are in `audit`.
 */
async function voted(): Promise<Held> {
  const thread = await held(bot, { payload: { amount: 20_000, to: 'audit-7' } })
  for (const one of [people.cat, people.dan]) {
    const { body } = await one.approve(thread.thread)
    expect([body.status, body.approvals]).toEqual(['pending_review', { given: 1, required: 2 }])
  }
  return thread
}

const typesOf = async (act: () => Promise<unknown>): Promise<string[]> =>
  (await world.evidenceOf(act)).map(({ record }) => record.type)

describe('an escalation that fills the last seat', () => {
  it('approves the thread through the timer at the escalation time', async () => {
    const { thread } = await voted()
    world.clock.advance(30 * MINUTE - 1)
    expect(await typesOf(() => world.due())).toEqual(['review.reminded'])
    world.clock.advance(1)
    const [record, ...more] = await world.evidenceOf(() => world.due())
    expect(more).toEqual([])
    expect(record?.record).toMatchObject({
      type: 'review.approved',
      actor: { kind: 'gateway', id: 'quorum' },
      thread_id: thread,
      details: { voters: ['cat', 'dan'], waited_ms: 30 * MINUTE },
    })
    expect(await typesOf(() => world.due())).toEqual([])
  })

  it('approves at the first poll, which returns a proof that works once', async () => {
    const { task, thread, payload } = await voted()
    world.clock.advance(30 * MINUTE)
    let token: string | undefined
    expect(
      await typesOf(async () => {
        const { body } = await bot.poll({ thread_id: thread })
        expect(body.status).toBe('approved')
        token = body.approval_token
      }),
    ).toEqual(['review.approved', 'token.minted'])
    const proof = { task_id: task, request_payload: payload, signature: token }
    expect((await bot.validate(proof)).body).toEqual({ valid: true })
    expect((await bot.validate(proof)).body).toEqual({ valid: false, reason: 'used' })
  })

  it("approves at the first reviewer's look", async () => {
    const { thread } = await voted()
    world.clock.advance(30 * MINUTE)
    expect(await typesOf(() => people.ben.show(thread))).toEqual(['review.approved'])
    expect((await people.ben.show(thread)).body.status).toBe('approved')
  })

  it('approves once under concurrent requests, and one poll gets the proof', async () => {
    const { thread } = await voted()
    world.clock.advance(30 * MINUTE)
    let tokens: (string | undefined)[] = []
    const types = await typesOf(async () => {
      const polls = Array.from({ length: 8 }, () => bot.poll({ thread_id: thread }))
      const [answers] = await Promise.all([Promise.all(polls), people.ben.show(thread), world.due()])
      tokens = answers.map(({ body }) => body.approval_token)
    })
    expect(types.filter((type) => type === 'review.approved')).toHaveLength(1)
    expect(tokens.filter((token) => token !== undefined)).toHaveLength(1)
  })

  it('does not approve when the thread has expired too', async () => {
    const { thread } = await voted()
    world.clock.advance(60 * MINUTE)
    expect((await bot.poll({ thread_id: thread })).body.message).toMatch(/^expired: /)
  })

  it('does not approve when another instance freezes the agent at the same moment', async () => {
    const { thread } = await voted()
    world.clock.advance(30 * MINUTE)
    const scope = { tenant: 'acme', agent: 'bot', reason: 'odd' }
    overtaking.before = () => freeze(elsewhere(world), { actor: { kind: 'admin', id: 'admin' } }, scope)
    expect((await bot.poll({ thread_id: thread })).body.message).toBe('frozen: odd')
  })

  it('does not approve when a freeze has ended the thread', async () => {
    const { thread } = await voted()
    await world.admin('POST', 'freeze', { body: { tenant: 'acme', agent: 'bot', reason: 'odd' } })
    world.clock.advance(30 * MINUTE)
    expect((await bot.poll({ thread_id: thread })).body.message).toBe('frozen: odd')
  })
})

describe('a directory that lists a voter again', () => {
  it('approves a thread whose other seats were filled, and answers a held poll', async () => {
    const { thread } = await held(bot, { payload: { amount: 20_000, to: 'audit-7' } })
    expect((await people.cat.approve(thread)).body.approvals.given).toBe(1)
    await world.changePolicies(edited('directory.yaml', 'groups: [desk, audit] }', 'groups: [desk] }'))
    const { body } = await people.ann.approve(thread)
    expect([body.status, body.approvals]).toEqual(['pending_review', { given: 1, required: 2 }])
    const waiting = bot.poll({ thread_id: thread }, { headers: { prefer: 'wait=55' } })
    await world.changePolicies(DAN_OF_THE_BOARD)
    const { body: decision } = await waiting
    expect([decision.status, typeof decision.approval_token]).toEqual(['approved', 'string'])
  })
})
