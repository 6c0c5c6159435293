import { beforeAll, describe, expect, it } from 'vitest'
import { fileWorld, world } from '../agent-world.ts'
import { type Agent, type Approved, approved, HASH, type Held, held } from '../gateway-fixture.ts'

/**
 * Sends every member of every body of the agent API with every kind of wrong value. The gateway refuses it at its
 * place, and changes nothing.
 */

let bot: Agent
let waiting: Held
let proof: Approved

fileWorld()
beforeAll(async () => {
  bot = await world.agent()
  waiting = await held(bot)
  proof = await approved(bot, await world.reviewer('ann'))
})

const NO_TEXT = [null, 0, true, [], {}, ['x']]
const NO_LIST = [null, 'x', 0, false, {}, { 0: 'x', length: 1 }, [null], [1], [[]], [{}]]
const NO_OBJECT = [null, 'x', '{}', 0, false, [], [{}]]
const NO_RISK = [null, '', 'LOW', ' low', 'low ', 'none', 'toString', 0, ['low'], 'critical\u0001']
const HASHES = ['', HASH.slice(1), `${HASH}a`, ` ${HASH}`, `${HASH}\n`, `${HASH}\u0001`, HASH.toUpperCase()]
const NO_HASH = [...NO_TEXT, ...HASHES, `0x${HASH.slice(2)}`, `${HASH.slice(1)}\u0430`, [HASH]]
const NO_TOOL = [...NO_TEXT, '', ' t', 't ', 't\n', 't\u007f', 't\u0001', '\u0442', 't'.repeat(129)]

type Values = Readonly<Record<string, readonly unknown[]>>

const CLAIMS: Values = {
  workflow_name: NO_TEXT,
  task_label: NO_TEXT,
  preview: NO_TEXT,
  risk_level: NO_RISK,
  summary: [...NO_LIST, Array(101).fill('x')],
}
const PROPOSAL: Values = {
  ...CLAIMS,
  subject: NO_TEXT,
  tool_name: NO_TOOL,
  payload: NO_OBJECT,
  action_hash: NO_HASH,
  images: [...NO_LIST, Array(17).fill('x')],
  task_id: ['t'],
  Payload: [{}],
  constructor: [1],
  '': [1],
}
const EVENT: Values = {
  event_type: [...NO_TEXT, '', 'x\n', 'x\u007f', 'x'.repeat(257), 'revision.', 'revision.t', 'revision.t.'],
  event_summary: NO_TEXT,
  payload: NO_OBJECT,
  images: [...NO_LIST, Array(17).fill('x')],
  thread_id: ['x'],
  toString: ['x'],
}
const REVISION: Values = {
  ...CLAIMS,
  revision_id: [...NO_TEXT, '', 'r'.repeat(129)],
  tool_name: [...NO_TOOL, 't'],
  subject: NO_TEXT,
  request_payload: NO_OBJECT,
  action_hash: [...NO_HASH, HASH],
}

const rows = (values: Values): (readonly [string, unknown])[] =>
  Object.entries(values).flatMap(([member, all]) => all.map((value) => [member, value] as const))

/** The codes and places of the answers that are no refusal at `prefix/member`. */
async function faults(
  values: Values,
  prefix: string,
  send: (member: Record<string, unknown>) => ReturnType<Agent['call']>,
): Promise<string[]> {
  const wrong: string[] = []
  for (const [member, value] of rows(values)) {
    const { status, problem } = await send(Object.fromEntries([[member, value]]))
    const atPlace = (problem.errors ?? []).some(({ pointer }) => pointer.startsWith(`${prefix}/${member}`))
    const fits = status === 400 && (atPlace || problem.code === 'invalid_revision')
    if (!fits) wrong.push(`${member} ${JSON.stringify(value)}: ${status} ${JSON.stringify(problem)}`)
  }
  return wrong
}

describe('members with the wrong type', () => {
  it('400 with the place for each member of a proposal', async () => {
    const before = (await world.allEvidence()).length
    expect(
      await faults(PROPOSAL, '', (member) =>
        bot.call('POST', 'tasks/t/requests', { body: { tool_name: 't', ...member } }),
      ),
    ).toEqual([])
    expect((await world.allEvidence()).length).toBe(before)
  })

  it('400 with the place for each member of an event', async () => {
    const event = { event_type: 'x', event_summary: 's' }
    expect(
      await faults(EVENT, '', (member) =>
        bot.call('POST', 'tasks/t/events', { body: { ...event, ...member } }),
      ),
    ).toEqual([])
  })

  it('400 with the place for each member of a revision, and the thread is unchanged', async () => {
    const before = (await world.allEvidence()).length
    expect(
      await faults(REVISION, '/payload/revision', (member) =>
        bot.revise(waiting.task, waiting.thread, { request_payload: { amount: 600 }, ...member }),
      ),
    ).toEqual([])
    for (const revision of [null, [], 'x', 0, [{}]]) {
      const { status } = await bot.event(waiting.task, {
        event_type: `revision.${waiting.task}.${waiting.thread}`,
        event_summary: 's',
        payload: { revision },
      })
      expect([revision, status]).toEqual([revision, 400])
    }
    expect((await world.allEvidence()).length).toBe(before)
    expect((await bot.poll({ thread_id: waiting.thread })).body.status).toBe('pending_review')
  })

  it('400 for an invalid list of tools', async () => {
    for (const tools of [...NO_LIST, undefined, Array(257).fill('t')])
      expect([tools, (await bot.resolve(tools)).status]).toEqual([tools, 400])
    const names = ['__proto__', 'constructor', '']
    expect((await bot.resolve(names)).body).toEqual({ tools: [], unknown: names })
  })

  it('200 valid: false for each member of a redemption, and the proof stays valid', async () => {
    const whole = { task_id: proof.task, signature: proof.token, request_payload: proof.payload }
    const { token } = proof
    const values: Values = {
      task_id: [...NO_TEXT, undefined, '', `${proof.task} `, proof.thread],
      signature: [...NO_TEXT, undefined, '', ` ${token}`, `${token}\n`, `${token}a`, token.slice(0, -1)],
      request_payload: [...NO_OBJECT, undefined, {}, { amount: '500' }, { amount: 500, to: '' }],
      thread_id: [...NO_TEXT, '', `${proof.thread} `, waiting.thread],
      action_hash: NO_HASH,
      valid: [true],
    }
    for (const [member, value] of rows(values)) {
      const { status, body } = await bot.validate({ ...whole, [member]: value })
      expect([member, value, status, body]).toEqual([member, value, 200, { valid: false, reason: 'invalid' }])
    }
    expect((await bot.validate(whole)).body).toEqual({ valid: true })
  })
})
