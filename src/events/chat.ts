import type { Heading, HeadingSegment } from '../domain/heading.ts'
import { shortened } from '../domain/shorten.ts'
import { askedBy, phraseOf } from './events.ts'
import type { WebhookEvent } from '../contract/webhook.ts'

/**
 * The content of a chat message for people: the heading of the call, and names. The message contains no message,
 * comment or whole payload of the call. Tool and task appear under the agent's names.
 */
export interface ChatEvent {
  readonly type: WebhookEvent
  readonly tenant_id: string
  readonly agent_id?: string
  readonly tool_name?: string
  readonly heading?: Heading
  readonly task_id?: string
  readonly revision?: number
  readonly risk?: string
  /** Groups whose reviewers may decide, while the thread waits for reviewers. */
  readonly groups?: readonly string[]
  /** The seats that policy asks for since a time after the submission. */
  readonly raised?: { readonly at: string; readonly asks: string }
  /** Reviewers whose votes led to the event. */
  readonly decided_by?: readonly string[]
}

/** An Adaptive Card in a message, with only the members that the gateway uses. */
export interface CardMessage {
  readonly type: 'message'
  readonly attachments: readonly {
    readonly contentType: 'application/vnd.microsoft.card.adaptive'
    readonly content: Card
  }[]
}

interface Card {
  readonly type: 'AdaptiveCard'
  readonly $schema: string
  readonly version: string
  readonly body: readonly { readonly type: 'RichTextBlock'; readonly inlines: readonly TextRun[] }[]
  readonly actions?: readonly {
    readonly type: 'Action.OpenUrl'
    readonly title: string
    readonly url: string
  }[]
}

interface TextRun {
  readonly type: 'TextRun'
  readonly text: string
  readonly fontType?: 'Monospace'
}

/** The gateway's own words, or a name that another party chose. */
type Part = string | { readonly name: string }

/** The text of one event in a chat, with `link` to its thread. Backticks enclose all foreign text. */
export function chatText(event: ChatEvent, link?: string): string {
  const line = lineOf(event).map((part) => (typeof part === 'string' ? part : `\`${part.name}\``))
  return link === undefined ? line.join('') : `${line.join('')}\n${link}`
}

/**
 * The same line as a Microsoft Teams card, with `link` as its button. Text runs have no markup. Foreign text has a
 * different font.
 */
export function chatCard(event: ChatEvent, link?: string): CardMessage {
  const inlines = lineOf(event).map((part): TextRun =>
    typeof part === 'string'
      ? { type: 'TextRun', text: part }
      : { type: 'TextRun', text: part.name, fontType: 'Monospace' },
  )
  const content: Card = {
    type: 'AdaptiveCard',
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    version: '1.2',
    body: [{ type: 'RichTextBlock', inlines }],
    ...(link === undefined ? {} : { actions: [{ type: 'Action.OpenUrl', title: 'Look at it', url: link }] }),
  }
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content }],
  }
}

function lineOf(event: ChatEvent): Part[] {
  const tenant = nameOf(event.tenant_id)
  if (event.type === 'webhook.ping') return ['A test: this chat receives the calls of tenant ', tenant, '.']
  const { agent_id = '', tool_name = '', heading, task_id, revision = 1, risk } = event
  const details: Part[][] = [
    ...(heading?.template === undefined ? [] : [['tool ', nameOf(tool_name)]]),
    ...(risk === undefined ? [] : [[`risk ${risk}`]]),
    ['agent ', nameOf(agent_id)],
    ...(task_id === undefined ? [] : [['task ', nameOf(task_id)]]),
    ...(revision > 1 ? [[`revision ${revision}`]] : []),
    ['tenant ', tenant],
  ]
  const does = heading === undefined ? [nameOf(tool_name)] : doesOf(heading)
  return [...does, ...phraseFor(event), ...sinceFor(event), ' (', ...listed(details), ')']
}

/** The seats that policy asks for since the submission; the time is in UTC. */
const sinceFor = ({ raised }: ChatEvent): Part[] =>
  raised === undefined ? [] : [`, since ${raised.at.slice(11, 16)} UTC policy asks for `, asksIn(raised.asks)]

const asksIn = (asks: string): Part => ({ name: cutTo(asks, MOST_CHARS).replaceAll(/[^\w .-]/g, '?') })

/** The event, and the reviewers who decided. */
function phraseFor(event: ChatEvent): Part[] {
  const { decided_by: deciders = [] } = event
  const by = deciders.length === 0 ? [] : [' by ', ...listed(deciders.map((one) => [nameOf(one)]))]
  if (event.type === 'review.expired' && by.length > 0)
    return [' was approved', ...by, ', but its agent did not collect the approval in time']
  return [` ${phraseOf(event)}`, ...by, ...whomFor(event)]
}

/**
 * Splits the heading into parts. Words of the contract's template count as the gateway's own. Without a template, the
 * first part may be an unknown tool's name.
 */
function doesOf({ segments, template }: Heading): Part[] {
  return segments.flatMap((segment: HeadingSegment, i): Part[] => {
    const { text, field, exact, sensitive } = segment
    if (sensitive) return [valueOf(text.replaceAll(/[[\]]/g, ''))]
    if (field !== undefined)
      return exact === undefined ? [valueOf(text)] : [valueOf(text), ' (', valueOf(exact), ')']
    return [template === undefined && i === 0 ? nameOf(text) : wordsOf(text)]
  })
}

/** Words between values. An underscore may act as markup, and a dot within a word as an address. */
const wordsOf = (text: string): string =>
  cutTo(text, MOST_CHARS).replaceAll('_', ' ').replaceAll(NO_WORD, '?').replaceAll(ADDRESS, '?')

/** Left-to-right letters, digits, currency symbols, and punctuation that has no meaning in any chat. */
const KEPT = String.raw`\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}0-9\p{Sc} .,:;/()'"%+=…`
const NO_WORD = new RegExp(`[^${KEPT}-]`, 'gu')
/** Text that chats turn into links. */
const ADDRESS = /\/(?=\/)|(?<=\/)\/|(?<=\S)\.(?=\p{L})/gu
const NO_VALUE = new RegExp(`[^${KEPT}_-]`, 'gu')

/**
 * A value of the payload. Between backticks, a dot does not create a link. Two slashes might create a link, and an at
 * sign could mention a user.
 */
function valueOf(text: string): Part {
  const spelled = shortened(text, MOST_CHARS, cutTo).replaceAll('@', '(at)')
  return { name: spelled.replaceAll(NO_VALUE, '?').replaceAll(/\/(?=\/)|(?<=\/)\//g, '?') }
}

const cutTo = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most)}...` : text

function whomFor({ type, groups = [] }: ChatEvent): Part[] {
  const asks = askedBy({ type })
  if (asks === undefined) return []
  return [' ', ...(groups.length === 0 ? [asks] : listed(groups.map((group) => [nameOf(group)])))]
}

const listed = (items: readonly Part[][]): Part[] =>
  items.flatMap((item, i) => (i === 0 ? item : [', ', ...item]))

const MOST_CHARS = 128

/**
 * The name without characters that a chat interprets as a mention, a link or markup. The gateway's own names are
 * unchanged. An unknown tool's name may contain any text, for example an address. Slack's rich text has links within
 * code (element `link` with style `code`).
 */
function nameOf(name: string): Part {
  return { name: cutTo(name, MOST_CHARS).replaceAll(/[^A-Za-z0-9._:/-]|\/(?=\/)|(?<=\/)\//g, '?') }
}
