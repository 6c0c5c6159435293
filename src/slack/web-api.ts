import { readRetryAfter } from '../domain/retry.ts'
import type { Outbound } from '../outbound/outbound.ts'

/** Time and waiting, so that tests need no real time. */
export interface Clock {
  /** Time that never decreases, ms. */
  now(): number
  /** Resolves after the time, or rejects when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export interface WebApiOptions {
  /** Origin of Slack, or of the server on this machine that takes its place. */
  readonly server: string
  readonly fetch: Outbound['fetch']
  readonly clock: Clock
}

type Json = Readonly<Record<string, unknown>>

export type Called =
  | { readonly ok: true; readonly body: Json; readonly scopes: readonly string[] }
  | { readonly ok: false; readonly code: string; readonly retryMs?: number }

export interface WebApi {
  /** Never rejects. A method that Slack paused (`Retry-After`) is not called before its time. */
  call(token: string, method: string, args?: Json, signal?: AbortSignal): Promise<Called>
}

const DEADLINE_MS = 10_000
/** The pause after a 429 that names none, ms. */
const PAUSE_MS = 30_000

export function createWebApi({ server, fetch, clock }: WebApiOptions): WebApi {
  const pausedUntil = new Map<string, number>()
  return {
    async call(token, method, args = {}, signal) {
      const left = (pausedUntil.get(method) ?? 0) - clock.now()
      if (left > 0) return { ok: false, code: 'ratelimited', retryMs: left }
      const sending = {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/x-www-form-urlencoded',
          'user-agent': 'Countersign',
        },
        body: formOf(args),
        deadlineMs: DEADLINE_MS,
        ...(signal && { signal }),
      }
      try {
        const answer = await fetch(`${server}/api/${method}`, sending)
        const called = await read(answer)
        if (!called.ok && called.retryMs !== undefined) pausedUntil.set(method, clock.now() + called.retryMs)
        return called
      } catch (error) {
        const { cause } = error as Error
        return { ok: false, code: typeof cause === 'string' ? cause : 'connection' }
      }
    },
  }
}

function formOf(args: Json): string {
  const form = Object.entries(args).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  return new URLSearchParams(form).toString()
}

async function read(answer: Response): Promise<Called> {
  if (answer.status === 429) {
    const retryMs = readRetryAfter(answer.headers.get('retry-after') ?? undefined, Date.now()) ?? PAUSE_MS
    return { ok: false, code: 'ratelimited', retryMs }
  }
  const body = (await answer.json().catch(() => undefined)) as Json | undefined | null
  if (answer.status !== 200) return { ok: false, code: `http_${answer.status}` }
  if (typeof body !== 'object' || body === null) return { ok: false, code: 'unreadable' }
  if (body['ok'] !== true) {
    const { error } = body
    return { ok: false, code: typeof error === 'string' ? error : 'unreadable' }
  }
  const scopes = (answer.headers.get('x-oauth-scopes') ?? '').split(',').map((scope) => scope.trim())
  return { ok: true, body, scopes }
}
