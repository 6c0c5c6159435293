import type { ChatMessage, ChatSent } from '../../domain/chat.ts'
import type { ChatApp } from './chat-app.ts'
import type { PostedMessage } from '../../domain/posted-message.ts'
import { sha256 } from '../../domain/digest.ts'
import { currentVotes, type Thread } from '../../domain/thread.ts'
import type { Destination, OnlyCalls } from '../../domain/webhook.ts'
import type { Guard, Write } from '../../store/store.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { freezesNow } from '../core/freezes.ts'
import { INDEX } from '../core/indexes.ts'
import { type DeliveryRecord, put, read, remove, unchanged, type Versioned } from '../core/records.ts'
import { type Plan, transact } from '../core/transact.ts'
import { displayOf, revisionsOf } from '../review/display.ts'
import { closedAs } from '../review/obstacles.ts'
import { warningsIn } from '../review/text-warnings.ts'
import { quorumOf } from '../review/thread-summary.ts'
import { heldKey } from '../thread/equal-calls.ts'
import { shownHeading } from '../thread/heading.ts'
import { shownReason } from '../thread/reasons.ts'
import type { AttemptResult } from '../webhooks/delivery-attempts.ts'
import { buttonOf } from './click.ts'
import { type Drawn, drawMessage, emptyMessage, type Told, type ToldCall } from './message.ts'

/**
 * Delivers to an app of a chat (docs/chat.md). A delivery names a thread, and the gateway draws the message when it
 * sends it. So a chat that was away gets the state of now, and no erased word. Each thread has one message in each
 * destination. Its record says what a click on it means, before the chat can show it.
 */
export interface ChatDelivery {
  readonly tenant: string
  readonly destination: Destination
  readonly record: Pick<DeliveryRecord, 'thread_id'>
}

/** The time in which no other delivery posts the same message. It outlasts an attempt. */
const POSTING_MS = 20_000
const TRIES = 5

export async function deliverToChat(
  deps: Deps,
  app: ChatApp | undefined,
  { tenant, destination, record }: ChatDelivery,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const { channel } = destination
  if (app?.workspace === undefined || channel === undefined) return { outcome: 'failure', answer: 'no_app' }
  const { thread_id } = record
  if (thread_id === undefined) return resultOf(await app.send({ channel }, pingOf(deps, tenant), signal))
  const place = { tenant, destination, channel, thread_id }
  for (let tries = 0; tries < TRIES; tries++) {
    const { answer: begun } = await transact(deps, tenant, () => begin(deps, place))
    if ('outcome' in begun) return begun
    const { id, posted, message } = begun
    const sent = await app.send(posted, message, signal)
    if (sent.kind === 'gone') {
      const plan = { answer: undefined, writes: forgotten(id, posted) }
      await transact(deps, tenant, () => Promise.resolve(plan))
      if (posted.stamp !== undefined) return { outcome: 'lost', answer: sent.code }
    }
    if (sent.kind !== 'sent') return resultOf(sent)
    const { answer } = await transact(deps, tenant, () => end(deps, tenant, begun, sent.stamp))
    if (answer) return resultOf(sent)
  }
  return { outcome: 'later', answer: 'changed' }
}

function resultOf(sent: ChatSent): AttemptResult {
  if (sent.kind === 'sent') return { outcome: 'success', answer: 'ok' }
  const { kind, code, retryMs } = sent
  const outcome = kind === 'gone' ? kind : 'failure'
  return { outcome, answer: code, ...(retryMs === undefined ? {} : { wishedMs: retryMs }) }
}

const pingOf = (deps: Deps, tenant: string): ChatMessage => ({
  id: 'ping',
  heading: [{ text: 'A test: this channel receives the calls of tenant ' }, { text: tenant, code: true }],
  lines: [],
  fields: [],
  link: deps.threadUrl(''),
  acts: [],
})

interface Place extends Omit<ChatDelivery, 'record'> {
  readonly channel: string
  readonly thread_id: string
}

interface Begun {
  readonly id: string
  readonly posted: PostedMessage
  readonly message: ChatMessage
  /** True when the thread was deleted. */
  readonly isEmpty: boolean
}

