import { onAbort } from './abort.ts'
import { messageOf } from './attempt.ts'
import { NotExecuted } from './outcome.ts'
import type { Decision } from './types.ts'

/** Somebody was told that people have to decide, and may still be busy with it. */
export interface Telling {
  /** Aborts with the caller's signal, and when whoever was told fails. */
  readonly signal: AbortSignal
  /** @throws NotExecuted when whoever was told has failed: the caller knows of nothing then */
  readonly check: () => void
  /** Nobody waits for people any more: what fails later is of no interest. */
  readonly end: () => void
}

/** Who listens gets a copy, and is not waited for. @throws NotExecuted when it fails at once */
export function tell(
  onPending: ((decision: Decision) => unknown) | undefined,
  decision: Decision,
  signal: AbortSignal | undefined,
): Telling {
  const controller = new AbortController()
  let failure: NotExecuted | undefined
  const failed = (cause: unknown): NotExecuted => {
    const { thread_id } = decision
    failure = new NotExecuted('aborted', `onPending failed: ${messageOf(cause)}`, { thread_id, cause })
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
