// @store each
import { beforeAll, describe, expect, it } from 'vitest'
import type { LastApproved, Precedents } from '../../../src/contract/precedents.ts'
import { agentWorld, ann, bot, world } from '../../agent-world.ts'
import { approved, held, MINUTE, type Reviewer, type SignedIn } from '../../gateway-fixture.ts'

/** Earlier calls that a reviewer compares with a call, through indexes, and the votes of a reviewer. */

let page: SignedIn

agentWorld()
beforeAll(async () => {
  page = await world.signIn('ben')
})

const lastOf = async (thread: string, by: Reviewer = ann) =>
  (await by.call<LastApproved>('GET', `threads/${thread}/last-approved`)).body
const decisionsOf = async (thread: string) =>
  (await ann.call<Precedents>('GET', `threads/${thread}/precedents`)).body.decisions

describe('GET threads/{id}/last-approved', () => {
  it('200 with nothing, when no call of the agent and tool was approved', async () => {
    const { thread } = await held(bot, { tool_name: 'hold', payload: {} })
    expect(await lastOf(thread)).toEqual({})
  })

  it('200 with the difference to the last approved call, without sensitive values in a session', async () => {
    await approved(bot, ann, { payload: { amount: 200, to: 'a', secret: 'x' } })
    world.clock.advance(MINUTE)
    const last = await approved(bot, ann, { payload: { amount: 300, to: 'a', secret: 'y' } })
    const { thread } = await held(bot, { payload: { amount: 301, to: 'a', secret: 'y', pin: '1' } })
    const { call } = await lastOf(thread, page)
    expect(call).toMatchObject({ thread_id: last.thread, by: ['Ann Ash'] })
    expect(call?.fields).toEqual([
      { field: 'payload.amount', same: false, before: '300', now: '301' },
      { field: 'payload.pin', same: false, now: '1' },
      { field: 'payload.secret', hidden: true },
      { field: 'payload.to', same: true, before: 'a', now: 'a' },
    ])
    expect((await lastOf(thread)).call?.fields[2]).toMatchObject({ before: 'y', now: 'y' })
  })

  it('404 for no thread, and for one of another tenant', async () => {
    const { thread } = await held(bot)
    const zoe = await world.reviewer('zoe', 'globex')
    for (const path of [`threads/${thread}/last-approved`, `threads/${thread}/precedents`])
      expect((await zoe.call('GET', path)).status).toBe(404)
    expect((await ann.call('GET', 'threads/thr_nothing/last-approved')).status).toBe(404)
  })
})

describe('GET threads/{id}/precedents', () => {
  it('200 with the last five decisions on calls with the same rules and the same first value', async () => {
    const calls = []
    for (let i = 0; i < 7; i++) {
      const one = await held(bot, { payload: { amount: 4_444, to: `shop ${i}` } })
      const decision = i % 2 === 0 ? 'approve' : 'reject'
      await ann.vote(one.thread, { decision, revision: 1, comment: `no. ${i}` })
      calls.push(one)
      world.clock.advance(MINUTE)
    }
    const other = await held(bot, { payload: { amount: 4_445 } })
    await ann.approve(other.thread)
    const { thread } = await held(bot, { payload: { amount: 4_444 } })
    const decisions = await decisionsOf(thread)
    expect(decisions.map(({ comment }) => comment)).toEqual(['no. 6', 'no. 5', 'no. 4', 'no. 3', 'no. 2'])
    expect(decisions[0]).toMatchObject({
      thread_id: calls[6]?.thread,
      reviewer: 'ann',
      name: 'Ann Ash',
      decision: 'approve',
    })
  })
})

describe('the newer call in GET threads/{id}/precedents', () => {
  const newerOf = async (thread: string, by: Reviewer = ann) =>
    (await by.call<Precedents>('GET', `threads/${thread}/precedents`)).body.newer
  const deploy = (version: string, service = 'web') => ({ tool_name: 'hold', payload: { service, version } })

  it('200 with the value in which it differs, once it ran, and none for another subject', async () => {
    const old = await held(bot, deploy('1.4.0'))
    const other = await held(bot, deploy('1.4.0', 'api'))
    world.clock.advance(MINUTE)
    const { token, thread, task, payload } = await approved(bot, ann, deploy('1.4.1'))
    expect(await newerOf(old.thread)).toBeUndefined()
    const proof = { task_id: task, request_payload: payload, signature: token }
    expect((await bot.validate(proof)).body).toMatchObject({ valid: true })
    const wanted = { thread_id: thread, agent: 'bot', field: 'payload.version', value: '1.4.1' }
    expect(await newerOf(old.thread)).toMatchObject(wanted)
    for (const one of [other.thread, thread]) expect(await newerOf(one)).toBeUndefined()
  })
})

describe('calls that look alike in GET threads', () => {
  it('200 with the place and the value in which they differ, from shortly before the difference', async () => {
    const calls = []
    for (const end of ['first', 'second']) {
      const payload = { to: 'db', note: `${'same '.repeat(20)}${end}` }
      calls.push(await held(bot, { tool_name: 'hold', payload }, 'alike'))
    }
    const { threads } = (await ann.list({ status: 'pending_review', task_id: 'alike' })).body
    const differs = calls.map(({ thread }) => threads.find((one) => one.thread_id === thread)?.differs)
    expect(differs).toEqual([
      { field: 'payload.note', value: '…e same same first' },
      { field: 'payload.note', value: '…e same same second' },
    ])
  })
})

