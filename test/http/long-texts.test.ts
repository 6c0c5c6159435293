// @store each, in the soak
import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../src/contract/limits.ts'
import { agentWorld, ann, bot } from '../agent-world.ts'
import { approved, edited, held, newTask } from '../gateway-fixture.ts'

/**
 * Texts beyond 64 KiB are valid where the contract of the tool names a larger `maxLength`, and nowhere else
 * (docs/limits.md).
 */

const RAISED = 200_000

const WRITE = `tool: write
description: Write a file.
risk: low
input_schema:
  type: object
  properties:
    content: { type: string, maxLength: ${RAISED} }
    note: { type: string }
    short: { type: string, maxLength: 70000 }
    small: { type: string, maxLength: 60000 }
    either: { anyOf: [{ type: string, maxLength: ${RAISED} }, { type: string, minLength: 1 }] }
    shared: { $ref: '#/$defs/body' }
    optional: { anyOf: [{ $ref: '#/$defs/body' }, { type: 'null' }] }
    files: { type: array, items: { type: object, properties: { 'a/b': { type: string, maxLength: ${RAISED} } } } }
    closed: { type: object, additionalProperties: { type: string, maxLength: ${RAISED} } }
  $defs: { body: { type: string, maxLength: ${RAISED} } }
`
const RULES = `tool: write
missing_means: { payload.content: nothing }
rules:
  - id: write-review
    review: People look at this.
  - id: write-never
    reject: Not this.
    when: { payload.content: { contains: DROP } }
`

agentWorld(() => {
  const directory = edited('directory.yaml', 'brief, bare, once]', 'brief, bare, once, write]')
  return { files: { ...directory, 'tools/write.yaml': WRITE, 'rules/write.yaml': RULES } }
})

const long = (characters = LIMITS.STRING_BYTES + 1): string => 'x'.repeat(characters)
const submit = (payload: object, tool_name = 'write') => bot.submit(newTask(), { tool_name, payload })

describe('a text longer than 64 KiB', () => {
  it.each([
    ['a field with a larger maxLength', { content: long(RAISED) }],
    ['a reference', { shared: long() }],
    ['a field that may be null', { optional: long() }],
    ['an item of a list', { files: [{}, { 'a/b': long() }] }],
    ['any further field', { closed: { 'in.any': long() } }],
    ['characters of more than one byte', { short: 'é'.repeat(70_000) }],
  ])('is accepted in %s', async (_, payload) => {
    const { status, body } = await submit(payload)
    expect([status, body.status]).toEqual([200, 'pending_review'])
  })

  it.each([
    ['a field without maxLength', { note: long() }, '/payload/note'],
    ['a field with a smaller one', { small: 'é'.repeat(59_000) }, '/payload/small'],
    ['a field with a branch that has none', { either: long() }, '/payload/either'],
    ['a field that the contract leaves open', { other: [long()] }, '/payload/other/0'],
    ['a name with a slash', { other: { 'a/b~c': long() } }, '/payload/other/a~1b~0c'],
  ])('is refused in %s with the field and the limit', async (_, payload, pointer) => {
    const { status, problem } = await submit(payload)
    expect([status, problem.code]).toEqual([400, 'invalid_policy_input'])
    expect(problem.errors).toEqual([{ pointer, message: expect.stringContaining('at most 65536 bytes') }])
  })

  it('is refused beyond its maxLength with that limit', async () => {
    const { problem } = await submit({ content: long(RAISED + 1) })
    expect(problem.errors).toEqual([
      { pointer: '/payload/content', message: `must have at most ${RAISED} characters` },
    ])
  })

  it.each(['none', 'private'])('is refused when the agent may not use such a tool: %s', async (tool) => {
    const { status, problem } = await submit({ text: long() }, tool)
    expect([status, problem.errors?.[0]?.pointer]).toEqual([400, '/payload/text'])
  })

  it.each([
    ['beside the payload', { preview: long() }],
    ['in the name of a field', { payload: { [long()]: 1 } }],
    ['under a name that ends like the payload', { 'x.payload': long() }],
  ])('is refused %s', async (_, members) => {
    const { status, problem } = await bot.submit(newTask(), { tool_name: 'write', ...members } as never)
    expect([status, problem.code]).toEqual([400, 'invalid_json'])
  })

  it('is read by rules completely', async () => {
    const { body } = await submit({ content: `${long(RAISED - 4)}DROP` })
    expect(body.status).toBe('reject')
  })

  it('is approved, shown and redeemed once, and only in the approved form', async () => {
    const one = await approved(bot, ann, { tool_name: 'write', payload: { content: long(RAISED) } })
    const proof = { task_id: one.task, signature: one.token, request_payload: one.payload }
    const other = { ...proof, request_payload: { content: long(RAISED - 1) } }
    expect((await bot.validate(other)).body).toEqual({ valid: false, reason: 'invalid' })
    expect((await bot.validate(proof)).body).toEqual({ valid: true })
    expect((await bot.validate(proof)).body).toEqual({ valid: false, reason: 'used' })
  })
})

describe('a text longer than 64 KiB in an event', () => {
  const revision = (thread: string, task: string, members: object) =>
    bot.call<Record<string, unknown>>('POST', `tasks/${task}/events`, {
      body: {
        event_type: `revision.${task}.${thread}`,
        event_summary: 'Again.',
        payload: { revision: { revision_id: 'a', tool_name: 'write', subject: 'It', ...members } },
      },
    })

  it('is refused as evidence, whatever contracts allow', async () => {
    const { status, problem } = await bot.call('POST', `tasks/${newTask()}/events`, {
      body: { event_type: 'tool.done', event_summary: 'Done.', payload: { content: long() } },
    })
    expect([status, problem.errors?.[0]?.pointer]).toEqual([400, '/payload/content'])
  })

  it('is checked by the contract in a revision', async () => {
    const { thread, task } = await held(bot, { tool_name: 'write', payload: {} })
    const refused = await revision(thread, task, { request_payload: { note: long() } })
    expect([refused.status, refused.problem.errors?.[0]?.pointer]).toEqual([
      400,
      '/payload/revision/request_payload/note',
    ])
    const beside = await revision(thread, task, { request_payload: {}, preview: long() })
    expect([beside.status, beside.problem.errors?.[0]?.pointer]).toEqual([400, '/payload/revision/preview'])
    const taken = await revision(thread, task, { request_payload: { content: long() } })
    expect([taken.status, taken.body['revision']]).toEqual([201, 2])
  })
})
