// @store each, in the soak
import { describe, expect, it } from 'vitest'
import { ann, bot, eachAgentWorld, world } from '../../agent-world.ts'
import { held, HOUR, newTask } from '../../gateway-fixture.ts'

/**
 * task.tools, task.labels, agent.tools and agent.labels: earlier allowed calls of a task and an agent
 * (docs/policy-language.md).
 */

const contract = (tool: string, labels: string): string =>
  `tool: ${tool}\ndescription: A tool.\nrisk: low\nlabels: [${labels}]\ninput_schema: { type: object }\n`
const files = {
  'tools/fetch.yaml': contract('fetch', 'untrusted'),
  'tools/peek.yaml': contract('peek', 'untrusted'),
  'tools/send.yaml': contract('send', 'outbound'),
  'tools/wipe.yaml': contract('wipe', ''),
  'rules/history.yaml': `tools: [fetch, send, wipe, peek]
rules:
  - id: fetch-open
    allow: Reading is fine.
    when: { tool.name: fetch }
  - id: peek-asks
    review: People look before peeking.
    when: { tool.name: peek }
  - id: send-open
    allow: Sending is fine.
    when: { tool.name: send }
  - id: untrusted-then-outbound
    review: This task has read untrusted content and now sends data out.
    when: { tool.name: send, task.labels: { some: untrusted } }
  - id: wipe-after-fetch
    allow: Wiping is fine unless this agent has fetched today.
    when: { tool.name: wipe, agent.tools: { none: fetch } }
  - id: wipe-first
    allow: Nothing was done yet.
    when: { tool.name: wipe, agent.tools: { count: 0 } }
`,
  'directory.yaml': `tenants:
  acme:
    agents:
      bot:   { owners: [olga] }
      other: { owners: [olga] }
    reviewers:
      ann:  { name: Ann Ash, groups: [desk, leads, board] }
      eve:  { name: Eve Elm, groups: [desk, leads, board, audit] }
      olga: { name: Olga Orr, groups: [desk, leads, board, audit] }
`,
}

const NO_PEEKING_AFTER_READING = {
  'rules/tainted.yaml': `tool: peek
rules:
  - id: peek-clean
    reject: Not after reading.
    when: { task.tools: { some: fetch } }
`,
}

eachAgentWorld({ files })

const run = async (tool_name: string, task: string, agent = bot): Promise<string> =>
  (await agent.submit(task, { tool_name })).body.status

describe('the history of a task', () => {
  it('contains the labels of earlier allowed calls, in this task only', async () => {
    const task = newTask()
    expect(await run('send', task)).toBe('allow')
    expect(await run('fetch', task)).toBe('allow')
    expect(await run('send', task)).toBe('pending_review')
    expect(await run('send', newTask())).toBe('allow')
    expect(await run('send', task, await world.agent('other'))).toBe('allow')
  })

  it('contains an approved call, from the approval on', async () => {
    const task = newTask()
    const { thread } = await held(bot, { tool_name: 'peek', payload: {} }, task)
    expect(await run('send', task)).toBe('allow')
    await ann.approve(thread)
    expect(await run('send', task)).toBe('pending_review')
  })

  it('is kept for its retention, and then forgotten', async () => {
    const [kept, forgotten] = [newTask(), newTask()]
    await run('fetch', forgotten)
    world.clock.advance(12 * 24 * HOUR)
    await run('fetch', kept)
    world.clock.advance(89 * 24 * HOUR)
    await world.due()
    expect([await run('send', kept), await run('send', forgotten)]).toEqual(['pending_review', 'allow'])
  })

  it('survives a restart', async () => {
    const task = newTask()
    await run('fetch', task)
    await world.restart()
    expect(await run('send', task)).toBe('pending_review')
  })

  it('applies a label that the contract got later to earlier calls', async () => {
    const task = newTask()
    await run('wipe', task)
    await world.changePolicies({ 'tools/wipe.yaml': contract('wipe', 'untrusted') })
    expect(await run('send', task)).toBe('pending_review')
  })

  it('keeps a label that the contract has lost', async () => {
    const task = newTask()
    await run('fetch', task)
    await world.changePolicies({ 'tools/fetch.yaml': contract('fetch', '') })
    expect(await run('send', task)).toBe('pending_review')
  })

  it('omits rejected calls', async () => {
    const task = newTask()
    await run('fetch', task)
    expect(await run('wipe', task)).toBe('reject')
    const [line] = await world.evidenceOf(() => run('send', task))
    expect(line?.record.details).toMatchObject({ by: ['untrusted-then-outbound'] })
    expect(line?.disclosures?.members).toMatchObject({ 'reads.task.labels': ['untrusted'] })
  })

  it('lets sixty-four concurrent calls all succeed', async () => {
    const task = newTask()
    const answers = await Promise.all(Array.from({ length: 64 }, () => run('fetch', task)))
    expect(new Set(answers)).toEqual(new Set(['allow']))
  })
})