describe('rejections in GET threads/{id}/precedents', () => {
  const rejectionsOf = async (thread: string, by: Reviewer = ann) =>
    (await by.call<Precedents>('GET', `threads/${thread}/precedents`)).body.rejections
  const rejected = async (payload: Record<string, unknown>, tool_name = 'pay') => {
    const { thread } = await held(bot, { tool_name, payload })
    await ann.vote(thread, { decision: 'reject', revision: 1, comment: 'unknown account' })
    return thread
  }

  it('200 with the rejection of an equal call, and of one with one cent more, of any agent', async () => {
    const no = await rejected({ amount: 7_000, to: 'acct', pin: '1' })
    const other = await world.agent('other')
    const differsOf = async (payload: Record<string, unknown>) => {
      const found = await rejectionsOf((await held(other, { payload })).thread)
      return found.filter(({ thread_id }) => thread_id === no).map(({ differs }) => differs)
    }
    expect(await differsOf({ amount: 7_000, to: 'acct', pin: '1' })).toEqual([[]])
    expect(await differsOf({ amount: 7_001, to: 'acct', pin: '1' })).toEqual([['payload.amount']])
    expect(await differsOf({ amount: 7_001, to: 'acct' })).toEqual([])
    expect(await differsOf({ amount: 7_001, to: 'acct', pin: '1', secret: 's' })).toEqual([
      ['payload.amount', 'payload.secret'],
    ])
    expect(await differsOf({ amount: 7_001, to: 'else', pin: '2' })).toEqual([])
    const [first] = await rejectionsOf((await held(other, { payload: { amount: 7_000, to: 'acct' } })).thread)
    expect(first).toMatchObject({
      agent: 'bot',
      reviewer: 'ann',
      name: 'Ann Ash',
      comment: 'unknown account',
    })
  })

  it('200 without a word of whether hidden values are equal', async () => {
    const no = await rejected({ amount: 8_000, to: 'h', secret: 'x' })
    for (const secret of ['x', 'y']) {
      const { thread } = await held(bot, { payload: { amount: 8_000, to: 'h', secret } })
      const [hidden] = await rejectionsOf(thread, page)
      expect(hidden).toMatchObject({ thread_id: no, differs: [] })
      const [plain] = await rejectionsOf(thread)
      expect(plain?.differs).toEqual(secret === 'x' ? [] : ['payload.secret'])
    }
  })

  it('200 without approved calls, changes asked for, and calls that share no readable value', async () => {
    await approved(bot, ann, { payload: { amount: 9_000, to: 'fine' } })
    const { thread: asked } = await held(bot, { payload: { amount: 9_000, to: 'fine' } })
    await ann.vote(asked, { decision: 'request_changes', revision: 1, comment: 'why' })
    await rejected({ secret: 'only', amount: 9_100 })
    const { thread } = await held(bot, { payload: { amount: 9_000, to: 'fine' } })
    expect(await rejectionsOf(thread)).toEqual([])
    const one = await held(bot, { payload: { secret: 'only', amount: 9_101 } })
    expect(await rejectionsOf(one.thread, page)).toEqual([])
  })

  it('200 with a rejected command whose files differ', async () => {
    const command = (sha256: string) => ({
      amount: 1,
      command: 'sh deploy.sh',
      files: [{ path: 'deploy.sh', real: '/w/deploy.sh', sha256, size: 3 }],
    })
    const no = await rejected(command('a'.repeat(64)), 'hold')
    const { thread } = await held(bot, { tool_name: 'hold', payload: command('b'.repeat(64)) })
    expect(await rejectionsOf(thread)).toMatchObject([{ thread_id: no, differs: [] }])
  })
})

describe('GET threads?voted=me', () => {
  it('200 with the threads of the own votes, latest vote first, and what became of them', async () => {
    const cat = await world.reviewer('cat')
    const [one, two] = [await held(bot), await held(bot)]
    const vote = { decision: 'approve', revision: 1, comment: 'fine' }
    await cat.vote(two.thread, vote)
    world.clock.advance(MINUTE)
    await cat.vote(one.thread, { ...vote, decision: 'reject' })
    const { threads } = (await cat.list({ voted: 'me' })).body
    expect(threads.map(({ thread_id }) => thread_id)).toEqual([one.thread, two.thread])
    expect(threads[1]?.decided_by).toMatchObject([
      { reviewer: 'cat', name: 'Cat Cox', decision: 'approve', comment: 'fine' },
    ])
    expect(threads[1]?.used_at).toBeUndefined()
    const { body } = await bot.poll({ thread_id: two.thread })
    const proof = { approval_token: body.approval_token, tool_name: 'pay', payload: two.payload }
    await bot.validate({ thread_id: two.thread, ...proof })
    expect((await cat.list({ voted: 'me', status: 'approved' })).body.threads).toHaveLength(1)
  })
})
