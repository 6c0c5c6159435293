import { computed, signal } from '@preact/signals'
import type { ThreadChange, ThreadSummary } from '../../contract/reviewer.ts'
import { list as lastList, refine, route } from '../route/router.ts'
import type { Filters } from '../route/filters.ts'
import { me } from '../session/session.ts'
import { isHeld } from '../outbox/outbox.ts'
import { now } from '../time/clock.ts'
import { announce } from '../shell/announce.tsx'
import { foldEqual, type Row } from './equal-calls.ts'
import { matches, merge } from './merge.ts'
import { addressOf, createThreads } from './threads.ts'

/** The list of waiting calls. It stays while a call is open, and its rows keep their places until the reviewer asks. */
export const queue = createThreads()
/** The answer of the gateway after a lost connection, which is compared with the list. */
const latest = createThreads()
/** The heading under which the list first showed each row. It does not change while the row stays. */
const sections = new Map<string, string>()
/** Calls that arrived since, and wait behind a button. */
export const news = signal<readonly ThreadSummary[]>([])
/** Rows of calls that have ended while the page did not listen. */
const gone = signal<ReadonlySet<string>>(new Set())
/** The groups of equal calls that are unfolded. */
export const unfolded = signal<ReadonlySet<string>>(new Set())
/** Changes that arrived during a load. The answer to the load may be older. */
const meanwhile: ThreadChange[] = []
let filters: Filters = {}
/** The time of the last load, ms since 1970. */
export const readAt = signal(0)

export const rows = computed((): readonly Row[] => foldEqual(queue.state.value.items))
const drawn = computed(() =>
  rows.value.flatMap(({ first, others }) => (isUnfolded(first) ? [first, ...others] : [first])),
)

/** Rows that follow each other under one heading: a risk, `others`, or none in an order other than by urgency. */
export function sectionsOf(all: readonly Row[]): { readonly of: string; readonly rows: Row[] }[] {
  const parts: { of: string; rows: Row[] }[] = []
  for (const row of all) {
    const of = sectionOf(row.first)
    if (parts.at(-1)?.of === of) parts.at(-1)?.rows.push(row)
    else parts.push({ of, rows: [row] })
  }
  return parts
}

function sectionOf({ thread_id: id, mine, risk }: ThreadSummary): string {
  if (filters.sort) return ''
  const known = sections.get(id) ?? (mine ? risk : 'others')
  sections.set(id, known)
  return known
}

export const isUnfolded = ({ equal }: ThreadSummary): boolean => unfolded.value.has(equal ?? '')

const own = (): string => me.value?.reviewer ?? ''

/** True when the call no longer belongs to the list, or this page holds a vote for it. */
export const isOver = (thread: ThreadSummary): boolean =>
  isHeld(thread.thread_id) || gone.value.has(thread.thread_id) || !matches(thread, filters, own())

export const needsMe = (thread: ThreadSummary): boolean => thread.mine && !isOver(thread)

/**
 * The loaded calls that are alike and need the reviewer's vote, in their order. A call of critical risk has none, and a
 * browser must be able to compute digests.
 */
export function alikeTo({ alike, risk }: ThreadSummary): readonly ThreadSummary[] {
  if (alike === undefined || risk === 'critical' || globalThis.crypto?.subtle === undefined) return []
  return queue.state.value.items.filter((one) => one.alike === alike && needsMe(one))
}

/** Loads the list from its start, with the calls that arrived. */
export async function loadQueue(next: Filters = filters): Promise<void> {
  filters = next
  news.value = []
  await queue.load(addressOf(waiting()))
  readAt.value = now.peek()
  gone.value = new Set()
  sections.clear()
  queue.state.value.items.forEach(sectionOf)
  catchUp()
}

export const moreOfQueue = (): Promise<void> => queue.more().then(catchUp)

const waiting = (): Filters => ({ ...filters, status: 'pending_review' })

function catchUp(): void {
  if (!queue.state.value.loading) meanwhile.splice(0).forEach(apply)
}

export function hear(change: ThreadChange): void {
  if (queue.state.value.loading) meanwhile.push(change)
  apply(change)
}

function apply({ thread, type }: ThreadChange): void {
  const { arrived, ...loaded } = merge(queue.state.value, thread, filters, own())
  queue.state.value = { ...queue.state.value, ...loaded }
  const others = news.value.filter(({ thread_id }) => thread_id !== thread.thread_id)
  if (!arrived) {
    if (others.length < news.value.length) news.value = others
    return
  }
  if (type === 'review.pending') announce(`New: ${thread.risk} ${thread.tool_name} by ${thread.agent}`)
  news.value = [...others, thread]
}

/** Reads the list again after a lost connection, without moving a row. */
export async function catchUpQueue(): Promise<void> {
  const { items, problem } = queue.state.value
  if (problem || items.length === 0) return loadQueue()
  await latest.load(addressOf(waiting()), items.length)
  const { items: now, problem: again, address, loading, cursor } = latest.state.value
  if (again || loading || address !== queue.state.value.address) return
  const fresh = new Map(now.map((one) => [one.thread_id, one]))
  const before = queue.state.value.items
  queue.state.value = {
    ...queue.state.value,
    items: before.map((one) => fresh.get(one.thread_id) ?? one),
  }
  gone.value = new Set(before.flatMap((one) => (fresh.has(one.thread_id) ? [] : [one.thread_id])))
  const last = before.reduce((latestTime, one) => maxOf(latestTime, one.updated_at), '')
  const known = new Set([...before, ...news.value].map((one) => one.thread_id))
  const missed = now.filter(
    (one) => !known.has(one.thread_id) && (cursor === undefined || one.updated_at >= last),
  )
  if (missed.length > 0) news.value = [...news.value, ...missed]
}

/** The later of two times. All times have the same length. */
const maxOf = (a: string, b: string): string => (a > b ? a : b)

const open = (): readonly ThreadSummary[] => drawn.value.filter((one) => !isOver(one))

/** The place of a call among the open rows, from 1, and the number of open rows. */
export function placeOf(id: string): { readonly at: number; readonly of: number } {
  const all = open()
  return { at: all.findIndex((one) => one.thread_id === id) + 1, of: all.length }
}

/** The call `by` rows after the given one. It skips rows of ended calls. */
export function neighbour(id: string | undefined, by: number): ThreadSummary | undefined {
  const all = drawn.value
  const at = all.findIndex((one) => one.thread_id === id)
  for (let to = at + by; to >= 0 && to < all.length; to += by) {
    const one = all[to]
    if (one && !isOver(one)) return one
  }
  return undefined
}

/** The next call that needs the reviewer's vote: below the given one, or else from the top. */
export function nextFor(id: string): ThreadSummary | undefined {
  const all = queue.state.value.items
  const at = all.findIndex((one) => one.thread_id === id)
  const wanted = (one: ThreadSummary): boolean => one.thread_id !== id && needsMe(one)
  return all.slice(at + 1).find(wanted) ?? all.find(wanted)
}

/** Opens a call in place of the open one, so that Back leads to where the reviewer came from. */
export function openInstead(thread: string): void {
  const { value: here } = route
  if (here.page !== 'thread' || here.thread !== thread) refine({ page: 'thread', thread })
}

/** True when calls are opened from the queue, and not from a list of another page. */
export const fromQueue = (): boolean => lastList.page === 'queue'
