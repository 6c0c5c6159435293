import type { Because } from '../../domain/because.ts'
import type { ChatAct, ChatField, ChatMessage, ChatRun } from '../../domain/chat.ts'
import type { Heading } from '../../domain/heading.ts'
import { codeOf, segmentsOf } from '../../domain/hidden-characters.ts'
import { hasRightToLeft } from '../../domain/letter-order.ts'
import { cut } from '../../domain/shorten.ts'
import type { SeatState } from '../../domain/quorum.ts'
import { currentVotes, type Thread } from '../../domain/thread.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { payloadName } from '../../policy/language/fields.ts'
import { payloadPath } from '../../policy/language/payload-path.ts'
import type { LevelView } from '../../policy/language/level-view.ts'
import { valueAt } from '../review/display.ts'

/**
 * The message about a call, as a channel has to display it now (docs/chat.md). It has the call and policy's own words,
 * and never a claim of the agent. Approve is there only where the message holds the whole call.
 */

/** A message that holds more may be folded or cut by a chat. */
export const CHAT_BOUNDS = { characters: 1_000, lines: 20, fields: 12 } as const
const REASON_CHARACTERS = 200
/** A part to see that every message has among its lines. */
const RAISED = 'raised'

export interface Told {
  readonly thread: Thread
  /** The heading, without the values that the contract in force hides. */
  readonly heading: Heading
  readonly link: string
  readonly now: number
  readonly seats: readonly SeatState[]
  /** How the level is reviewed; undefined without a bundle. */
  readonly view: LevelView | undefined
  /** Absent once the thread waits no longer. */
  readonly call?: ToldCall
  /** True while equal calls share the message. */
  readonly shared?: boolean
  /** The time when the wait ended without a vote, in words. */
  readonly ended?: string
}

/** The current revision, with tags in place of hidden values. */
export interface ToldCall {
  readonly payload: JsonObject
  readonly hidden: number
  readonly warnings: number
  readonly pictures: number
  /** The parts that a reviewer must see before an approval. */
  readonly parts: readonly string[]
  readonly because: readonly Because[]
  /** Members in the order of the contract. */
  readonly order: readonly string[]
}

export interface Drawn {
  readonly message: Omit<ChatMessage, 'id'>
  /** The places of the call that the message holds. */
  readonly places: readonly string[]
  readonly whole: boolean
}

export function drawMessage(told: Told): Drawn {
  const { thread, link, view, call } = told
  const mayShow = view?.chat !== undefined
  const heading = headingRuns(told.heading, mayShow)
  const lines = linesOf(told)
  if (call === undefined || thread.status !== 'pending_review' || !mayShow)
    return { message: { heading, lines, fields: [], link, acts: [] }, places: [], whole: false }
  const all = fieldsOf(call)
  const hindrances = [...hindrancesOf(told, call, all), ...boundsOf(all)]
  const whole = hindrances.length === 0
  const shown = whole ? all : reasonFields(call)
  const held = shown.filter(({ isCut }) => isCut !== true).map(({ place }) => place)
  const places = [...new Set([...held, ...(whole ? call.parts : [])])].sort()
  const others: ChatAct[] = thread.requirement.interactive === true ? [] : ['request_changes', 'reject']
  const acts: ChatAct[] = whole ? ['approve', ...others] : others
  const why = whole ? {} : { why: `Not to approve here: ${hindrances.join(', ')}.` }
  return { message: { heading, lines, fields: shown.map(fieldOf), link, acts, ...why }, places, whole }
}

/** The message of a thread whose data is gone: what the tool was, and nothing of the call. */
export function emptyMessage(tool: string, link: string): Drawn {
  const lines: ChatRun[][] = [[{ text: 'The data of this call was deleted.' }]]
  const heading: ChatRun[] = [{ text: inert(tool), code: true }]
  return { message: { heading, lines, fields: [], link, acts: [] }, places: [], whole: false }
}

/** The reasons why this message cannot approve, each in a few words. */
function hindrancesOf({ thread, shared }: Told, call: ToldCall, fields: readonly Field[]): string[] {
  const isSeen = (part: string): boolean => part === RAISED || fields.some(({ place }) => isOf(part, place))
  const texts = JSON.stringify(call.payload)
  return [
    ...(thread.requirement.interactive === true ? ['it needs a sign-in to the console'] : []),
    ...(shared === true ? ['equal calls wait'] : []),
    ...counted(call.hidden, 'hidden value'),
    ...counted(call.warnings, 'warning'),
    ...counted(call.pictures, 'picture'),
    ...(hasRightToLeft(texts) ? ['text from right to left'] : []),
    ...(call.parts.every(isSeen) ? [] : ['something else than the payload decided']),
  ]
}

function boundsOf(fields: readonly Field[]): string[] {
  const text = fields.map(({ name, text }) => name + text)
  const leaves = fields.reduce((sum, one) => sum + one.leaves, 0)
  const lines = fields.reduce((sum, one) => sum + one.text.split('\n').length, 0)
  const { characters } = CHAT_BOUNDS
  return [
    ...(leaves > CHAT_BOUNDS.fields ? [`${leaves} fields`] : []),
    ...(lines > CHAT_BOUNDS.lines ? [`${lines} lines`] : []),
    ...(text.join('').length > characters ? [`more than ${characters} characters`] : []),
  ]
}

