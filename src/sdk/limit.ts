import { onAbort } from './abort.ts'

/** The end of a call in time. */
export interface Limit {
  readonly signal: AbortSignal
  /** Rejects when the signal aborts. */
  readonly over: Promise<never>
  readonly end: () => void
}

/**
 * Aborts after `ms`, or with the caller's signal. Neither AbortSignal.any with AbortSignal.timeout nor the signal of a fetch alone: Node forgets a timeout that only
 * such a signal knows, and an abort that comes while a body is read, when it collects garbage, and the call would never end.
 */
export function limitOf(ms: number, signal: AbortSignal | undefined): Limit {
  const controller = new AbortController()
  const over = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error), {
      once: true,
    })
  })
  // nobody may be left to hear of it
  over.catch(() => undefined)
  const abort = (): void => controller.abort(signal?.reason)
  const timer = setTimeout(() => controller.abort(new DOMException('no answer in time', 'TimeoutError')), ms)
  const forget = signal && !signal.aborted ? onAbort(signal, abort) : undefined
  if (signal?.aborted) abort()
  const end = (): void => {
    clearTimeout(timer)
    forget?.()
  }
  return { signal: controller.signal, over, end }
}