describe('the history of an agent', () => {
  it('follows the agent from task to task, for a day', async () => {
    expect(await run('wipe', newTask())).toBe('allow')
    await run('fetch', newTask())
    expect(await run('wipe', newTask())).toBe('reject')
    expect(await run('wipe', newTask(), await world.agent('other'))).toBe('allow')
    world.clock.advance(23 * HOUR)
    expect(await run('wipe', newTask())).toBe('reject')
    world.clock.advance(2 * HOUR)
    expect(await run('wipe', newTask())).toBe('allow')
  })

  it('is renewed by every call', async () => {
    await run('fetch', newTask())
    world.clock.advance(20 * HOUR)
    await run('fetch', newTask())
    world.clock.advance(20 * HOUR)
    expect(await run('wipe', newTask())).toBe('reject')
  })
})

describe('a revision', () => {
  it("is judged with the task's calls since it was held", async () => {
    await world.changePolicies(NO_PEEKING_AFTER_READING)
    const task = newTask()
    const { thread } = await held(bot, { tool_name: 'peek', payload: {} }, task)
    const revise = async (revision_id: string): Promise<string | undefined> => {
      const revision = { revision_id, tool_name: 'peek', request_payload: {} }
      return (await bot.revise(task, thread, revision)).body.status
    }
    expect(await revise('r1')).toBe('pending_review')
    expect(await run('fetch', task)).toBe('allow')
    expect(await revise('r2')).toBe('rejected')
  })
})

describe('an approval', () => {
  it('is judged again with the current history, without counting itself', async () => {
    await world.changePolicies({
      'rules/once.yaml':
        'tool: peek\nrules:\n  - id: peek-once\n    reject: Once in a task.\n    when: { task.tools: { some: peek } }\n',
    })
    const task = newTask()
    const { thread } = await held(bot, { tool_name: 'peek', payload: {} }, task)
    await ann.approve(thread)
    const { body } = await bot.poll({ thread_id: thread })
    expect(body.status).toBe('approved')
    const redeem = { task_id: task, thread_id: thread, signature: body.approval_token, request_payload: {} }
    expect((await bot.validate(redeem)).body).toMatchObject({ valid: true })
    expect(await run('peek', task)).toBe('reject')
  })

  it('ends when policy now rejects the earlier history, even if no rule read it before', async () => {
    const [clean, tainted] = [newTask(), newTask()]
    expect(await run('fetch', tainted)).toBe('allow')
    const threads = []
    for (const task of [clean, tainted]) {
      const { thread } = await held(bot, { tool_name: 'peek', payload: {} }, task)
      await ann.approve(thread)
      threads.push(thread)
    }
    await world.changePolicies(NO_PEEKING_AFTER_READING)
    const answers = await Promise.all(threads.map((thread_id) => bot.poll({ thread_id })))
    expect(answers.map(({ body }) => body.status)).toEqual(['approved', 'rejected'])
    expect(answers[1]?.body.message).toMatch(/^policy_changed: /)
  })
})
