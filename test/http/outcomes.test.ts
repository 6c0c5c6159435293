// @store each
import { beforeAll, describe, expect, it } from 'vitest'
import type { OutcomeList, RecordedOutcome } from '../../src/contract/agent.ts'
import type { UnreportedList } from '../../src/contract/reviewer.ts'
import { census } from '../../src/gateway/jobs/backlog.ts'
import { runDue } from '../../src/gateway/jobs/scheduler.ts'
import { fileWorld, world } from '../agent-world.ts'
import { type Agent, type Answer, MINUTE, newTask, type Reviewer } from '../gateway-fixture.ts'

/** How calls ended (docs/agent-api.md). `World.close` replays all evidence by its laws. */

const TOOL = (name: string, more = '') => `tool: ${name}
description: A tool whose calls end.
risk: low
${more}input_schema: { type: object }
`
const EXPECTED = 'outcome: expected within 10m\n'
const FILES = {
  'tools/free.yaml': TOOL('free'),
  'tools/send.yaml': TOOL('send', EXPECTED),
  'tools/secret.yaml': TOOL('secret', `${EXPECTED}sensitive: [payload.pin]\n`).replace(
    '{ type: object }',
    '{ type: object, properties: { pin: { type: string, maxLength: 9 } } }',
  ),
  'tools/wire.yaml': TOOL('wire', EXPECTED),
  'rules/ends.yaml': `tools: [free, send, secret]
rules:
  - { id: ends, allow: Routine. }
`,
  'rules/wire.yaml': `tool: wire
rules:
  - { id: wire, review: People look at it. }
`,
}
const HASH = 'ab'.repeat(32)
const OTHER = 'cd'.repeat(32)

let bot: Agent
let ann: Reviewer

fileWorld({ files: FILES })
beforeAll(async () => {
  bot = await world.agent('other')
  ann = await world.reviewer('ann')
})

const end = (task: string, body: object): Promise<Answer<RecordedOutcome>> =>
  bot.call('POST', `tasks/${task}/outcomes`, { body: { action_hash: HASH, outcome: 'executed', ...body } })
const known = async (task: string, query = `action_hash=${HASH}`): Promise<Answer<OutcomeList>> =>
  bot.call('GET', `tasks/${task}/outcomes?${query}`)
const unreported = async (): Promise<UnreportedList> =>
  (await ann.call<UnreportedList>('GET', 'unreported-calls')).body

async function allowed(tool_name: string, task = newTask()): Promise<string> {
  const { body } = await bot.submit(task, { tool_name, payload: { pin: '1' }, action_hash: HASH })
  expect(body.status).toBe('allow')
  return task
}

async function redeemed(): Promise<{ readonly task: string; readonly thread_id: string }> {
  const task = newTask()
  const payload = { n: 1 }
  const { thread_id = '' } = (await bot.submit(task, { tool_name: 'wire', payload, action_hash: HASH })).body
  await ann.approve(thread_id)
  const { approval_token: signature } = (await bot.poll({ thread_id })).body
  const proof = { task_id: task, signature, request_payload: payload, thread_id, action_hash: HASH }
  expect((await bot.validate(proof)).body.valid).toBe(true)
  return { task, thread_id }
}

