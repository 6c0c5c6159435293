import { signal } from '@preact/signals'
import type { ThreadChange } from '../../contract/reviewer.ts'
import { UNATTENDED } from '../../contract/unattended.ts'
import { eventsIn, type ServerEvent } from './event-stream.ts'
import { secretHeader } from './secret.ts'

/** How fresh the page is: `live` by the stream, else asked for now and then. */
export type Link = 'live' | 'connecting' | 'lost'
export const link = signal<Link>('connecting')

export interface Listener {
  changed?(change: ThreadChange): void
  /** Something may have been missed: read again. */
  stale(): void
}

const RETRY_MS = 4_000
const UNAUTHENTICATED = 401
const listeners = new Set<Listener>()
/** Ends the stream that is open or opening. */
let source: AbortController | undefined
/** The number of the last event that was seen: what came after it follows. */
let seen = ''
let timer: ReturnType<typeof setTimeout> | undefined

export function listen(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Whether this tab listens also while nobody looks at it: one tab does, which counts and notifies. */
let keeps = false
let lock: unknown

/**
 * A browser has six connections to one place for all of its tabs, and acts need one: so tabs listen only while somebody looks at them, but for the one
 * that got the lock.
 */
const listens = (): boolean => keeps || !document.hidden

function look(): void {
  if (listens() !== Boolean(source)) restart?.()
}

let restart: (() => void) | undefined

/** Opens the stream, and keeps it open: while it is lost, everybody reads again at intervals. */
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
  // something between here and the gateway may keep it from ever opening
  timer = setTimeout(lost, RETRY_MS)
  // a machine that sleeps or leaves its network says so at once; its connections may take minutes to notice
  window.onoffline = lost
  const over = (): void => {
    mine.abort()
    if (source === mine) lost()
  }
  follow(mine.signal, signedOut).then(over, over)
}

/** Resolves, or rejects, when the stream has ended. */
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
  clearTimeout(timer)
  link.value = 'live'
  for await (const event of eventsIn(response.body)) {
    if (ended.aborted) return
    seen = event.id || seen
    hear(event, signedOut)
  }
}

function hear({ event, data }: ServerEvent, signedOut: () => void): void {
  if (event === 'signed_out') return signedOut()
  // what happened before this, the page may have read too early
  if (event === 'hello' || event === 'reset') return everybodyReads()
  if (event !== 'thread') return
  const change = JSON.parse(data) as ThreadChange
  for (const listener of listeners) listener.changed?.(change)
}

/** Resumes by the last number that was seen. */
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
