import type { Problem } from '../../contract/errors.ts'
import { UNATTENDED } from '../../contract/unattended.ts'
import { learnTime } from '../time/clock.ts'
import { signal } from '@preact/signals'
import { isAttended } from './attention.ts'
import type { Address } from './path.ts'
import { secretHeader } from './secret.ts'

/** A refusal in the gateway's own words. Two codes are the console's own, for missing answers. */
export type Refusal = Pick<Problem, 'title' | 'detail' | 'errors'> & {
  readonly status: number
  readonly code: string
}

export type Outcome<T> =
  | { readonly ok: true; readonly body: T; readonly problem?: never }
  | { readonly ok: false; readonly problem: Refusal; readonly body?: never }

export interface Request {
  /** A string is JSON already, and is sent unchanged. */
  readonly body?: object | string
  /** True for a request that must outlast the page. */
  readonly keepalive?: boolean
  /** Sent as `If-Match`: the digest of the shown revision. */
  readonly digest?: string
}

/** The time of the last answer of the gateway, ms since 1970 by this clock. */
export const answeredAt = signal(Date.now())

let signedOut = (): void => {}

/** Registers the act to run when any call finds the session ended. */
export function onSignedOut(act: () => void): void {
  signedOut = act
}

/** The number of sessions that began on this page. */
let sessions = 0

/** Begins another session. A late report that an earlier session ended does not affect a newer session. */
export function beginSession(): void {
  sessions += 1
}

/** Maximum wait for an answer, ms. Without this limit, a lost answer would block further acts forever. */
const PATIENCE_MS = 60_000

/** Calls the gateway. Never throws, because errors are part of the outcome. */
export async function call<T>(method: 'GET', path: Address, request?: Request): Promise<Outcome<T>>
export async function call<T>(method: 'POST', path: Address<'POST'>, request?: Request): Promise<Outcome<T>>
export async function call<T>(
  method: 'DELETE',
  path: Address<'DELETE'>,
  request?: Request,
): Promise<Outcome<T>>
export async function call<T>(method: string, path: string, request: Request = {}): Promise<Outcome<T>> {
  const session = sessions
  let response: Response
  try {
    response = await fetch(`/api/${path}`, {
      method,
      ...contentOf(request, method === 'GET' && !isAttended()),
      redirect: 'error',
      signal: AbortSignal.timeout(PATIENCE_MS),
      cache: 'no-store',
    })
  } catch {
    return { ok: false, problem: method === 'GET' ? UNREACHABLE : UNKNOWN }
  }
  learnTime(response.headers.get('date'))
  answeredAt.value = Date.now()
  const body = (await response.json().catch(() => undefined)) as T | Refusal | undefined
  // an answer that ended early, or that another server sent, is not a success
  const whole = body !== undefined || response.status === NO_CONTENT
  if (response.ok && whole) return { ok: true, body: body as T }
  // a used link does not end a session
  if (response.status === 401 && path !== 'review/session' && session === sessions) signedOut()
  return { ok: false, problem: isRefusal(body) ? body : unreadable(response.status) }
}

export const get = <T>(path: Address): Promise<Outcome<T>> => call<T>('GET', path)

/**
 * Reads a picture from the gateway. A `src` attribute cannot load the picture, because it sends no header. Returns
 * undefined when the picture did not arrive.
 */
export async function getBlob(path: Address): Promise<Blob | undefined> {
  try {
    const content = contentOf({}, !isAttended())
    const response = await fetch(`/api/${path}`, { ...content, redirect: 'error' })
    return response.ok ? await response.blob() : undefined
  } catch {
    return undefined
  }
}

function contentOf({ body, digest, keepalive = false }: Request, unattended: boolean): RequestInit {
  return {
    keepalive,
    headers: {
      ...secretHeader(),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(digest !== undefined && { 'if-match': `"${digest}"` }),
      ...(unattended && { [UNATTENDED]: '1' }),
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  }
}

const NO_CONTENT = 204

const isRefusal = (body: unknown): body is Refusal =>
  typeof body === 'object' && body !== null && 'code' in body && 'title' in body

/** A refusal of the page itself. */
export const refusal = (code: string, title: string, detail = '', status = 0): Refusal => ({
  status,
  code,
  title,
  detail,
})

const UNREACHABLE = refusal(
  'unreachable',
  'The gateway cannot be reached',
  'It may be restarting, or the network is down. Nothing was changed.',
)
const UNKNOWN = refusal(
  'outcome_unknown',
  'The connection ended before an answer arrived',
  'The request may have taken effect, or not.',
)
const unreadable = (status: number): Refusal =>
  refusal(
    status >= 500 || status < 300 ? 'outcome_unknown' : 'unreadable',
    'The answer cannot be read',
    `It has the status ${status}; a proxy between this page and the gateway may have answered instead.`,
    status,
  )

/** True when the act's outcome is unknown. Read the state again before acting. */
export const isUnknown = (problem?: Refusal): boolean => problem?.code === 'outcome_unknown'
