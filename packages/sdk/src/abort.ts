type Listener = () => void

interface Shared {
  readonly listeners: Set<Listener>
  readonly onSignal: Listener
}

const bySignal = new WeakMap<AbortSignal, Shared>()

/**
 * Calls `listener` when the signal aborts, until the returned function is called. Calls that share a signal share one
 * event listener. An agent may have one signal and many calls, and Node 20 warns at the eleventh listener.
 *
 * @param signal not aborted yet
 */
export function onAbort(signal: AbortSignal, listener: Listener): () => void {
  const shared = bySignal.get(signal) ?? listen(signal)
  shared.listeners.add(listener)
  return () => {
    shared.listeners.delete(listener)
    // a remaining listener would keep an AbortSignal.timeout signal alive
    if (shared.listeners.size > 0 || bySignal.get(signal) !== shared) return
    signal.removeEventListener('abort', shared.onSignal)
    bySignal.delete(signal)
  }
}

function listen(signal: AbortSignal): Shared {
  const listeners = new Set<Listener>()
  const onSignal = (): void => listeners.forEach((listener) => listener())
  const shared = { listeners, onSignal }
  signal.addEventListener('abort', onSignal, { once: true })
  bySignal.set(signal, shared)
  return shared
}

/** A longer timer would end at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** The time limit of one request. */
export interface Deadline {
  readonly signal: AbortSignal
  /** Rejects when the signal aborts. */
  readonly over: Promise<never>
  readonly end: () => void
}

/**
 * Aborts after `ms`, or with the caller's signal. Neither AbortSignal.any with AbortSignal.timeout nor the signal of a
 * fetch alone is enough. Garbage collection in Node can lose such a timeout, or an abort during the read of a body, and
 * the call would never end.
 */
export function deadlineOf(ms: number, signal: AbortSignal | undefined): Deadline {
  const controller = new AbortController()
  const over = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error), {
      once: true,
    })
  })
  // the call may end before the deadline
  over.catch(() => undefined)
  const abort = (): void => controller.abort(signal?.reason)
  const timeout = (): void => controller.abort(new DOMException('no answer in time', 'TimeoutError'))
  const timer = setTimeout(timeout, Math.min(ms, LONGEST_TIMER_MS))
  const forget = signal && !signal.aborted ? onAbort(signal, abort) : undefined
  if (signal?.aborted) abort()
  const end = (): void => {
    clearTimeout(timer)
    forget?.()
  }
  return { signal: controller.signal, over, end }
}
