// @store each
import { describe, expect, it } from 'vitest'
import { ann, bot, eachAgentWorld, world } from '../../agent-world.ts'
import {
  approved,
  type EvidenceLine,
  held,
  HOUR,
  MINUTE,
  newTask,
  Overtaking,
} from '../../gateway-fixture.ts'

/** Limits through every verb that charges, guards or takes back (docs/policy-language.md). */

const LIMITED = {
  'tools/spend.yaml': `tool: spend
description: Spend money.
risk: low
labels: [money]
input_schema:
  type: object
  additionalProperties: false
  required: [amount]
  properties:
    amount: { type: integer, minimum: 0 }
    to: { type: string }
`,
  'rules/spend.yaml': `tool: spend
rules:
  - id: spend-some
    allow: Up to 100 at once.
    when: { payload.amount: { at_most: 100 } }
  - id: spend-more
    review: More than 100 at once.
    when: { payload.amount: { over: 100 } }
limits:
  - id: spend-daily
    review: More than 300 in a day.
    risk: high
    sum: payload.amount
    at_most: 300
    within: 24h
    per: agent
  - id: spend-calls
    reject: More than 10 calls in a task.
    count: calls
    at_most: 10
    within: 1h
    per: task
  - id: spend-shadow
    mode: shadow
    reject: More than 50 to one.
    sum: payload.amount
    at_most: 50
    within: 1h
    per: payload.to
`,
}

let overtaking: Overtaking

eachAgentWorld(() => {
  const bundle = { 'directory.yaml': directory() }
  overtaking = new Overtaking()
  return { files: { ...LIMITED, ...bundle }, wrapStore: overtaking.wrapStore }
})

function directory(): string {
  return `tenants:
  acme:
    agents:
      bot:      { owners: [olga] }
      other:    { owners: [olga] }
      short:    { owners: [olga], token_ttl: 1m }
      unsigned: { owners: [olga], signed_approvals: false }
    reviewers:
      ann:  { name: Ann Ash, groups: [desk, leads, board, audit] }
      eve:  { name: Eve Elm, groups: [desk, leads, board, audit] }
      olga: { name: Olga Orr, groups: [desk, leads, board, audit] }
`
}

const spend = async (
  amount: number,
  { agent = bot, task = newTask(), to = newTask() } = {},
): Promise<string> => {
  const { body } = await agent.submit(task, { tool_name: 'spend', payload: { amount, to } })
  return body.status
}
/** The logged limits, each with its disclosed amount. */
const limitsOf = ({ record, disclosures }: EvidenceLine): unknown =>
  ((record.details?.['limits'] ?? []) as readonly { readonly id: string }[]).map((one) => ({
    amount: disclosures?.members[`amounts.${one.id}`],
    ...one,
  }))

describe('a limit', () => {
  it('allows up to the last unit, then asks for review, and starts again after the window', async () => {
    expect(await spend(100)).toBe('allow')
    expect(await spend(100)).toBe('allow')
    expect(await spend(99)).toBe('allow')
    expect(await spend(2)).toBe('pending_review')
    expect(await spend(1)).toBe('allow')
    expect(await spend(1)).toBe('pending_review')
    expect(await spend(0)).toBe('allow')
    world.clock.advance(26 * HOUR)
    expect(await spend(100)).toBe('allow')
  })

  it('supplies its own reason, risk and reviewers', async () => {
    for (let i = 0; i < 3; i++) await spend(100)
    const { thread } = await held(bot, { tool_name: 'spend', payload: { amount: 5, to: 'x' } })
    const { body } = await ann.show(thread)
    expect(body).toMatchObject({ risk: 'high', message: 'More than 300 in a day.' })
  })

  it('counts for one agent only', async () => {
    for (let i = 0; i < 3; i++) await spend(100)
    expect(await spend(1)).toBe('pending_review')
    expect(await spend(100, { agent: await world.agent('other') })).toBe('allow')
  })

  it('a limit per task counts for one agent in one task', async () => {
    const task = newTask()
    for (let i = 0; i < 10; i++) expect(await spend(1, { task })).toBe('allow')
    expect(await spend(1, { task })).toBe('reject')
    expect(await spend(1)).toBe('allow')
    expect(await spend(1, { task, agent: await world.agent('other') })).toBe('allow')
  })

  it('is never exceeded by concurrent calls', async () => {
    const amounts = Array.from({ length: 64 }, (_, i) => (i * 7) % 23)
    const answers = await Promise.all(amounts.map((amount) => spend(amount)))
    const sum = amounts.filter((_, i) => answers[i] === 'allow').reduce((a, b) => a + b, 0)
    expect(sum).toBeLessThanOrEqual(300)
    expect(sum).toBeGreaterThan(300 - 23)
    expect(new Set(answers)).toEqual(new Set(['allow', 'pending_review']))
  })

  it('survives a restart of the gateway', async () => {
    for (let i = 0; i < 3; i++) await spend(100)
    await world.restart()
    expect(await spend(1)).toBe('pending_review')
  })

  it('is recorded with the amount of each call, and with the limit that it exceeded', async () => {
    const [allowed] = await world.evidenceOf(() => spend(100, { to: 'x' }))
    expect(limitsOf(allowed as EvidenceLine)).toEqual([
      { amount: 100, id: 'spend-daily' },
      { amount: 1, id: 'spend-calls' },
      { amount: 100, id: 'spend-shadow', over: true },
    ])
    expect(allowed?.record.details).toMatchObject({ shadow: ['spend-shadow'], rules: ['spend-some'] })
    for (let i = 0; i < 2; i++) await spend(100)
    const [over] = await world.evidenceOf(() => spend(1, { to: 'y' }))
    expect(over?.record).toMatchObject({ type: 'review.pending', details: { by: ['spend-daily'] } })
    expect(limitsOf(over as EvidenceLine)).toEqual([
      { amount: 1, id: 'spend-daily', over: true },
      { amount: 1, id: 'spend-calls' },
      { amount: 1, id: 'spend-shadow' },
    ])
  })

  it('a limit in shadow mode is charged and counted, and never stops a call', async () => {
    for (let i = 0; i < 4; i++) expect(await spend(20, { to: 'same' })).toBe('allow')
    const { body } = await world.admin<{ rules: unknown }>('GET', 'policies')
    expect(JSON.stringify(body)).toContain('spend-shadow')
  })
})