const ID_CHARS = 32
const messageId = (tenant: string, destination: string, thread_id: string): string =>
  `chm_${tenant}_${sha256(`${destination} ${thread_id}`).slice(0, ID_CHARS)}`

/** Draws the message, and records what a click on it will mean. */
async function begin(deps: Deps, place: Place): Promise<Plan<Begun | AttemptResult>> {
  const { tenant, destination } = place
  const { thread, shared } = await messageThread(deps, place)
  const thread_id = thread?.value.thread_id ?? place.thread_id
  const id = messageId(tenant, destination.id, thread_id)
  const known = await read(deps.store, tenant, 'posted', id)
  const before = known?.value
  const guards: Guard[] = [unchanged('posted', id, known), unchanged('thread', thread_id, thread)]
  const now = deps.store.now()
  if (isPosting(before, now)) return { answer: { outcome: 'later', answer: 'posting', wishedMs: POSTING_MS } }
  const drawn = thread
    ? await drawNow(deps, destination, { thread: thread.value, before, shared })
    : emptied(deps, before)
  if (drawn === undefined) return { answer: NOTHING, guards, writes: before ? forgotten(id, before) : [] }
  const { message, ...meaning } = drawn
  const posted: PostedMessage = {
    destination: destination.id,
    thread_id,
    ...placeOf(before, place.channel, now),
    ...meaning,
    ...versionOf(meaning, before, now),
    drawing: deps.nextId(),
  }
  return {
    answer: { id, posted, message: { id: buttonOf(id, posted), ...message }, isEmpty: thread === undefined },
    guards,
    writes: [
      put('posted', id, posted),
      { op: 'index', index: INDEX.posted(thread_id), member: id, to: posted.drawn_at },
    ],
  }
}

/** True while another delivery posts the message. */
const isPosting = (before: PostedMessage | undefined, now: number): boolean =>
  before !== undefined && before.stamp === undefined && (before.posting_until ?? 0) > now

type DrawnNow = Drawn & Pick<PostedMessage, 'revision' | 'tool' | 'shared'>

/** The message of the thread now; undefined for a thread that needs none. */
async function drawNow(
  deps: Deps,
  { only }: Destination,
  {
    thread,
    before,
    shared,
  }: { readonly thread: Thread; readonly before: PostedMessage | undefined; readonly shared: boolean },
): Promise<DrawnNow | undefined> {
  const { revision, tool } = thread
  const isShared = shared || (before?.shared === true && before.revision === revision)
  const told = await tell(deps, thread, isShared)
  if (before === undefined && (told.ended !== undefined || !isWanted(only, thread))) return undefined
  return { ...drawMessage(told), revision, tool, ...(isShared ? { shared: true } : {}) }
}

/** The message without the data of its deleted thread; undefined when the chat has none. */
function emptied(deps: Deps, before: PostedMessage | undefined): DrawnNow | undefined {
  if (before?.stamp === undefined) return undefined
  const { revision, tool, thread_id } = before
  return { ...emptyMessage(tool, deps.threadUrl(thread_id)), revision, tool }
}

/** The place of the message, or the time until which no other delivery posts it. */
function placeOf(before: PostedMessage | undefined, channel: string, now: number) {
  if (before?.stamp === undefined) return { channel, posting_until: now + POSTING_MS }
  return { channel: before.channel, stamp: before.stamp }
}

/** The version rises when a click would mean something else. */
function versionOf(
  meaning: Pick<PostedMessage, 'revision' | 'whole' | 'places'>,
  before: PostedMessage | undefined,
  now: number,
): Pick<PostedMessage, 'version' | 'drawn_at'> {
  const textOf = ({ revision, whole, places }: typeof meaning): string =>
    JSON.stringify([revision, whole, places])
  const isSame = before !== undefined && textOf(before) === textOf(meaning)
  const { version, drawn_at } = isSame ? before : { version: (before?.version ?? 0) + 1, drawn_at: now }
  return { version, drawn_at }
}

const NOTHING: AttemptResult = { outcome: 'success', answer: 'nothing' }

