import { signal } from '@preact/signals'
import type { VoteResults } from '../../contract/display.ts'
import type { VoteRequest, VotesRequest } from '../../contract/review-requests.ts'
import type { ThreadView } from '../../contract/reviewer.ts'
import { me, onSigningOut } from '../session/session.ts'
import { announce } from '../shell/announce.tsx'
import { call, get, isUnknown, type Outcome, type Refusal, refusal } from '../wire/call.ts'
import { keep, kept } from '../wire/storage.ts'

/** A vote that has not reached the gateway: it waits, is being sent, or could not be sent. */
export interface Held {
  readonly thread: string
  /** The heading of the call. */
  readonly line: string
  readonly digest: string
  readonly body: VoteRequest
  /** The calls of a vote on several calls, of which `thread` is the first. */
  readonly several?: VotesRequest['votes']
  /** The calls of a vote on several calls that the gateway refused, and why. */
  readonly refused?: readonly Refused[]
  /** The time at which it is sent, ms since 1970. Absent for a vote that could not be sent. */
  readonly sentAt?: number
  readonly sending?: boolean
  /** Why it was not sent or not counted. */
  readonly problem?: Refusal
}

export interface Refused {
  readonly thread: string
  readonly why: string
}

/** The time during which a vote can be taken back, ms. */
const UNDO_MS = 5_000
const ALREADY = 'already_voted'
const UNAUTHENTICATED = 401
const PRECONDITION_FAILED = 412
const NOT_FOUND = 404
/** Bytes of all requests that may outlast the page: browsers permit 64 KiB. */
const OUTLASTS_BYTES = 60_000

export const outbox = signal<readonly Held[]>([])
/** True while a vote waits or is being sent. */
export const isHeld = (thread: string): boolean =>
  outbox.value.some((one) => one.problem === undefined && !one.refused && concerns(one, thread))

const concerns = ({ thread, several }: Held, id: string): boolean =>
  several ? several.some(({ thread_id }) => thread_id === id) : thread === id
export const isRevised = ({ problem }: Held): boolean => problem?.status === PRECONDITION_FAILED

type Answer = Outcome<ThreadView | VoteResults>
type Heard = (answer: Answer) => void
const heard = new Map<string, Heard>()
const timers = new Map<string, ReturnType<typeof setTimeout>>()

/** Keeps a vote for as long as it can be taken back, then sends it. */
export function hold(vote: Held, told: Heard): void {
  heard.set(vote.thread, told)
  put({ ...vote, sentAt: Date.now() + UNDO_MS })
  timers.set(
    vote.thread,
    setTimeout(() => void send(vote.thread), UNDO_MS),
  )
}

/** A vote that the reviewer took back. Signing out forgets it. */
interface TakenBack {
  readonly thread: string
  readonly line: string
  readonly decision: VoteRequest['decision']
  readonly at: string
}

const MOST_KEPT = 20

/** The votes of this tab that were taken back, latest first. */
export const takenBack = signal<readonly TakenBack[]>([])

/** Takes back the newest vote that still waits. */
export function undo(): void {
  const last = outbox.value.findLast(({ sentAt, sending }) => sentAt !== undefined && !sending)
  if (last === undefined) return
  const { thread, line, body } = last
  const one = { thread, line, decision: body.decision, at: new Date().toISOString() }
  takenBack.value = [one, ...takenBack.value].slice(0, MOST_KEPT)
  drop(thread)
  announce('Your vote was taken back')
}

export function drop(thread: string): void {
  clearTimeout(timers.get(thread))
  save(outbox.value.filter((one) => one.thread !== thread))
}

const underWay = new Map<string, Promise<void>>()

/** Sends a vote once, however often it is asked to. */
export function send(thread: string, room = OUTLASTS_BYTES): Promise<void> {
  const known = underWay.get(thread)
  if (known !== undefined) return known
  const sending = sendOnce(thread, room).finally(() => underWay.delete(thread))
  underWay.set(thread, sending)
  return sending
}

/** @param room bytes that the request may have to outlast the page */
async function sendOnce(thread: string, room: number): Promise<void> {
  const vote = outbox.value.find((one) => one.thread === thread)
  if (vote === undefined) return
  clearTimeout(timers.get(thread))
  const whose = key
  const { sentAt: _, problem: __, ...rest } = vote
  put({ ...rest, sending: true })
  const answer = await request(rest, room)
  // another reviewer signed in meanwhile; the next session of this one looks at the vote again
  if (key !== whose) return
  const refused = answer.ok ? refusedIn(answer.body) : []
  if (refused.length > 0) put({ ...rest, refused })
  else if (answer.ok) drop(thread)
  else if (isUnknown(answer.problem) || answer.problem.code === ALREADY)
    await reconcile({ ...rest, problem: answer.problem })
  else put({ ...rest, problem: answer.problem })
  heard.get(thread)?.(answer)
}

