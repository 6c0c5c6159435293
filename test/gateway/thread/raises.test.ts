// @store each
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { displayedDigest } from '../../../src/domain/digest.ts'
import { challengeOf } from '../../../src/domain/session.ts'
import { redeem } from '../../../src/gateway/agent/redeem.ts'
import { reissue } from '../../../src/gateway/agent/reissue.ts'
import { identify } from '../../../src/gateway/auth/identify.ts'
import { signInByLink } from '../../../src/gateway/auth/sign-in.ts'
import { signInByProvider } from '../../../src/gateway/auth/sign-in-by-provider.ts'
import type { Caller } from '../../../src/gateway/core/caller.ts'
import type { Deps } from '../../../src/gateway/core/deps.ts'
import { INDEX } from '../../../src/gateway/core/indexes.ts'
import { threadNotice } from '../../../src/gateway/core/notice.ts'
import { read } from '../../../src/gateway/core/records.ts'
import { vote } from '../../../src/gateway/review/vote.ts'
import { BUNDLE } from '../../bundle.ts'
import {
  type Agent,
  approved,
  type Approved,
  edited,
  held,
  HOUR,
  MINUTE,
  newTask,
  openWorld,
  Overtaking,
  type Reviewer,
  type World,
} from '../../gateway-fixture.ts'
import { gatewayWith, pollAt, type Snapshot, snapshotOf } from '../gateways.ts'

/** Raises against everything that may happen at the same time, and gateways with different bundles. */

const RISK = (risk: string) =>
  edited(
    'rules/pay.yaml',
    'review: More than pocket money.',
    `review: More than pocket money.\n    risk: ${risk}`,
  )
const SPEND = {
  'tools/spend.yaml': `tool: spend
description: Spend money.
risk: low
labels: [money]
input_schema:
  type: object
  required: [amount]
  properties: { amount: { type: integer, minimum: 0 } }
`,
  'rules/spend.yaml': `tool: spend
rules:
  - id: spend-more
    review: Always.
limits:
  - id: spend-daily
    review: More than 300 in a task.
    sum: payload.amount
    at_most: 300
    within: 24h
    per: task
`,
  'directory.yaml': (BUNDLE['directory.yaml'] ?? '').replace('tools: [t, pay,', 'tools: [spend, t, pay,'),
}

let world: World
let overtaking: Overtaking
let bot: Agent
let agent: Caller
let ann: Reviewer
let ben: Reviewer
let cat: Reviewer
let lax: Snapshot
let strict: Snapshot

beforeAll(async () => {
  lax = await snapshotOf(SPEND)
  strict = await snapshotOf({ ...SPEND, ...RISK('critical') })
})
beforeEach(async () => {
  overtaking = new Overtaking()
  world = await openWorld({ wrapStore: overtaking.wrapStore, files: SPEND })
  bot = await world.agent()
  agent = await identify(world.app.deps, 'agent', bot.key)
  ann = await world.reviewer('ann')
  ben = await world.reviewer('ben')
  cat = await world.reviewer('cat')
})
afterEach(() => world.close())

const at = (snapshot: Snapshot): Deps => gatewayWith(world, () => snapshot)
const callerOf = ({ key }: Reviewer): Promise<Caller> => identify(world.app.deps, 'reviewer', key)
async function approveAt(deps: Deps, who: Caller | Reviewer, thread_id: string): Promise<string> {
  const caller = 'keyHash' in who ? who : await callerOf(who)
  const cast = await vote(deps, caller, { thread_id, vote: { decision: 'approve', revision: 1 } })
  return cast.answer.status
}
const redeemAt = async (deps: Deps, { task, payload }: Approved, signature: string): Promise<boolean> =>
  (await redeem(deps, agent, { task_id: task, request_payload: payload as never, signature })).answer.valid
const threadOf = async (thread: string) => (await read(world.app.deps.store, 'acme', 'thread', thread))?.value
const statusOf = async (thread: string) => (await bot.poll({ thread_id: thread })).body.status
async function typesOf(thread = ''): Promise<string[]> {
  const own = (await world.allEvidence()).filter(({ record }) => record.thread_id === thread)
  return own.map(({ record }) => record.type)
}