/** The thread whose message stands for the thread: of equal calls, the first that waits. */
async function messageThread(
  deps: Deps,
  { tenant, thread_id }: Place,
): Promise<{ readonly thread: Versioned<Thread> | undefined; readonly shared: boolean }> {
  const thread = await read(deps.store, tenant, 'thread', thread_id)
  const key = thread?.value.repeats === true ? heldKey(thread.value) : undefined
  const first = key === undefined ? undefined : await read(deps.store, tenant, 'asked', key)
  if (first === undefined || first.value.thread_id === thread_id) return { thread, shared: false }
  const other = await read(deps.store, tenant, 'thread', first.value.thread_id)
  return other === undefined ? { thread, shared: false } : { thread: other, shared: true }
}

function isWanted(only: OnlyCalls = {}, { risk, tool, requirement }: Thread): boolean {
  const seats = requirement.seats.map(({ group }) => group)
  const wanted: readonly (readonly [readonly string[] | undefined, readonly string[]])[] = [
    [only.risks, [risk]],
    [only.tools, [tool]],
    [only.groups, seats],
  ]
  return wanted.every(([names, of]) => names?.some((one) => of.includes(one)) ?? true)
}

/** Everything that the message says. */
async function tell(deps: Deps, thread: Thread, shared: boolean): Promise<Told> {
  const snapshot = deps.policies.current()
  const freezes = await freezesNow(deps, thread.tenant)
  const now = deps.store.now()
  const isClosed = closedAs(thread, { now, freezes }) !== undefined
  const { seats } = quorumOf(deps, snapshot?.directory.tenants.get(thread.tenant), { thread, freezes })
  return {
    thread,
    heading: shownHeading(snapshot, thread.tool, thread.heading),
    link: deps.threadUrl(thread.thread_id),
    now,
    seats,
    view: snapshot?.views[thread.risk],
    shared,
    ...(isClosed ? { ended: endOf(thread) } : { call: await callOf(deps, thread) }),
  }
}

function endOf(thread: Thread): string {
  const { status, approval, withdrawn_at } = thread
  if (withdrawn_at !== undefined) return 'Withdrawn.'
  if (status === 'changes_requested') return 'Changes were requested.'
  if (status === 'approved')
    return approval?.redeemed_at === undefined ? 'Approved.' : 'Approved. The agent has used the approval.'
  const isVoted = currentVotes(thread).some(({ decision }) => decision === 'reject')
  return isVoted ? 'Rejected.' : 'It ended without a decision.'
}

/** A reader who sees no hidden value. */
const NOBODY = { id: '', via: 'slack' } as const

async function callOf(deps: Deps, thread: Thread): Promise<ToldCall> {
  const snapshot = deps.policies.current()
  const revisions = await revisionsOf(deps, { ...NOBODY, tenant: thread.tenant } as Caller, thread)
  const { record, shown } = revisions
  const enforced = record.fired.filter(({ mode }) => mode === 'enforced')
  const properties = snapshot?.tools.get(thread.tool)?.inputSchema['properties'] ?? {}
  return {
    payload: shown.payload as ToldCall['payload'],
    hidden: shown.masked.length,
    warnings: warningsIn(record, shown).length,
    pictures: shown.pictures.length,
    parts: displayOf(NOBODY, thread, revisions).parts,
    because: enforced.flatMap(({ because = [] }) =>
      because.map((one) => shownReason(snapshot, thread.tool, one)),
    ),
    order: Object.keys(properties),
  }
}

const forgotten = (id: string, { thread_id }: PostedMessage): Write[] => [
  remove('posted', id),
  { op: 'index', index: INDEX.posted(thread_id), member: id },
]

/** Records the place of the message. False when it must be drawn again, because something changed meanwhile. */
async function end(
  deps: Deps,
  tenant: string,
  { id, posted, isEmpty }: Begun,
  stamp: string,
): Promise<Plan<boolean>> {
  const { posting_until: _, ...placed } = posted
  const [known, thread] = await Promise.all([
    read(deps.store, tenant, 'posted', id),
    read(deps.store, tenant, 'thread', placed.thread_id),
  ])
  const guards = [unchanged('posted', id, known)]
  if (known === undefined) return { answer: true }
  if (isEmpty) return { answer: true, guards, writes: forgotten(id, placed) }
  const isSame = known.value.drawing === placed.drawing
  const stands = { ...(isSame ? placed : known.value), stamp: placed.stamp ?? stamp }
  return { answer: isSame && thread !== undefined, guards, writes: [put('posted', id, stands)] }
}