function request({ thread, digest, body, several }: Held, room: number): Promise<Answer> {
  const { decision, comment } = body
  const together = several && { decision, votes: several, ...(comment !== undefined && { comment }) }
  const keepalive = bytesOf(together ?? body) < room
  if (together) return call<VoteResults>('POST', 'review/votes', { body: together, keepalive })
  const path = `review/threads/${encodeURIComponent(thread)}/votes` as const
  return call<ThreadView>('POST', path, { body, digest, keepalive })
}

function refusedIn(body: ThreadView | VoteResults): Refused[] {
  if (!('results' in body)) return []
  return body.results.flatMap(({ thread_id: thread, problem }) =>
    problem ? [{ thread, why: problem.detail }] : [],
  )
}

const bytesOf = (body: object): number => new TextEncoder().encode(JSON.stringify(body)).length

/** Sends all votes that wait, because the page or the session is being left, and awaits those that are being sent. */
async function sendAll(): Promise<void> {
  const waiting = outbox.value.filter(({ problem, refused }) => problem === undefined && !refused)
  await Promise.all(waiting.map(({ thread }) => send(thread, OUTLASTS_BYTES / waiting.length)))
}

const leave = (): void => void sendAll()

/** Sends all votes before a sign-out. Returns the reason to stay signed in, when a vote did not arrive. */
async function emptied(): Promise<Refusal | undefined> {
  await sendAll()
  return outbox.value.some(({ problem }) => problem !== undefined) ? UNSENT : undefined
}

const UNSENT = refusal('unsent', 'A vote was not sent', 'Send it or drop it, then sign out.')

function put(vote: Held): void {
  save([...outbox.value.filter((one) => one.thread !== vote.thread), vote])
}

/** The key of the votes of the reviewer who signed in last. */
let key = ''

/** Votes outlast the page, in case that the last request of a page does not arrive. */
function save(votes: readonly Held[]): void {
  outbox.value = votes
  keep('sessionStorage', key, votes.length === 0 ? undefined : JSON.stringify(votes))
}

/** Starts with the votes of an earlier page or session, and keeps those that did not arrive. */
export function startOutbox(): () => void {
  key = `votes ${me.value?.tenant}/${me.value?.reviewer}`
  addEventListener('pagehide', leave)
  onSigningOut(emptied)
  const stored = storedVotes().filter(({ thread, refused }) => !isHeld(thread) && !refused)
  void Promise.all(stored.map(reconcile))
  return () => {
    removeEventListener('pagehide', leave)
    putAway()
  }
}

/** Stops the votes that wait when the session ends: no other session may send them without being asked. */
function putAway(): void {
  for (const timer of timers.values()) clearTimeout(timer)
  save(
    outbox.value.map((vote) => {
      const { sentAt, ...rest } = vote
      return sentAt === undefined || vote.sending ? vote : { ...rest, problem: ENDED }
    }),
  )
  outbox.value = []
}

const SESSION_OVER = 'Your session ended before the vote was sent'
const ENDED = refusal('unauthenticated', SESSION_OVER, '', UNAUTHENTICATED)

async function reconcile(vote: Held): Promise<void> {
  const { thread, body, several = [], problem = NOT_SENT } = vote
  const { sentAt: _, sending: __, refused: ___, ...rest } = vote
  if (vote.several === undefined) {
    if (await isOver(thread, body)) drop(thread)
    else put({ ...rest, problem })
    return
  }
  const over = await Promise.all(several.map((one) => isOver(one.thread_id, { ...body, ...one })))
  const left = several.filter((_one, i) => over[i] !== true)
  if (left.length === 0) drop(thread)
  else put({ ...rest, several: left, problem })
}

/** True when the vote has arrived, or its call is gone. */
async function isOver(thread: string, { revision, decision }: VoteRequest): Promise<boolean> {
  const answer = await get<ThreadView>(`review/threads/${encodeURIComponent(thread)}`)
  const arrived = answer.body?.votes.some(
    (one) => one.reviewer === me.value?.reviewer && one.revision === revision && one.decision === decision,
  )
  return arrived === true || answer.problem?.status === NOT_FOUND
}

function storedVotes(): Held[] {
  try {
    return JSON.parse(kept('sessionStorage', key) ?? '[]') as Held[]
  } catch {
    return []
  }
}

const NOT_SENT = refusal('unreachable', 'The page was left before the vote arrived')

/** True when sending again can help. */
export const canSendAgain = ({ problem }: Held): boolean =>
  problem !== undefined &&
  (problem.status === 0 || problem.status >= 500 || problem.status === UNAUTHENTICATED)