describe('two gateways, of which one has the stricter bundle', () => {
  it('raise an approval at the strict one, and the other asks for no less then', async () => {
    const { thread } = await held(bot)
    expect(await approveAt(at(lax), cat, thread)).toBe('approved')
    expect((await pollAt(at(strict), agent, thread)).status).toBe('pending_review')
    expect((await pollAt(at(lax), agent, thread)).status).toBe('pending_review')
    expect(await approveAt(at(lax), ben, thread)).toBe('pending_review')
    expect(await approveAt(at(lax), ann, thread)).toBe('approved')
    const one = (await pollAt(at(strict), agent, thread)).approval_token
    expect(one).toMatch(/^cst_/)
  })

  it('never redeem at the strict one what the other handed out, and both refuse it from then on', async () => {
    const one = await approved(bot, cat)
    expect(await redeemAt(at(strict), one, one.token)).toBe(false)
    expect(await redeemAt(at(lax), one, one.token)).toBe(false)
    expect(await statusOf(one.thread)).toBe('rejected')
  })

  it('let a redemption or a raise win, never both, with reissues and polls beside them, 64 ways', async () => {
    const all = await Promise.all(Array.from({ length: 64 }, () => approved(bot, cat)))
    const tokens = new Set<string>()
    const note = (token: string | undefined): unknown => token && tokens.add(token)
    await Promise.all(
      all.map(async (one, i) => {
        const { thread } = one
        const valid: boolean[] = []
        const acts: (() => Promise<unknown>)[] = [
          async () => valid.push(await redeemAt(at(lax), one, one.token)),
          async () => expect(await redeemAt(at(strict), one, one.token)).toBe(false),
          () => reissue(at(lax), agent, thread).then(({ answer }) => note(answer.approval_token)),
          () => reissue(at(strict), agent, thread).then(({ answer }) => note(answer.approval_token)),
          () => pollAt(at(strict), agent, thread),
          () => pollAt(at(lax), agent, thread),
        ]
        const order = [...acts.slice(i % acts.length), ...acts.slice(0, i % acts.length)]
        await Promise.allSettled(order.map((act) => act()))
        const status = await pollAt(at(strict), agent, thread).then(({ status: now }) => now)
        expect([thread, status]).toEqual([thread, valid.includes(true) ? 'approved' : 'rejected'])
        for (const token of [one.token, ...tokens]) {
          expect(await redeemAt(at(lax), one, token)).toBe(false)
          expect(await redeemAt(at(strict), one, token)).toBe(false)
        }
        tokens.clear()
      }),
    )
  })

  it('let one of two polls win: a proof that the next redemption refuses, or a wait, 64 ways', async () => {
    const all = await Promise.all(Array.from({ length: 64 }, () => held(bot)))
    for (const { thread } of all) await approveAt(at(lax), cat, thread)
    await Promise.all(
      all.map(async (one, i) => {
        const both = [lax, strict].map((snapshot) => () => pollAt(at(snapshot), agent, one.thread))
        const read = await Promise.all((i % 2 === 0 ? both : both.reverse()).map((act) => act()))
        const token = read.map(({ approval_token }) => approval_token).find((found) => found !== undefined)
        if (token !== undefined)
          expect(await redeemAt(at(strict), { ...one, token }, token), one.thread).toBe(false)
        const status = (await pollAt(at(lax), agent, one.thread)).status
        expect(status).toBe(token === undefined ? 'pending_review' : 'rejected')
      }),
    )
  })
})

describe('a bundle that is raised, lowered and raised within one vote', () => {
  it('counts the vote once, and holds the thread to the stricter bundle', async () => {
    const { thread } = await held(bot)
    let now = lax
    const deps = gatewayWith(world, () => now)
    const turns = [strict, lax, strict]
    const next = (): Promise<void> => {
      now = turns.shift() ?? strict
      if (turns.length > 0) overtaking.before = next
      return Promise.resolve()
    }
    overtaking.before = next
    await approveAt(deps, cat, thread)
    expect((await pollAt(deps, agent, thread)).status).toBe('pending_review')
    const { votes = [], raised, requirement } = (await threadOf(thread)) ?? {}
    expect(votes.map(({ reviewer }) => reviewer)).toEqual(['cat'])
    expect([raised?.asks, requirement?.seats.map(({ group, approvals }) => `${group} ${approvals}`)]).toEqual(
      ['two of board', ['board 2', 'desk 1']],
    )
    const told = threadNotice('review.pending', (await threadOf(thread))!, { at: 0, sequence: 1 })
    expect(told.body.raised).toEqual({ at: '2026-03-02T12:00:00.000Z', asks: 'two of board' })
  })
})

