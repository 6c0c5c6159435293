import { describe, expect, it } from 'vitest'
import type { Thread } from '../../src/domain/thread.ts'
import { CHAT_BOUNDS, drawMessage, type Told, type ToldCall } from '../../src/gateway/chat/message.ts'
import { messageOf } from '../../src/slack/blocks.ts'
import { textOf } from './fake-app.ts'
import { problemOfMessage } from './slack-limits.ts'

/** A message of a chat has Approve only with the whole call (docs/chat.md). */

const THREAD = {
  thread_id: 'thr_1',
  agent: 'bot',
  revision: 1,
  status: 'pending_review',
  risk: 'low',
  votes: [],
  requirement: { seats: [], expires_ms: 1, remind_after_ms: [] },
  deadline: Date.UTC(2026, 2, 2, 16),
} as unknown as Thread

const told = (call: Partial<ToldCall>, more: Partial<Told> = {}): Told => ({
  thread: THREAD,
  heading: { line: 'pay', segments: [{ text: 'Pay ' }, { text: '12', field: 'payload.amount' }] },
  link: 'https://countersign.example/#/thread/thr_1',
  now: Date.UTC(2026, 2, 2, 12),
  seats: [{ group: 'desk', approvals: 2, escalatedTo: ['board'], filledBy: ['ann'] }],
  view: { comments: [], reveal: 'optional', chat: {} },
  call: { payload: {}, hidden: 0, warnings: 0, pictures: 0, parts: [], because: [], order: [], ...call },
  ...more,
})
const why = (call: Partial<ToldCall>, more: Partial<Told> = {}): string | undefined => {
  const { message, whole } = drawMessage(told(call, more))
  expect(whole).toBe(message.acts.includes('approve'))
  expect(whole).toBe(message.why === undefined)
  return message.why?.replace('Not to approve here: ', '')
}