describe('an approval', () => {
  const large = { tool_name: 'spend', payload: { amount: 200, to: 'x' } }

  it('is charged when it is granted, and not when it is requested', async () => {
    const { thread } = await held(bot, large)
    expect(await spend(100)).toBe('allow')
    expect(await spend(100)).toBe('allow')
    await ann.approve(thread)
    expect(await spend(1)).toBe('pending_review')
  })

  it('is charged beyond the limit, because a reviewer decided', async () => {
    for (let i = 0; i < 3; i++) await spend(100)
    const { thread } = await held(bot, large)
    await ann.approve(thread)
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('approved')
    world.clock.advance(10 * MINUTE)
    expect(await spend(1)).toBe('pending_review')
  })

  it('charges nothing when it is rejected', async () => {
    const { thread } = await held(bot, large)
    await ann.vote(thread, { decision: 'reject', revision: 1 })
    for (let i = 0; i < 3; i++) expect(await spend(100)).toBe('allow')
  })

  it('is released into its own bucket when the agent does not collect it in time', async () => {
    const { thread } = await held(bot, large)
    await ann.approve(thread)
    expect(await spend(100)).toBe('allow')
    expect(await spend(100)).toBe('pending_review')
    world.clock.advance(9 * HOUR)
    await world.due()
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('rejected')
    expect([await spend(100), await spend(100), await spend(1)]).toEqual(['allow', 'allow', 'pending_review'])
  })

  it('is released once and recorded when its token expires unredeemed', async () => {
    const short = await world.agent('short')
    const { thread } = await approved(short, ann, large)
    expect(await spend(100, { agent: short })).toBe('allow')
    expect(await spend(1, { agent: short })).toBe('pending_review')
    world.clock.advance(MINUTE)
    const lines = await world.evidenceOf(() => world.due())
    expect(lines.map(({ record }) => [record.type, record.thread_id])).toEqual([
      ['approval.released', thread],
    ])
    expect(await world.evidenceOf(() => world.due())).toEqual([])
    expect(await spend(100, { agent: short })).toBe('allow')
    expect(await spend(100, { agent: short })).toBe('allow')
    world.clock.advance(2 * HOUR)
    await world.due()
    expect(await spend(1, { agent: short })).toBe('pending_review')
  })

  it('is released once when a freeze ends it just before the timer does', async () => {
    const short = await world.agent('short')
    const { thread } = await approved(short, ann, large)
    world.clock.advance(MINUTE)
    const freeze = { tenant: 'acme', tool: 'spend', reason: 'stop' }
    overtaking.before = async () => {
      await world.admin('POST', 'freeze', { body: freeze })
      expect((await short.poll({ thread_id: thread })).body.message).toMatch(/^frozen: /)
      await world.admin('POST', 'unfreeze', { body: freeze })
    }
    await world.due()
    expect(overtaking.before).toBeUndefined()
    for (let i = 0; i < 3; i++) expect(await spend(100, { agent: short })).toBe('allow')
    expect(await spend(1, { agent: short })).toBe('pending_review')
  })

  it('is never released after its redemption', async () => {
    const { task, thread, token } = await approved(bot, ann, large)
    const body = { task_id: task, thread_id: thread, signature: token, request_payload: large.payload }
    expect((await bot.validate(body)).body).toMatchObject({ valid: true })
    world.clock.advance(HOUR)
    await world.due()
    expect(await spend(100)).toBe('allow')
    expect(await spend(1)).toBe('pending_review')
  })

  it('is released when a policy change ends it', async () => {
    const { thread } = await held(bot, large)
    await ann.approve(thread)
    await world.changePolicies({
      'rules/never.yaml':
        'tool: spend\nrules:\n  - id: never\n    reject: No 200.\n    when: { payload.amount: 200 }\n',
    })
    expect((await bot.poll({ thread_id: thread })).body.message).toMatch(/^policy_changed/)
    for (let i = 0; i < 3; i++) expect(await spend(100)).toBe('allow')
  })

  it('is released when a freeze ends it, with or without a token', async () => {
    const { thread } = await held(bot, large)
    await ann.approve(thread)
    const freeze = { tenant: 'acme', tool: 'spend', reason: 'stop' }
    await world.admin('POST', 'freeze', { body: freeze })
    await world.due()
    await world.admin('POST', 'unfreeze', { body: freeze })
    await approved(bot, ann, large)
    expect(await spend(100)).toBe('allow')
    expect(await spend(1)).toBe('pending_review')
    await world.admin('POST', 'freeze', { body: freeze })
    await world.due()
    await world.admin('POST', 'unfreeze', { body: freeze })
    expect([await spend(100), await spend(100), await spend(1)]).toEqual(['allow', 'allow', 'pending_review'])
  })

  it('an approval without a token is never released after it was read', async () => {
    const unsigned = await world.agent('unsigned')
    const freeze = { tenant: 'acme', tool: 'spend', reason: 'stop' }
    for (const read of [false, true]) {
      const { thread } = await held(unsigned, large)
      await ann.approve(thread)
      if (read) expect((await unsigned.poll({ thread_id: thread })).body.status).toBe('approved')
      await world.admin('POST', 'freeze', { body: freeze })
      await world.due()
      await world.admin('POST', 'unfreeze', { body: freeze })
      expect((await unsigned.poll({ thread_id: thread })).body.message).toMatch(/^frozen/)
    }
    expect(await spend(100, { agent: unsigned })).toBe('allow')
    expect(await spend(1, { agent: unsigned })).toBe('pending_review')
  })

  it('stays valid when the limit is full later, because it was decided and charged', async () => {
    const { task, thread, token } = await approved(bot, ann, {
      tool_name: 'spend',
      payload: { amount: 300, to: 'x' },
    })
    expect(await spend(1)).toBe('pending_review')
    const request_payload = { amount: 300, to: 'x' }
    const { body } = await bot.validate({
      task_id: task,
      thread_id: thread,
      signature: token,
      request_payload,
    })
    expect(body).toMatchObject({ valid: true })
  })

  it('charges the amount of the latest revision, checked again', async () => {
    const { task, thread } = await held(bot, large)
    const request_payload = { amount: 30, to: 'x' }
    const { status } = await bot.revise(task, thread, { tool_name: 'spend', request_payload })
    expect(status).toBe(201)
    await ann.approve(thread, 2)
    expect([await spend(100), await spend(100), await spend(70)]).toEqual(['allow', 'allow', 'allow'])
    expect(await spend(1)).toBe('pending_review')
  })

  it('ends the thread when a revision exceeds a limit that rejects', async () => {
    const task = newTask()
    const { thread } = await held(bot, large, task)
    for (let i = 0; i < 10; i++) await spend(1, { task })
    const request_payload = { amount: 30, to: 'x' }
    const { body } = await bot.revise(task, thread, { tool_name: 'spend', request_payload })
    expect(body.status).toBe('rejected')
  })
})