describe('seats that change their groups', () => {
  const routed = (seats: string) =>
    snapshotOf({
      ...SPEND,
      ...edited('routing.yaml', 'low:      { group: desk,  approvals: 1,', `low:      { ${seats},`),
    })

  it('keep the seat of before beside the new one, which another person fills', async () => {
    const { thread } = await held(bot)
    const moved = at(await routed('group: board, approvals: 1'))
    expect(await approveAt(moved, cat, thread)).toBe('pending_review')
    expect((await threadOf(thread))?.requirement.seats.map(({ group }) => group)).toEqual(['board', 'desk'])
    expect(await approveAt(moved, ben, thread)).toBe('approved')
  })

  it('ask for no fewer than before when two become one', async () => {
    const { thread } = await held(bot, { payload: { amount: 60_000 } })
    const fewer = edited(
      'routing.yaml',
      'critical: { group: board, approvals: 2',
      'critical: { group: board, approvals: 1',
    )
    const deps = at(await snapshotOf({ ...SPEND, ...fewer }))
    expect(await approveAt(deps, ben, thread)).toBe('pending_review')
    expect((await threadOf(thread))?.raised).toBeUndefined()
    expect(await approveAt(deps, ann, thread)).toBe('approved')
  })

  it('count a vote by single sign-on for a group that only a later bundle asks for', async () => {
    const { thread } = await held(bot)
    const claims = { name: 'cat', groups: ['audit', 'board', 'desk', 'of no level'] }
    const identity = { issuer: 'https://id.example', subject: 'c-7', claims }
    const matching = { reviewerClaim: 'name', groupsClaim: 'groups' }
    const { deps } = world.app
    const link = await signInByProvider(deps, identity, matching, challengeOf('verifier'))
    const sso = (await signInByLink(deps, { link, verifier: 'verifier' })).caller
    expect(await approveAt(at(lax), sso, thread)).toBe('approved')
    expect((await threadOf(thread))?.votes[0]?.groups).toEqual(['board', 'desk'])
    const moved = at(await routed('group: board, approvals: 1'))
    expect((await pollAt(moved, agent, thread)).status).toBe('pending_review')
    expect(await approveAt(moved, ann, thread)).toBe('approved')
    expect((await threadOf(thread))?.approval?.seated).toEqual([['ann'], ['cat']])
  })

  it('let a reviewer whose page displayed nothing vote again, with all parts and the raise', async () => {
    const { thread } = await held(bot)
    await approveAt(at(lax), cat, thread)
    const shown = (BUNDLE['routing.yaml'] ?? '').replaceAll(/approvals: \d,/g, '$& require_displayed: true,')
    await world.changePolicies({ 'routing.yaml': shown })
    expect(await statusOf(thread)).toBe('pending_review')
    const { parts, ...known } = (await cat.show(thread)).body.display
    expect(parts[0]).toBe('raised')
    const digest = displayedDigest({ thread_id: thread, revision: 1, ...known, seen: parts })
    const body = { decision: 'approve', revision: 1, displayed: { digest, seen: parts, unseen: [] } }
    expect((await cat.approve(thread)).problem.code).toBe('displayed_required')
    expect((await cat.vote(thread, body)).body.status).toBe('approved')
    expect((await cat.show(thread)).body.decided_by).toMatchObject([{ reviewer: 'cat' }])
    expect(await statusOf(thread)).toBe('approved')
    const records = (await world.allEvidence()).map(({ record }) => record)
    expect(
      records.filter(({ type }) => type === 'review.approved').map(({ details }) => details),
    ).toMatchObject([{ voters: ['cat'] }, { voters: ['cat'] }])
  })
})

describe('a raise during an escalation by the timer', () => {
  it('asks policy first: the seat that the escalation fills does not approve the call', async () => {
    const staffed = (SPEND['directory.yaml'] ?? '').replace(
      'ben:  { name: Ben Bay, groups: [desk, board] }',
      'ben:  { name: Ben Bay, groups: [audit, board] }',
    )
    await world.changePolicies({ 'directory.yaml': staffed })
    const calls = [1, 2].map((one) => ({ payload: { amount: 20_000, to: `audit-${one}` } }))
    const threads = [await held(bot, calls[0]), await held(bot, calls[1])].map(({ thread }) => thread)
    // ben sits for the auditors, until the board may step in for the leads
    for (const thread of threads) for (const who of [ben, cat]) await who.approve(thread)
    expect(await statusOf(threads[0] ?? '')).toBe('pending_review')
    world.clock.advance(31 * MINUTE)
    expect(await statusOf(threads[0] ?? '')).toBe('approved')
    await world.changePolicies(edited('rules/pay.yaml', 'risk: high', 'risk: critical'))
    await world.due()
    expect(await typesOf(threads[1])).toEqual([
      'review.pending',
      'vote.cast',
      'vote.cast',
      'requirement.raised',
      'review.reminded',
      'review.escalated',
    ])
    world.clock.advance(HOUR)
    await world.due()
    expect(await statusOf(threads[1] ?? '')).toBe('rejected')
  })
})

