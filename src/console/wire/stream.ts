import { signal } from '@preact/signals'
import type { ThreadChange } from '../../contract/reviewer.ts'
import { UNATTENDED } from '../../contract/unattended.ts'
import { eventsIn, type ServerEvent } from './event-stream.ts'
import { secretHeader } from './secret.ts'

/** The way in which the page stays current: `live` by the stream, otherwise by reads at intervals. */
export type Link = 'live' | 'connecting' | 'lost'
export const link = signal<Link>('connecting')

export interface Listener {
  changed?(change: ThreadChange): void
  /** Called when the page may have missed a change and must read again. */
  stale(): void
}

const RETRY_MS = 4_000
const UNAUTHENTICATED = 401
const listeners = new Set<Listener>()
/** Ends the stream that is open or opening. */
let source: AbortController | undefined
/** The number of the last event. The stream resumes after this event. */
let seen = ''
let timer: ReturnType<typeof setTimeout> | undefined

export function listen(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** True when this tab listens even while hidden. One tab listens while hidden, to count and to notify. */
let keeps = false
let lock: unknown

/**
 * True when this tab listens. A browser shares six connections among all tabs of an origin, and acts need a free
 * connection. Tabs therefore listen only while visible, except the tab with the lock.
 */
const listens = (): boolean => keeps || !document.hidden

function look(): void {
  if (listens() !== Boolean(source)) restart?.()
}

let restart: (() => void) | undefined

/** Opens the stream and keeps it open. While the stream is lost, all listeners read again at intervals. */
export function startStream(signedOut: () => void): void {
  stopStream()
  restart = window.ononline = () => startStream(signedOut)
  document.onvisibilitychange = look
  lock ??= navigator.locks?.request('stream', () => {
    keeps = true
    look()
    return new Promise(() => {})
  })
  if (!listens()) {
    link.value = 'connecting'
    return
  }
  seen = ''
  open(signedOut)
}

function open(signedOut: () => void): void {
  const mine = new AbortController()
  source = mine
  const lost = (): void => {
    link.value = 'lost'
    clearTimeout(timer)
    timer = setTimeout(() => retry(signedOut), RETRY_MS)
  }
  // an intermediate proxy may keep the stream from ever opening
  timer = setTimeout(lost, RETRY_MS)
  // the browser reports a lost network immediately, but a connection may take minutes to notice
  window.onoffline = lost
  const over = (): void => {
    mine.abort()
    if (source === mine) lost()
  }
  follow(mine.signal, signedOut).then(over, over)
}

/** Follows the stream. Settles when the stream has ended. */
async function follow(ended: AbortSignal, signedOut: () => void): Promise<void> {
  const response = await fetch('/api/review/stream', {
    headers: { ...secretHeader(), [UNATTENDED]: '1', ...(seen !== '' && { 'last-event-id': seen }) },
    redirect: 'error',
    cache: 'no-store',
    signal: ended,
  })
  if (ended.aborted) return
  if (response.status === UNAUTHENTICATED) return signedOut()
  if (!response.ok || !response.body) return
  for await (const event of eventsIn(response.body)) {
    if (ended.aborted) return
    seen = event.id || seen
    hear(event, signedOut)
  }
}

function hear({ event, data }: ServerEvent, signedOut: () => void): void {
  if (event === 'signed_out') return signedOut()
  if (event === 'hello' || event === 'reset') return current()
  if (event !== 'thread') return
  const change = JSON.parse(data) as ThreadChange
  for (const listener of listeners) listener.changed?.(change)
}

/** The stream is open, and the page reads once more, because it may have read before earlier events happened. */
function current(): void {
  clearTimeout(timer)
  everybodyReads()
  link.value = 'live'
}

/** Resumes after the last event number. */
function retry(signedOut: () => void): void {
  everybodyReads()
  if (source?.signal.aborted) open(signedOut)
  else timer = setTimeout(() => retry(signedOut), RETRY_MS)
}

function everybodyReads(): void {
  for (const listener of listeners) listener.stale()
}

export function stopStream(): void {
  restart = undefined
  window.ononline = window.onoffline = null
  clearTimeout(timer)
  const last = source
  source = undefined
  last?.abort()
}