const counted = (count: number, what: string): string[] =>
  count === 0 ? [] : [`${count} ${what}${count === 1 ? '' : 's'}`]

interface Field {
  readonly name: string
  readonly place: string
  readonly text: string
  /** The number of values inside. */
  readonly leaves: number
  readonly strong: boolean
  /** True when the message does not hold the value of the call whole. */
  readonly isCut?: boolean
}

/** The members of the payload as the console orders them: those that decided first, then as the contract lists them. */
function fieldsOf({ payload, because, order }: ToldCall): Field[] {
  const rank = (name: string): number => {
    const first = because.findIndex(({ field }) => isOf(field, payloadName([name])))
    const listed = order.indexOf(name)
    return first === -1 ? because.length + (listed === -1 ? order.length : listed) : first
  }
  const names = Object.keys(payload).sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
  const fields = names.map((name): Field => {
    const value = payload[name] as JsonValue
    const place = payloadName([name])
    const strong = because.some(({ field }) => isOf(field, place))
    return { name: inert(name), place, text: textOf(value), leaves: leavesOf(value), strong }
  })
  return fields.length > 0
    ? fields
    : [{ name: 'payload', place: 'payload', text: 'empty', leaves: 1, strong: false }]
}

const isWithin = (place: string, field: string): boolean =>
  place.startsWith(`${field}.`) || place.startsWith(`${field}[`)
const isOf = (place: string, field: string): boolean => place === field || isWithin(place, field)

/** A string unchanged, and any other value as JSON. */
function textOf(value: JsonValue): string {
  if (typeof value === 'string') return value === '' ? '(empty)' : spelled(value)
  return spelled(Object.is(value, -0) ? '-0' : JSON.stringify(value, null, 2))
}

const leavesOf = (value: JsonValue): number => {
  const inside = value === null || typeof value !== 'object' ? [] : Object.values(value)
  return inside.reduce((sum: number, one) => sum + leavesOf(one as JsonValue), 0) || 1
}

/** Values that decided, for a message that does not hold the whole call. */
function reasonFields({ because, payload }: ToldCall): Field[] {
  return because.slice(0, CHAT_BOUNDS.fields).flatMap((one): Field[] => {
    const { field, value, hidden, state } = one
    if (!isOf(field, 'payload')) return []
    const text = hidden === true ? '(hidden)' : (state ?? cut(spelled(String(value)), REASON_CHARACTERS))
    const name = cut(inert(field.replace(/^payload\./, '')), REASON_CHARACTERS)
    const steps = payloadPath(field)
    const there = steps && valueAt(payload, steps)
    const isWhole = there === undefined ? state === 'missing' : state === undefined && textOf(there) === text
    return [{ name, place: field, text, leaves: 1, strong: true, isCut: !isWhole }]
  })
}

const fieldOf = ({ name, text, strong }: Field): ChatField => ({
  name,
  value: [{ text, code: true, ...(strong ? { strong } : {}) }],
})

/** The heading; without values where they must not go to a chat. */
export function headingRuns({ segments }: Heading, mayShow: boolean): ChatRun[] {
  return segments.map(({ text, field, sensitive, exact }): ChatRun => {
    if (field === undefined) return { text: inert(text) }
    if (!mayShow || sensitive === true || hasRightToLeft(text)) return { text: '…', code: true }
    return { text: inert(exact === undefined ? text : `${text} (${exact})`), code: true }
  })
}

/** The text with hidden characters as code points. */
const spelled = (text: string): string =>
  segmentsOf(text)
    .map(({ text: run, hidden }) =>
      hidden === undefined ? run : `[${hidden.code}${hidden.count > 1 ? ` ×${hidden.count}` : ''}]`,
    )
    .join('')

/** The same on one line. */
const inert = (text: string): string => spelled(text).replaceAll(/[\n\t]/g, (one) => `[${codeOf(one)}]`)

function linesOf(told: Told): ChatRun[][] {
  const { thread, seats, now } = told
  const about: ChatRun[] = [
    { text: `${thread.risk} risk, agent ` },
    { text: inert(thread.agent), code: true },
    ...(thread.revision > 1 ? [{ text: `, revision ${thread.revision}` }] : []),
  ]
  const votes = votesOf(thread)
  if (told.ended !== undefined) return [about, ...votes, [{ text: told.ended }]]
  const { raised, deadline } = thread
  return [
    about,
    ...(raised === undefined ? [] : [[{ text: `Since ${utc(raised.at)} policy asks for ${raised.asks}.` }]]),
    ...seats.map(({ group, approvals, filledBy, escalatedTo }): ChatRun[] => [
      { text: `${filledBy.length} of ${approvals} from ` },
      { text: [group, ...escalatedTo].join(', '), code: true },
    ]),
    ...votes,
    ...(deadline === undefined || deadline <= now ? [] : [[{ text: `Until ${utc(deadline)}.` }]]),
  ]
}

const CAST = { approve: 'approved', reject: 'rejected', request_changes: 'asked for changes' } as const

/** The votes on the current revision, and their channels. */
const votesOf = (thread: Thread): ChatRun[][] =>
  currentVotes(thread).map(({ reviewer, decision, via }): ChatRun[] => [
    { text: inert(reviewer), code: true },
    { text: ` ${CAST[decision]}${via === 'slack' ? ' here' : ''}.` },
  ])

/** As `2026-03-02 14:05 UTC`. */
const utc = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`
