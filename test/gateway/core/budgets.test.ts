// @store each, in the soak
import { afterEach, describe, expect, it } from 'vitest'
import { BUNDLE } from '../../bundle.ts'
import {
  type Given,
  type Answer,
  call,
  HOUR,
  MINUTE,
  newTask,
  openWorld,
  overriding,
  type World,
} from '../../gateway-fixture.ts'

let world: World
afterEach(() => world.close())

const open = async (config: Given = {}, budgets: readonly string[] = []): Promise<World> => {
  const lines = budgets.length === 0 ? [] : ['budgets:', ...budgets.map((line) => `  ${line}`), '']
  world = await openWorld({ config, files: { 'routing.yaml': BUNDLE['routing.yaml'] + lines.join('\n') } })
  return world
}

const HOLD = { tool_name: 'hold', payload: {} }

function expectSpent({ status, problem, headers }: Answer<unknown>, budget: string): void {
  expect(status).toBe(429)
  expect(problem).toMatchObject({ code: 'over_budget', budget })
  expect(problem.detail).toContain(budget)
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
}

const refusals = async (budget: string): Promise<number> => {
  const { text } = await metrics()
  const line = new RegExp(`^countersign_budget_refusals_total\\{budget="${budget}"\\} (\\d+)`, 'm')
  return Number(line.exec(text)?.[1])
}
const metrics = async (): Promise<{ text: string }> => {
  const response = await fetch(world.app.metricsUrl)
  return { text: await response.text() }
}

describe('the budgets', () => {
  it('429 of waiting threads: one agent never exceeds its number, even when calls race', async () => {
    await open({}, ['waiting_per_agent: 10'])
    const [bot, other] = [await world.agent(), await world.agent('other')]
    const answers = await Promise.all(Array.from({ length: 40 }, () => bot.submit(newTask(), HOLD)))
    expect(answers.filter(({ body }) => body.status === 'pending_review')).toHaveLength(10)
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused).toHaveLength(30)
    for (const one of refused) expectSpent(one, 'waiting_per_agent')
    expect(await refusals('waiting_per_agent')).toBe(30)
    expect((await other.submit(newTask(), HOLD)).status).toBe(200)
    expect((await bot.submit(newTask(), { tool_name: 't' })).body.status).toBe('allow')
  })

  it('the budget of waiting threads does not count decided, revised or expired threads', async () => {
    await open({}, ['waiting_per_agent: 2'])
    const [bot, ann] = [await world.agent(), await world.reviewer('ann')]
    const held = async (): Promise<string> => (await bot.submit(newTask(), HOLD)).body.thread_id ?? ''
    const task = newTask()
    const first = (await bot.submit(task, HOLD)).body.thread_id ?? ''
    const second = await held()
    await ann.vote(first, { decision: 'request_changes', revision: 1, comment: 'no' })
    expectSpent(await bot.submit(newTask(), HOLD), 'waiting_per_agent')
    const revised = await bot.revise(task, first, { tool_name: 'hold', request_payload: {} })
    expect(revised.status).toBe(201)
    expectSpent(await bot.submit(newTask(), HOLD), 'waiting_per_agent')
    expect((await ann.approve(second)).status).toBe(200)
    await held()
    expectSpent(await bot.submit(newTask(), HOLD), 'waiting_per_agent')
    world.clock.advance(9 * HOUR)
    await world.due()
    await held()
    await held()
    expectSpent(await bot.submit(newTask(), HOLD), 'waiting_per_agent')
  })

  it('429 of waiting threads of a tenant, without an effect on another tenant', async () => {
    await open({ budgetWaitingPerTenant: 3 })
    const bots = [await world.agent('bot'), await world.agent('other')]
    const all = await Promise.all(
      [...bots, ...bots, ...bots, ...bots].map((bot) => bot.submit(newTask(), HOLD)),
    )
    expect(all.filter((one) => one.status === 200)).toHaveLength(3)
    const foreign = await world.agent('bot', 'globex')
    expect((await foreign.submit(newTask(), HOLD)).status).toBe(200)
  })

  it('429 of bytes for proposals, events and refused proofs, but not for votes, comments and redemptions', async () => {
    await open({ budgetBytesPerDay: 80_000 })
    const [bot, ann] = [await world.agent(), await world.reviewer('ann')]
    const task = newTask()
    const thread_id = (await bot.submit(task, HOLD)).body.thread_id ?? ''
    const big = { event_type: 'note', event_summary: 'x', payload: { text: 'x'.repeat(20_000) } }
    let last = await bot.event(task, big)
    for (let i = 0; i < 10 && last.status === 201; i++) last = await bot.event(task, big)
    expectSpent(last, 'bytes_per_day')
    // a smaller write than an event may still fit
    let proposal = await bot.submit(newTask(), HOLD)
    for (let i = 0; i < 100 && proposal.status === 200; i++) proposal = await bot.submit(newTask(), HOLD)
    expectSpent(proposal, 'bytes_per_day')
    // another agent has its share of the rest, and people have a budget of their own
    const other = await world.agent('other')
    expect((await other.submit(newTask(), HOLD)).status).toBe(200)
    const comment = (text: string): Promise<Answer<unknown>> =>
      ann.call('POST', `threads/${thread_id}/comments`, { body: { comment: text } })
    expect((await comment('x'.repeat(4_000))).status).toBe(201)
    expect((await ann.call('POST', `threads/${thread_id}/claim`, { body: {} })).status).toBeLessThan(300)
    expect((await ann.approve(thread_id)).status).toBe(200)
    const { approval_token: signature } = (await bot.poll({ thread_id })).body
    expect((await bot.validate({ task_id: task, signature, request_payload: {} })).body).toEqual({
      valid: true,
    })
    world.clock.advance(26 * HOUR)
    expect((await bot.event(task, big)).status).toBe(201)
  })

  it('429 of bytes for comments of one reviewer, with room for another', async () => {
    await open({ budgetBytesPerDay: 80_000 })
    const [bot, ann, ben] = [await world.agent(), await world.reviewer('ann'), await world.reviewer('ben')]
    const thread_id = (await bot.submit(newTask(), HOLD)).body.thread_id ?? ''
    const say = (who: typeof ann, text: string): Promise<Answer<unknown>> =>
      who.call('POST', `threads/${thread_id}/comments`, { body: { comment: text } })
    let said = await say(ann, 'first')
    for (let i = 0; i < 40 && said.status < 300; i++) said = await say(ann, `${i}${'x'.repeat(3_900)}`)
    expectSpent(said, 'bytes_per_day')
    expect((await say(ben, 'short')).status).toBe(201)
  })

  it('429 of idempotency records, but not for a replay and not for another agent', async () => {
    await open({ budgetIdempotencyRecords: 5 })
    const bot = await world.agent()
    const task = newTask()
    const submit = (key: string): Promise<Answer<unknown>> =>
      bot.submit(task, { tool_name: 't' }, { 'idempotency-key': key })
    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => submit(`k${i}`)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3)
    expectSpent(answers.find(({ status }) => status !== 200) as Answer<unknown>, 'idempotency_records')
    const kept = answers.findIndex(({ status }) => status === 200)
    expect((await submit(`k${kept}`)).headers.get('idempotent-replayed')).toBe('true')
    const other = await world.agent('other')
    expect((await other.submit(task, { tool_name: 't' }, { 'idempotency-key': 'k' })).status).toBe(200)
    expect((await bot.submit(task, { tool_name: 't' })).status).toBe(200)
    world.clock.advance(26 * HOUR)
    expect((await submit('another')).status).toBe(200)
  })

  it('429 of sessions of one reviewer; an ended session makes room, and the link stays valid', async () => {
    await open({}, ['sessions_per_reviewer: 2'])
    const first = await world.signIn('ann')
    await world.signIn('ann')
    const link = await world.link('ann')
    expectSpent(await world.openSession(link), 'sessions_per_reviewer')
    expect((await world.signIn('ben')).key).not.toBe('')
    expect((await first.call('DELETE', 'session')).status).toBe(204)
    expect((await world.openSession(link)).status).toBe(200)
    world.clock.advance(31 * MINUTE)
    await world.due()
    await world.signIn('ann')
  })

  it('budgets in a bundle never exceed those of the settings', async () => {
    await open({ budgetWaitingPerAgent: 1 }, ['waiting_per_agent: 50'])
    const bot = await world.agent()
    expect((await bot.submit(newTask(), HOLD)).status).toBe(200)
    expectSpent(await bot.submit(newTask(), HOLD), 'waiting_per_agent')
  })
})

