import { onAbort } from './abort.ts'
import {
  Aborted,
  CountersignError,
  GatewayRefused,
  GatewayUnavailable,
  GatewayUntrusted,
  InvalidPayload,
  type NotExecuted,
  StillPending,
  UnexpectedAnswer,
} from './errors.ts'
import { messageOf } from './refusal.ts'

const TRIES = 4
/** Retried statuses. Proxies answer 502 and 504 while an instance starts or ends. */
const RETRIED = [429, 502, 503, 504]
const FIRST_PAUSE_MS = 100
/** Maximum pause without `Retry-After`. */
const LONGEST_OWN_PAUSE_MS = 5_000
/** Maximum pause that a gateway can request. */
const LONGEST_PAUSE_MS = 30_000
/** Minimum pause after a few failures, regardless of the gateway's request, which prevents a tight loop. */
const LEAST_PAUSE_MS = 1_000

/** The call to retry, and the time limit. */
export interface RetryContext {
  readonly signal?: AbortSignal | undefined
  readonly thread_id?: string | undefined
  readonly tries?: number
  /** Retries until this time of `performance.now()`, instead of a number of attempts. */
  readonly until?: number
}

/**
 * Retries when an answer is missing, or when an answer indicates that a retry may succeed. Every call is safe to
 * repeat, because a second redemption only returns `used`.
 *
 * @throws NotExecuted
 */
export async function withRetry<T>(call: () => Promise<T>, context: RetryContext = {}): Promise<T> {
  const { signal, thread_id } = context
  for (let made = 1; ; made++) {
    try {
      return await call()
    } catch (error) {
      if (signal?.aborted) throw gaveUp(signal.reason, thread_id)
      if (!isRetryable(error) || isEnough(made, context)) throw refusalOf(error, thread_id)
      await pause(Math.min(pauseOf(error, made), leftOf(context)), context)
    }
  }
}

function isEnough(made: number, context: RetryContext): boolean {
  return context.until === undefined ? made >= (context.tries ?? TRIES) : leftOf(context) <= 0
}

function leftOf({ until = Infinity }: RetryContext): number {
  return until - performance.now()
}

/** Codes of errors in the call itself: the payload violates the contract, is not acceptable JSON, or is too large. */
const OF_THE_CALL = ['invalid_policy_input', 'invalid_json', 'body_too_large']

/** Codes of TLS errors in Node, Bun and Deno, where they tell. */
const OF_TLS = /^(?:ERR_(?:TLS|SSL)_|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/

function refusalOf(cause: unknown, thread_id: string | undefined): NotExecuted {
  const told = detailsOf(cause)
  if (!(cause instanceof CountersignError)) return new GatewayUnavailable(told, { thread_id, cause })
  const { code, status, errors } = cause
  if (status === undefined) {
    const fault = (cause.cause as { readonly cause?: { readonly code?: unknown } } | undefined)?.cause?.code
    const Unreached = typeof fault === 'string' && OF_TLS.test(fault) ? GatewayUntrusted : GatewayUnavailable
    return new Unreached(told, { thread_id, cause })
  }
  const details = { thread_id, cause, problem: code, places: errors.map(({ pointer }) => pointer) }
  if (OF_THE_CALL.includes(code)) return new InvalidPayload(told, details)
  if (code === 'unreadable' && !RETRIED.includes(status)) return new UnexpectedAnswer(told, details)
  return status >= 500 || RETRIED.includes(status)
    ? new GatewayUnavailable(told, details)
    : new GatewayRefused(told, details)
}

/** The message with the faulty members, so that a model can correct them. */
function detailsOf(error: unknown): string {
  const complaints = error instanceof CountersignError ? error.errors : []
  const places = complaints.map(({ pointer, message }) => `${pointer} ${message}`)
  return [messageOf(error), ...(places.length === 0 ? [] : [places.join('; ')])].join(': ')
}

function isRetryable(error: unknown): boolean {
  if (!(error instanceof CountersignError)) return false
  return error.status === undefined || RETRIED.includes(error.status)
}

function pauseOf(error: unknown, made: number): number {
  const own = FIRST_PAUSE_MS * 2 ** made
  const asked = error instanceof CountersignError ? error.retryAfter : undefined
  if (asked === undefined) return Math.min(own, LONGEST_OWN_PAUSE_MS)
  return Math.min(Math.max(asked * 1_000, Math.min(own, LEAST_PAUSE_MS)), LONGEST_PAUSE_MS)
}

/**
 * Waits.
 *
 * @throws NotExecuted as soon as the caller gives up
 */
export async function pause(ms: number, context: RetryContext): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<void>((resolve) => {
    // timers drop fractions of a millisecond and may fire one early, just before the deadline
    timer = setTimeout(resolve, Math.ceil(ms) + 1)
  })
  await orAborted(over, context).finally(() => clearTimeout(timer))
}

/**
 * Waits for `work` without a time limit, unless the caller gives up.
 *
 * @throws NotExecuted then
 */
export async function orAborted<T>(work: Promise<T>, { signal, thread_id }: RetryContext): Promise<T> {
  if (signal === undefined) return work
  let forget: (() => void) | undefined
  const aborted = new Promise<never>((_, reject) => {
    const abort = (): void => reject(gaveUp(signal.reason, thread_id))
    if (signal.aborted) abort()
    else forget = onAbort(signal, abort)
  })
  return Promise.race([work, aborted]).finally(forget)
}

/**
 * Ends a call whose caller gave up.
 *
 * @throws NotExecuted
 */
export function checkAborted({ signal, thread_id }: RetryContext): void {
  if (signal?.aborted) throw gaveUp(signal.reason, thread_id)
}

/**
 * The error for a caller that gave up. After a timeout, the same call may be repeated and resume. Any other reason ends
 * the call.
 */
function gaveUp(cause: unknown, thread_id: string | undefined): NotExecuted {
  if (isTimeout(cause)) return new StillPending('the caller waited long enough', { thread_id, cause })
  return new Aborted('the caller gave up', { thread_id, cause })
}

/** True when the reason is a timeout, by the name that `AbortSignal.timeout` and frameworks with time limits use. */
function isTimeout(cause: unknown): boolean {
  const name = typeof cause === 'object' && cause !== null ? (cause as { name?: unknown }).name : undefined
  return typeof name === 'string' && name.endsWith('TimeoutError')
}
