import { signal } from '../signal.ts'
import type { ThreadChange } from '../../contract/reviewer.ts'

/** How fresh the page is: `live` by the stream, else asked for now and then. */
export type Link = 'live' | 'connecting' | 'lost'
export const link = signal<Link>('connecting')

export interface Listener {
  changed?(change: ThreadChange): void
  /** Something may have been missed: read again. */
  stale(): void
}

const RETRY_MS = 4_000
const listeners = new Set<Listener>()
let source: EventSource | undefined
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
  source = new EventSource('/api/review/stream')
  source.onopen = () => {
    clearTimeout(timer)
    link.value = 'live'
  }
  const lost = (): void => {
    link.value = 'lost'
    clearTimeout(timer)
    timer = setTimeout(() => retry(signedOut), RETRY_MS)
  }
  // something between here and the gateway may keep it from ever opening
  timer = setTimeout(lost, RETRY_MS)
  // a machine that sleeps or leaves its network says so at once; its connections may take minutes to notice
  window.onoffline = source.onerror = lost
  // what happened before this, the page may have read too early
  source.addEventListener('hello', everybodyReads)
  source.addEventListener('reset', everybodyReads)
  source.addEventListener('signed_out', signedOut)
  source.addEventListener('thread', ({ data }: MessageEvent<string>) => {
    const change = JSON.parse(data) as ThreadChange
    for (const listener of listeners) listener.changed?.(change)
  })
}

/** The browser itself reconnects, and resumes by the last number it saw, unless it has given up. */
function retry(signedOut: () => void): void {
  everybodyReads()
  if (source?.readyState === EventSource.CLOSED) startStream(signedOut)
  else timer = setTimeout(() => retry(signedOut), RETRY_MS)
}

function everybodyReads(): void {
  for (const listener of listeners) listener.stale()
}

export function stopStream(): void {
  restart = undefined
  window.ononline = window.onoffline = null
  clearTimeout(timer)
  source?.close()
  source = undefined
}