describe('POST outcomes', () => {
  it('201 names the record that allowed the call; the same report again is 200, another 409', async () => {
    const task = await allowed('send')
    const number = (await world.evidence()).at(-1)?.number
    const said = { duration_ms: 12, reference: 'tr_1' }
    const records = await world.evidenceOf(async () => {
      const { status, body } = await end(task, said)
      expect([status, body.allowed_by, body.run]).toEqual([201, number, '1'])
      expect((await end(task, said)).status).toBe(200)
      expect((await end(task, { ...said, reference: 'tr_2' })).problem.code).toBe('outcome_recorded')
    })
    expect(records.map(({ record }) => record)).toMatchObject([
      {
        type: 'call.ended',
        tool: 'send',
        details: { of: number, outcome: 'executed', duration_ms: 12, run: '1' },
      },
    ])
    expect(records[0]?.disclosures?.members).toEqual({ action_hash: HASH, reference: 'tr_1' })
    expect((await known(task)).body).toMatchObject({
      allowed: 1,
      outcomes: [{ run: '1', allowed_by: number }],
    })
  })

  it('201 for each of n equal calls, 404 for one more', async () => {
    const task = await allowed('send')
    await allowed('send', task)
    const first = (await end(task, { run: 'a' })).body
    const second = (await end(task, { run: 'b', outcome: 'failed' })).body
    expect(second.allowed_by).toBeGreaterThan(first.allowed_by ?? Infinity)
    expect((await end(task, { run: 'c' })).status).toBe(404)
    expect((await known(task)).body.outcomes.map(({ outcome }) => outcome)).toEqual(['executed', 'failed'])
  })

  it('201 for a redeemed thread, once; 404 before the redemption, and for another hash, task or agent', async () => {
    const { task, thread_id } = await redeemed()
    expect((await end(task, { thread_id, action_hash: OTHER })).status).toBe(404)
    expect((await end(newTask(), { thread_id })).status).toBe(404)
    const stranger = await world.agent('unsigned')
    const body = { action_hash: HASH, thread_id, outcome: 'executed' }
    expect((await stranger.call('POST', `tasks/${task}/outcomes`, { body })).status).toBe(404)
    const record = (await world.evidence()).findLast((one) => one.record.type === 'token.redeemed')
    expect((await end(task, { thread_id })).body).toMatchObject({ thread_id, allowed_by: record?.number })
    expect((await end(task, { thread_id, run: '2' })).status).toBe(404)
    const waits = newTask()
    const held = (await bot.submit(waits, { tool_name: 'wire', action_hash: HASH })).body.thread_id ?? ''
    expect((await end(waits, { thread_id: held })).status).toBe(404)
    await bot.withdraw(held)
  })

  it('201 unmatched without an entry, also for a call that was never proposed', async () => {
    const task = await allowed('free')
    const records = await world.evidenceOf(async () => {
      expect((await end(task, { outcome: 'not_run' })).body.allowed_by).toBeUndefined()
    })
    expect(records[0]?.record).toMatchObject({ details: { unmatched: true, outcome: 'not_run' } })
    expect((await known(task)).body).toEqual({ action_hash: HASH, allowed: 0, outcomes: [] })
  })

  it('201 keeps the hash of a sensitive call out of evidence', async () => {
    const task = await allowed('secret')
    const records = await world.evidenceOf(() => end(task, { reference: 'tr_9' }))
    expect(records[0]?.disclosures?.members).toEqual({ reference: 'tr_9' })
  })

  it('400 without a hash, with another outcome, and with a long run', async () => {
    const task = newTask()
    for (const wrong of [{ action_hash: undefined }, { outcome: 'ok' }, { run: 'x'.repeat(65) }, { more: 1 }])
      expect((await end(task, wrong)).status, JSON.stringify(wrong)).toBe(400)
    expect((await known(task, '')).status).toBe(400)
  })
})

describe('GET unreported-calls', () => {
  it('200 lists a call and a thread whose outcome is late, until the outcome arrives', async () => {
    const task = await allowed('send')
    const { task: other, thread_id } = await redeemed()
    await bot.submit(newTask(), { tool_name: 'send' })
    world.clock.advance(11 * MINUTE)
    await runDue(world.app.deps)
    const { calls, count } = await unreported()
    expect(count).toBe(3)
    const named = calls.map((one) => one.thread_id ?? one.action_hash)
    expect(new Set(named)).toEqual(new Set([thread_id, HASH, undefined]))
    expect((await census(world.app.deps)).unreported).toBe(3)
    await end(task, {})
    await end(other, { thread_id })
    expect((await unreported()).calls).toMatchObject([{ tool_name: 'send', agent: 'other' }])
  })

  it('200 forgets the entry of a late call with its retention, and of a reported call when it is due', async () => {
    const { store } = world.app.deps
    const task = await allowed('send')
    await end(task, {})
    expect(await store.get('acme', 'call', `other/${task}/${HASH}`)).toBeDefined()
    world.clock.advance(11 * MINUTE)
    await runDue(world.app.deps)
    expect(await store.get('acme', 'call', `other/${task}/${HASH}`)).toBeUndefined()
    world.clock.advance(31 * 24 * 60 * MINUTE)
    await world.due()
    expect((await unreported()).count).toBe(0)
    expect((await end(task, {})).body.allowed_by).toBeUndefined()
  })
})
