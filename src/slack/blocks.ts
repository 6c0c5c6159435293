import type { ChatAct, ChatAnswer, ChatDialog, ChatMessage, ChatRun } from '../domain/chat.ts'

/**
 * Messages and dialogs in Slack's Block Kit. Foreign text appears in `rich_text` only, where Slack interprets nothing:
 * a mention, a link and an emoji would be elements of their own (docs/chat.md).
 */
export type Block = Readonly<Record<string, unknown>>

const NOTICE_CHARS = 150
const OPTION_CHARS = 75
const MOST_OFFERED = 10
const COMMENT_CHARS = 3_000
export const ACTION = 'countersign:'
export const DIALOG = 'countersign'
export const TYPED = 'comment'
export const OFFERED = 'offered'

const LABELS: Readonly<Record<ChatAct, string>> = {
  approve: 'Approve',
  reject: 'Reject',
  request_changes: 'Request changes',
}
const STYLES: Readonly<Partial<Record<ChatAct, string>>> = { approve: 'primary', reject: 'danger' }

/** The arguments of chat.postMessage and chat.update. The gateway bounds the message (src/gateway/chat/message.ts). */
export function messageOf(message: ChatMessage): Readonly<Record<string, unknown>> {
  const { heading, lines, fields, acts, why, link } = message
  const texts = rich([
    heading.map((run) => ({ ...run, strong: true })),
    ...lines,
    ...fields.map(({ name, value }): ChatRun[] => [{ text: name, strong: true }, { text: ': ' }, ...value]),
    ...(why === undefined ? [] : [[{ text: why }]]),
  ])
  const isOpen = acts.length > 0 || why !== undefined
  return { text: noticeOf(heading), blocks: [texts, isOpen ? actions(message) : linkBlock(link)], ...PLAINLY }
}

/** Flags that keep Slack from reading markup, links and names in the text beside the blocks. */
const PLAINLY = { mrkdwn: false, parse: 'none', link_names: false, unfurl_links: false, unfurl_media: false }

function actions({ id, acts, link }: ChatMessage): Block {
  const buttons = acts.map((act) => ({
    type: 'button',
    action_id: `${ACTION}${act}`,
    text: plain(LABELS[act]),
    value: id,
    ...(STYLES[act] && { style: STYLES[act] }),
  }))
  const look = { type: 'button', action_id: `${ACTION}look`, text: plain('Look and decide'), url: link }
  return { type: 'actions', elements: [...buttons, look] }
}

/** The answer to a click, as an ephemeral message. */
export const answerOf = ({ text, link }: Pick<ChatAnswer, 'text' | 'link'>): Block => ({
  text: noticeOf([{ text }]),
  blocks: answerBlocks(text, link),
  ...PLAINLY,
})

const answerBlocks = (text: string, link: string | undefined): Block[] => [
  rich([[{ text }]]),
  ...(link === undefined ? [] : [linkBlock(link)]),
]

/** The answer to a dialog, in its place. */
export const answerView = ({ text, link }: ChatAnswer): Block => ({
  type: 'modal',
  title: plain('Countersign'),
  close: plain('Close'),
  blocks: answerBlocks(text, link),
})

/** A dialog that asks for the comment. What it keeps for its end is for us alone: no person can change it. */
export function dialogOf({ message, act, heading, offered, required }: ChatDialog, channel: string): Block {
  const choices = offered.slice(0, MOST_OFFERED)
  const isNeeded = required && choices.length === 0
  return {
    type: 'modal',
    callback_id: DIALOG,
    private_metadata: JSON.stringify({ message, act, channel, offered: choices } satisfies Kept),
    title: plain(LABELS[act]),
    submit: plain(LABELS[act]),
    close: plain('Cancel'),
    blocks: [
      rich([heading]),
      ...(choices.length === 0 ? [] : offeredInput(choices)),
      {
        type: 'input',
        block_id: TYPED,
        optional: !isNeeded,
        label: plain('Comment'),
        element: { type: 'plain_text_input', action_id: TYPED, multiline: true, max_length: COMMENT_CHARS },
      },
    ],
  }
}

/** The members that a dialog keeps from its click. */
export interface Kept {
  readonly message: string
  readonly act: ChatAct
  readonly channel: string
  /** The comments that it offered. A choice is a number. */
  readonly offered: readonly string[]
}

/** The offered comments whole, and a button for each. */
function offeredInput(offered: readonly string[]): Block[] {
  const lines = offered.map((text, at) => `${at + 1}. ${text}`)
  const options = lines.map((line, at) => ({ text: plain(cut(line, OPTION_CHARS)), value: String(at) }))
  const element = { type: 'radio_buttons', action_id: OFFERED, options }
  return [
    rich(lines.map((text) => [{ text }])),
    { type: 'input', block_id: OFFERED, optional: true, label: plain('Offered comments'), element },
  ]
}

const plain = (text: string): Block => ({ type: 'plain_text', text, emoji: false })

const cut = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text

const linkBlock = (url: string): Block => ({
  type: 'rich_text',
  elements: [{ type: 'rich_text_section', elements: [{ type: 'link', url, text: 'Look at the call' }] }],
})

const rich = (lines: readonly (readonly ChatRun[])[]): Block => ({
  type: 'rich_text',
  elements: lines.map((runs) => ({
    type: 'rich_text_section',
    elements: runs.filter(({ text }) => text !== '').map(elementOf),
  })),
})

/** Text that was cut within a character ends with U+FFFD: not every reader of JSON takes half of one. */
const elementOf = ({ text, code, strong }: ChatRun): Block => ({
  type: 'text',
  text: text.toWellFormed(),
  style: { bold: strong === true, code: code === true },
})

/** The text of notifications, in which Slack may read markup: letters, digits and a few signs. */
const noticeOf = (runs: readonly ChatRun[]): string =>
  cut(
    runs
      .map(({ text }) => text)
      .join('')
      .replace(/[^\p{L}\p{N} .,/()-]/gu, '·'),
    NOTICE_CHARS,
  )