describe('a disk that is nearly full', () => {
  it('503 for new calls and revisions, but votes, redemptions and evidence of waiting threads still work', async () => {
    let short: string | undefined
    world = await openWorld({ wrapStore: (store) => overriding(store, { shortOfRoom: () => short }) })
    const [bot, ann] = [await world.agent(), await world.reviewer('ann')]
    const task = newTask()
    const headers = { 'idempotency-key': 'k' }
    const { thread_id = '' } = (await bot.submit(task, HOLD, headers)).body
    short = 'the disk is nearly full'
    const refused = await bot.submit(newTask(), { tool_name: 't' })
    expect([refused.status, refused.problem.code]).toEqual([503, 'store_unavailable'])
    expect(refused.problem.detail).toContain('refuses new calls')
    expect((await bot.submit(task, HOLD, headers)).body.thread_id).toBe(thread_id)
    expect((await bot.revise(task, thread_id, { tool_name: 'hold', request_payload: {} })).status).toBe(503)
    const note = { event_type: 'note', event_summary: 'x' }
    expect((await bot.event(newTask(), note)).status).toBe(503)
    expect((await bot.event(task, note)).status).toBe(201)
    expect((await ann.approve(thread_id)).status).toBe(200)
    const { approval_token: signature } = (await bot.poll({ thread_id })).body
    expect((await bot.validate({ task_id: task, signature, request_payload: {} })).body.valid).toBe(true)
    expect(await refusals('disk')).toBe(3)
    const ready = await call<{ store: string }>(`${world.url}/readyz`, 'GET')
    expect([ready.status, ready.body.store]).toEqual([200, expect.stringContaining('nearly full')])
    short = undefined
    expect((await bot.submit(newTask(), { tool_name: 't' })).status).toBe(200)
  })
})