describe('a request under an Idempotency-Key', () => {
  it('is charged once, however often it is sent', async () => {
    const headers = { 'idempotency-key': 'k1' }
    const body = { tool_name: 'spend', payload: { amount: 100, to: 'x' } }
    const answers = await Promise.all(Array.from({ length: 8 }, () => bot.submit('idem', body, headers)))
    expect(answers.map((one) => one.body.status)).toEqual(Array.from({ length: 8 }, () => 'allow'))
    expect([await spend(100), await spend(100), await spend(1)]).toEqual(['allow', 'allow', 'pending_review'])
  })
})

describe('an idle counter of a limit', () => {
  it('is deleted after the longest possible window, and not before', async () => {
    await spend(100, { to: 'x' })
    const purges = (): Promise<readonly { member: string }[]> =>
      world.app.deps.store.range('acme', 'purge', { limit: 10 })
    for (const days of [0, 30]) {
      world.clock.advance(days * 24 * HOUR)
      await world.due()
      expect((await purges()).map(({ member }) => member.split(' ').slice(0, 2))).toEqual(
        expect.arrayContaining([['limit', 'spend-daily']]),
      )
    }
    world.clock.advance(33 * 24 * HOUR)
    await world.due()
    // the looks at ended threads and old disclosures have no end
    expect((await purges()).map(({ member }) => member)).toEqual(['threads all', 'disclosures all'])
  })
})