describe('limits and history of an approval that waits again', () => {
  it('have the last approval only', async () => {
    const task = newTask()
    const { thread } = await held(bot, { tool_name: 'spend', payload: { amount: 250 } }, task)
    const { store } = world.app.deps
    const limit = (await threadOf(thread))?.charges?.[0]?.limit ?? ''
    const charged = (): Promise<number> => store.charged('acme', limit, 24 * HOUR)
    const rules = SPEND['rules/spend.yaml'].replace('review: Always.', 'review: Always.\n    risk: critical')
    await cat.approve(thread)
    expect(await charged()).toBe(250)
    await world.changePolicies({ 'rules/spend.yaml': rules })
    expect([await statusOf(thread), await charged()]).toEqual(['pending_review', 0])
    world.clock.advance(2 * MINUTE)
    await ann.approve(thread)
    await ben.approve(thread)
    expect([await statusOf(thread), await charged()]).toEqual(['approved', 250])
    const noted = await store.range('acme', INDEX.taskHistory('bot', task), { limit: 10 })
    expect(noted.map(({ member, score }) => [member, score - world.clock.now])).toEqual([
      ['l money', 0],
      ['t spend', 0],
    ])
  })
})

describe('a rejection that takes an approval back', () => {
  const reject = { decision: 'reject', revision: 1, comment: 'no' }

  it('ends the call whether the poll was before or after, 64 ways', async () => {
    const all = await Promise.all(Array.from({ length: 64 }, () => held(bot)))
    for (const { thread } of all) await approveAt(at(lax), cat, thread)
    await Promise.all(
      all.map(async ({ task, thread, payload }, i) => {
        const acts = [() => ann.vote(thread, reject), () => bot.poll({ thread_id: thread })]
        const answers = await Promise.all((i % 2 === 0 ? acts : acts.reverse()).map((act) => act()))
        expect(answers.map(({ status }) => status)).toEqual([200, 200])
        const token = answers.map(({ body }) => ('approval_token' in body ? body.approval_token : undefined))
        const signature = token.find((one) => one !== undefined) ?? 'cst_none'
        const proof = { task_id: task, signature, request_payload: payload }
        expect((await bot.validate(proof)).body.valid).toBe(false)
        expect(await statusOf(thread)).toBe('rejected')
      }),
    )
  })

  it('or the read of an approval without a proof wins, never both, 64 ways', async () => {
    const unsigned = await world.agent('unsigned')
    const all = await Promise.all(Array.from({ length: 64 }, () => held(unsigned)))
    for (const { thread } of all) await approveAt(at(lax), cat, thread)
    await Promise.all(
      all.map(async ({ thread }) => {
        const polling = unsigned.poll({ thread_id: thread })
        const [back, polled] = await Promise.all([ann.vote(thread, reject), polling])
        expect([back.status, polled.body.status]).toEqual(
          back.status === 200 ? [200, 'rejected'] : [409, 'approved'],
        )
      }),
    )
  })

  it('is refused when the approval expires before its commit', async () => {
    const { thread } = await held(bot)
    await cat.approve(thread)
    overtaking.before = () => {
      world.clock.advance(9 * HOUR)
      return Promise.resolve()
    }
    const { status, problem } = await cat.vote(thread, reject)
    expect([status, problem.detail]).toEqual([409, 'the thread is expired'])
    expect((await bot.poll({ thread_id: thread })).body.message).toContain('expired')
  })

  it('ends a proof that has expired', async () => {
    const short = await world.agent('short')
    const { thread } = await approved(short, cat)
    world.clock.advance(2 * MINUTE)
    await world.due()
    expect((await ann.vote(thread, reject)).body.status).toBe('rejected')
    expect((await short.poll({ thread_id: thread })).body.status).toBe('rejected')
  })
})
