import { describe, expect, it } from 'vitest'
import type { ChatMessage } from '../../src/domain/chat.ts'
import { answerOf, dialogOf, messageOf } from '../../src/slack/blocks.ts'
import { call } from '../chat/messages.ts'
import { problemOfMessage, problemOfView } from '../chat/slack-limits.ts'

type Json = Readonly<Record<string, unknown>>

/** Every object of the blocks. */
function objectsIn(value: unknown): Json[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn)
  if (typeof value !== 'object' || value === null) return []
  return [value as Json, ...Object.values(value).flatMap(objectsIn)]
}
const textsOf = (value: unknown): string =>
  objectsIn(value)
    .filter(({ type }) => type === 'text')
    .map(({ text }) => text as string)
    .join('')

const problemOf = (message: ChatMessage): string | undefined => {
  const args = messageOf(message)
  return problemOfMessage({ text: String(args['text']), blocks: JSON.stringify(args['blocks']) })
}

const HOSTILE = [
  '`code` ```block``` *bold* _it_ ~no~',
  '<!channel> <!here> <!everyone>',
  '<@U1> <#C1> <!subteam^S1>',
  '<https://evil.example|https://bank.example> https://evil.example mailto:a@b.example',
  ':white_check_mark: :x:',
  '&lt;!channel&gt; > quote',
  '  leading and    inner blanks  ',
  'line\nline\n\nline',
  '{"type":"button"}',
]

describe('foreign text', () => {
  it.each(HOSTILE)('is text, letter for letter, in every field: %j', (text) => {
    const run = { text, code: true } as const
    const message = call({
      heading: [run],
      lines: [[run]],
      fields: [{ name: text, value: [run] }],
      why: text,
    })
    const { blocks, text: notice, ...flags } = messageOf(message)
    expect(textsOf(blocks)).toBe(`${text}${text}${text}: ${text}${text}`)
    const kinds = new Set(objectsIn(blocks).map(({ type }) => type))
    expect(kinds).toEqual(
      new Set(['rich_text', 'rich_text_section', 'text', 'actions', 'button', 'plain_text', undefined]),
    )
    expect(notice).toMatch(/^[\p{L}\p{N} .,/()·-]*$/u)
    expect(flags).toEqual({
      mrkdwn: false,
      parse: 'none',
      link_names: false,
      unfurl_links: false,
      unfurl_media: false,
    })
    expect(problemOf(message)).toBeUndefined()
    const ask = { message: 'm', act: 'reject', heading: [run], offered: [text], required: true } as const
    expect(problemOfView(dialogOf(ask, 'C1'))).toBeUndefined()
    expect(textsOf(answerOf({ text }))).toBe(text)
  })
})

describe('the limits of Slack', () => {
  it('a message at the bounds of the gateway fits, and empty texts have no element', () => {
    const fields = Array.from({ length: 12 }, (_, at) => ({
      name: `${at}`.repeat(200),
      value: [{ text: 'é'.repeat(200), code: true as const }],
    }))
    const lines = Array.from({ length: 20 }, () => [{ text: 'x'.repeat(40) }, { text: '' }])
    expect(problemOf(call({ fields, lines, why: 'x'.repeat(200) }))).toBeUndefined()
  })

  it('a dialog shows nine offered comments of 200 characters whole', () => {
    const offered = Array.from({ length: 9 }, (_, at) => `${at}${'x'.repeat(199)}`)
    const ask = {
      message: 'm'.repeat(128),
      act: 'request_changes',
      heading: call().heading,
      offered,
      required: false,
    }
    const view = dialogOf(ask as never, 'C1')
    expect(problemOfView(view)).toBeUndefined()
    for (const text of offered) expect(textsOf(view)).toContain(text)
  })
})

it('buttons carry the id of the message and nothing else; a message without acts has no button', () => {
  const buttons = (message: ChatMessage): unknown[] =>
    objectsIn(messageOf(message))
      .filter(({ type }) => type === 'button')
      .map(({ action_id: id, value, url }) => [id, value ?? url])
  expect(buttons(call())).toEqual([
    ['countersign:approve', 'message-1'],
    ['countersign:request_changes', 'message-1'],
    ['countersign:reject', 'message-1'],
    ['countersign:look', 'https://gate.example/threads/t1'],
  ])
  expect(buttons(call({ acts: [], why: 'Equal calls.' }))).toHaveLength(1)
  expect(buttons(call({ acts: [] }))).toEqual([])
})
