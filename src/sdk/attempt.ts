import { onAbort } from './abort.ts'
import { CountersignError } from './error.ts'
import { NotExecuted, type Outcome } from './outcome.ts'

const TRIES = 4
/** 502 and 504 are what a proxy says while an instance comes or goes. */
const RETRIED = [429, 502, 503, 504]
const FIRST_PAUSE_MS = 100
/** Of our own: a gateway that is back is soon asked again. */
const LONGEST_OWN_PAUSE_MS = 5_000
/** Of a gateway that asks for more. */
const LONGEST_PAUSE_MS = 30_000
/** Of one that asks for less, once it has failed a few times: it is never asked in a tight loop. */
const LEAST_PAUSE_MS = 1_000

/** Of whom, and about what, a call is. */
export interface Attempted {
  readonly signal?: AbortSignal | undefined
  readonly thread_id?: string | undefined
  readonly tries?: number
  /** Instead of a number of tries: until when (of `performance.now()`) an answer that may still come is asked for. */
  readonly until?: number
}

/**
 * Retries what may be retried: no answer, and an answer that says that another may come. Every call is safe to repeat: a second redemption only reads `used`.
 *
 * @throws NotExecuted
 */
export async function attempt<T>(call: () => Promise<T>, about: Attempted = {}): Promise<T> {
  const { signal, thread_id } = about
  for (let made = 1; ; made++) {
    try {
      return await call()
    } catch (error) {
      if (signal?.aborted) throw gaveUp(signal.reason, thread_id)
      if (!retryable(error) || isEnough(made, about))
        throw new NotExecuted(outcomeOf(error), toldOf(error), { thread_id, cause: error })
      await pause(Math.min(pauseOf(error, made), leftOf(about)), about)
    }
  }
}

function isEnough(made: number, about: Attempted): boolean {
  return about.until === undefined ? made >= (about.tries ?? TRIES) : leftOf(about) <= 0
}

function leftOf({ until = Infinity }: Attempted): number {
  return until - performance.now()
}

/** What the call itself has to change, as after what the local check finds: a payload that does not fit, that no JSON of the gateway holds, or that is too large. */
const OF_THE_CALL = ['invalid_policy_input', 'invalid_json', 'body_too_large']

function outcomeOf(error: unknown): Outcome {
  const misfit = error instanceof CountersignError && OF_THE_CALL.includes(error.code)
  return misfit ? 'invalid_payload' : 'gateway_error'
}

/** With the places, without which nobody could correct them. */
function toldOf(error: unknown): string {
  const complaints = error instanceof CountersignError ? error.errors : []
  const places = complaints.map(({ pointer, message }) => `${pointer} ${message}`)
  return [messageOf(error), ...(places.length === 0 ? [] : [places.join('; ')])].join(': ')
}

function retryable(error: unknown): boolean {
  return error instanceof CountersignError && (error.status === undefined || RETRIED.includes(error.status))
}

function pauseOf(error: unknown, made: number): number {
  const own = FIRST_PAUSE_MS * 2 ** made
  const asked = error instanceof CountersignError ? error.retryAfter : undefined
  if (asked === undefined) return Math.min(own, LONGEST_OWN_PAUSE_MS)
  return Math.min(Math.max(asked * 1_000, Math.min(own, LEAST_PAUSE_MS)), LONGEST_PAUSE_MS)
}

/** @throws NotExecuted as soon as the caller gives up */
export async function pause(ms: number, about: Attempted): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<void>((resolve) => {
    // timers drop what is less than a millisecond, and may be one early: who waits for a deadline would ask again just before it
    timer = setTimeout(resolve, Math.ceil(ms) + 1)
  })
  await orAborted(over, about).finally(() => clearTimeout(timer))
}

/** What `work` becomes, however long it takes, unless the caller gives up first. @throws NotExecuted then */
export async function orAborted<T>(work: Promise<T>, { signal, thread_id }: Attempted): Promise<T> {
  if (signal === undefined) return work
  let forget: (() => void) | undefined
  const aborted = new Promise<never>((_, reject) => {
    const abort = (): void => reject(gaveUp(signal.reason, thread_id))
    if (signal.aborted) abort()
    else forget = onAbort(signal, abort)
  })
  return Promise.race([work, aborted]).finally(forget)
}

/** A caller who gave up never sees the call run, whenever that was. @throws NotExecuted */
export function checkAborted({ signal, thread_id }: Attempted): void {
  if (signal?.aborted) throw gaveUp(signal.reason, thread_id)
}

/** Whoever only waited long enough may come again, and goes on; whoever does not want the call any more does not. */
function gaveUp(cause: unknown, thread_id: string | undefined): NotExecuted {
  if (isTimeout(cause))
    return new NotExecuted('timeout', 'the caller waited long enough', { thread_id, cause })
  return new NotExecuted('aborted', 'the caller gave up', { thread_id, cause })
}

/** As the reason of `AbortSignal.timeout` is named, and those of frameworks that end a tool after a time. */
function isTimeout(cause: unknown): boolean {
  const name = typeof cause === 'object' && cause !== null ? (cause as { name?: unknown }).name : undefined
  return typeof name === 'string' && name.endsWith('TimeoutError')
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
