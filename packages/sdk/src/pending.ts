import { onAbort } from './abort.ts'
import { Aborted, type NotExecuted } from './errors.ts'
import { messageOf } from './refusal.ts'
import type { Decision } from './types.ts'

/** A running execution of the caller's `onPending`. */
export interface PendingNotice {
  /** Aborts with the caller's signal, and when `onPending` fails. */
  readonly signal: AbortSignal
  /** @throws NotExecuted when `onPending` has failed, because its audience does not know that the call waits */
  readonly check: () => void
  /** Ends the wait. Later failures are ignored. */
  readonly end: () => void
}

/**
 * Calls `onPending` with a copy, and does not wait for it.
 *
 * @throws NotExecuted when the function fails immediately
 */
export function notifyPending(
  onPending: ((decision: Decision) => unknown) | undefined,
  decision: Decision,
  signal: AbortSignal | undefined,
): PendingNotice {
  const controller = new AbortController()
  let failure: NotExecuted | undefined
  const failed = (cause: unknown): NotExecuted => {
    const { thread_id } = decision
    failure = new Aborted(`onPending failed: ${messageOf(cause)}`, { thread_id, cause })
    return failure
  }
  const check = (): void => {
    if (failure !== undefined) throw failure
  }
  try {
    Promise.resolve(onPending?.({ ...decision })).catch((cause: unknown) => controller.abort(failed(cause)))
  } catch (cause) {
    throw failed(cause)
  }
  const abort = (): void => controller.abort(signal?.reason)
  const forget = signal && !signal.aborted ? onAbort(signal, abort) : undefined
  if (signal?.aborted) abort()
  return { signal: controller.signal, check, end: () => forget?.() }
}