describe('a message', () => {
  it('holds each field, in the order of the console, with risk, time and seats', () => {
    const because = [{ field: 'payload.to[0]', value: 'x' }]
    const payload = { b: 'two\nlines', a: 1, to: ['x', 'y'], z: '' }
    const drawn = drawMessage(told({ payload, because, parts: ['payload.to[0]'], order: ['b'] }))
    expect(drawn.message.fields).toEqual([
      { name: 'to', value: [{ text: '[\n  "x",\n  "y"\n]', code: true, strong: true }] },
      { name: 'b', value: [{ text: 'two\nlines', code: true }] },
      { name: 'a', value: [{ text: '1', code: true }] },
      { name: 'z', value: [{ text: '(empty)', code: true }] },
    ])
    expect(drawn.message.lines.map((line) => line.map(({ text }) => text).join(''))).toEqual([
      'low risk, agent bot',
      '1 of 2 from desk, board',
      'Until 2026-03-02 16:00 UTC.',
    ])
    expect(drawn.places).toEqual(['payload.a', 'payload.b', 'payload.to', 'payload.to[0]', 'payload.z'])
  })

  it('names no place of a value that it hides or cuts, or that a rule read otherwise', () => {
    const payload = { a: 1, long: 'x'.repeat(400), key: '#1', at: 'b@c.example', n: { '1': [2] } }
    const because = [
      { field: 'payload.a', value: 1 },
      { field: 'payload.long', value: `${'x'.repeat(199)}…` },
      { field: 'payload.key', hidden: true as const },
      { field: 'payload.at', value: 'c.example' },
      { field: 'payload.gone', state: 'missing' as const },
      { field: 'payload.n["1"]', value: '[2]' },
      { field: 'payload.n["1"][0]', value: 2 },
    ]
    const { message, places } = drawMessage(told({ payload, because, hidden: 1 }))
    expect(message.fields).toHaveLength(7)
    expect(places).toEqual(['payload.a', 'payload.gone', 'payload.n["1"][0]'])
  })

  it('fits Slack, and shows no character that hides, whatever the call holds', () => {
    const hostile = [
      '`code` *bold* <!channel> <@U1> <https://evil.example|https://bank.example> :x: &lt;!here&gt;',
      'a\u202eb\u2066\u00a0\u3164\ufeff \ud800',
      '   ',
      '',
      'x'.repeat(3_000),
      'a\u200b'.repeat(300),
      'y\n'.repeat(500),
      `x${'\u{1f600}'.repeat(150)}`,
    ]
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`f${at}`, hostile[at % 8] ?? '']))
    const payloads = [...hostile.map((text) => ({ [text]: text })), many]
    for (const payload of payloads) {
      const because = Object.entries(payload).map(([name, value]) => ({ field: `payload.${name}`, value }))
      for (const call of [{ payload }, { payload, because, hidden: 1 }]) {
        const args = messageOf({ id: 'm', ...drawMessage(told(call)).message })
        const blocks = JSON.stringify(args['blocks'])
        expect(problemOfMessage({ text: String(args['text']), blocks })).toBeUndefined()
        expect(blocks).not.toMatch(/[\u202e\u2066\u00a0\u3164\ufeff\u200b]|\\ud[89a-f]/)
      }
    }
  })

  it.each<[string, Partial<ToldCall>, Partial<Told>?]>([
    ['2 hidden values, 1 warning', { hidden: 2, warnings: 1 }],
    ['1 picture', { pictures: 1 }],
    ['text from right to left', { payload: { to: 'שלום' } }],
    ['13 fields', { payload: { list: Array.from({ length: 13 }, (_, i) => i) } }],
    ['21 lines', { payload: { text: 'x\n'.repeat(20) } }],
    [`more than ${CHAT_BOUNDS.characters} characters`, { payload: { text: 'x'.repeat(997) } }],
    ['something else than the payload decided', { parts: ['task.workflow'] }],
    ['equal calls wait', {}, { shared: true }],
  ])('has no Approve for %s', (said, call, more) => {
    expect(why(call, more)).toBe(`${said}.`)
  })

  it('has Approve at the bounds', () => {
    expect(why({ payload: { text: 'x'.repeat(996) } })).toBeUndefined()
    expect(why({ payload: { text: `${'x\n'.repeat(19)}x` } })).toBeUndefined()
    expect(
      why({ payload: { list: Array.from({ length: 8 }, (_, i) => i), more: 'x', other: 'y' } }),
    ).toBeUndefined()
  })

  it('spells what hides, in names and values, and keeps a name on one line', () => {
    const { message } = drawMessage(told({ payload: { 'a\u202Eb\nc': 'x\u200B\u200By' } }))
    expect(message.fields).toEqual([
      { name: 'a[U+202E]b[U+000A]c', value: [{ text: 'x[U+200B ×2]y', code: true }] },
    ])
  })

  it('has no value and no button without `chat`, and none once the call waits no longer', () => {
    const call = { payload: { amount: 12 }, because: [{ field: 'payload.amount', value: 12 }] }
    const view = { comments: [], reveal: 'optional' } as const
    for (const more of [{ view }, { view: undefined }]) {
      const { message } = drawMessage(told(call, more))
      expect(message).toMatchObject({ acts: [], fields: [] })
      expect(textOf(message)).not.toContain('12"')
    }
    const thread = { ...THREAD, status: 'approved' } as Thread
    const over = drawMessage(told(call, { thread, ended: 'Approved.' }))
    expect(over).toMatchObject({ message: { acts: [], fields: [] }, whole: false, places: [] })
    expect(textOf(over.message)).toContain('"12"')
  })

  it('has no button where a sign-in to the console is needed', () => {
    const requirement = { ...THREAD.requirement, interactive: true }
    const more = { thread: { ...THREAD, requirement } }
    expect(why({ payload: { a: 1 } }, more)).toBe('it needs a sign-in to the console.')
    expect(drawMessage(told({ payload: { a: 1 } }, more)).message.acts).toEqual([])
  })
})
