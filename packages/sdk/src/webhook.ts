/**
 * The message of a webhook. The body was verified; the names follow `WebhookBody` in the gateway's OpenAPI document.
 */
export interface WebhookMessage {
  /** An id that is the same for every attempt of a delivery. Use the id to ignore repeated deliveries. */
  readonly id: string
  readonly type: string
  /** The time of the event, RFC 3339. */
  readonly timestamp: string
  readonly tenant_id: string
  readonly agent_id?: string
  readonly tool_name?: string
  readonly task_id?: string
  readonly thread_id?: string
  readonly decision?: string
  readonly message?: string
  readonly workflow_name?: string
  readonly task_label?: string
  readonly revision?: number
  readonly risk?: string
  /** The number within the thread, from 1, because deliveries may arrive in another order. */
  readonly sequence?: number
  readonly payload?: Readonly<Record<string, unknown>>
}

export interface VerifyOptions {
  /** Maximum age of a delivery, and maximum lead over the local clock, in seconds. Default 300. */
  readonly toleranceSeconds?: number
  /** Seconds since 1970. */
  readonly now?: number
}

/** Headers of a request, from fetch or from Node's `request.headers` or `request.headersDistinct`. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

/** The error for a delivery that is outdated or not signed with the secret. Ignore the delivery, and answer 400. */
export class WebhookRefused extends Error {
  override readonly name = 'WebhookRefused'
}

const TOLERANCE_SECONDS = 300
const PREFIX = 'whsec_'
/** At least 24 bytes, as Standard Webhooks requires. */
const SECRET = /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/

/**
 * Verifies a delivery: `X-Guard-Signature` over the raw body, and `webhook-signature` over id, time and body, against
 * replays. During a rotation, pass both secrets.
 *
 * @param secrets `whsec_...`, as the gateway printed it
 * @param body the raw body, unchanged
 * @throws WebhookRefused; TypeError for an invalid secret, and for a body that was parsed already
 */
export async function verifyWebhook(
  secrets: string | readonly string[],
  headers: WebhookHeaders,
  body: string | Uint8Array,
  { toleranceSeconds = TOLERANCE_SECONDS, now = Date.now() / 1_000 }: VerifyOptions = {},
): Promise<WebhookMessage> {
  const bytes = bytesOfBody(body)
  const read = (name: string): string => headerOf(headers, name)
  const [id, seconds] = [read('webhook-id'), read('webhook-timestamp')]
  // compares in this direction, because a tolerance of NaN must not accept any delivery
  if (!/^\d{1,12}$/.test(seconds) || !(Math.abs(now - Number(seconds)) <= toleranceSeconds))
    throw new WebhookRefused('the delivery is too old, or from the future')
  const given = [read('x-guard-signature'), optional(headers, 'x-guard-signature-previous')]
  const stamped = concat(new TextEncoder().encode(`${id}.${seconds}.`), bytes)
  for (const secret of [secrets].flat()) {
    const key = bytesOf(secret)
    const [guard, standard] = await Promise.all([
      hmac(new TextEncoder().encode(secret), bytes).then((mac) => `sha256=${hexOf(mac)}`),
      hmac(key, stamped).then((mac) => `v1,${base64Of(mac)}`),
    ])
    const both =
      given.some((one) => isEqual(one, guard)) &&
      read('webhook-signature')
        .split(' ')
        .some((one) => isEqual(one, standard))
    if (both) return messageOf(bytes, id)
  }
  throw new WebhookRefused('the signature is not one of ours')
}

function messageOf(bytes: Uint8Array, id: string): WebhookMessage {
  const message = parse(bytes) as WebhookMessage | null
  if (message?.id !== id) throw new WebhookRefused('the id in the header is not that of the body')
  return message
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown
  } catch {
    throw new WebhookRefused('the body is not JSON')
  }
}

/**
 * The bytes of the body. A parsed body has lost the signed bytes. This is an error in the receiver, not a forgery to
 * answer with 400.
 */
function bytesOfBody(body: string | Uint8Array): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body)
  if (ArrayBuffer.isView(body)) return body
  throw new TypeError('the body must be raw, as text or bytes: take it before anything parses it')
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const value = optional(headers, name)
  if (value === '') throw new WebhookRefused(`the header ${name} is missing`)
  return value
}

function optional(headers: WebhookHeaders, name: string): string {
  if (isHeaders(headers)) return headers.get(name) ?? ''
  const entry = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  const [value = '', ...more] = [entry ?? ''].flat()
  return more.length === 0 ? value : ''
}

/** True for Headers of any fetch implementation, because frameworks may have their own. */
const isHeaders = (headers: WebhookHeaders): headers is Headers => typeof headers['get'] === 'function'

async function hmac(key: Uint8Array, message: Uint8Array): Promise<Uint8Array> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const imported = await crypto.subtle.importKey('raw', key as Uint8Array<ArrayBuffer>, algorithm, false, [
    'sign',
  ])
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, message as Uint8Array<ArrayBuffer>))
}

/** Compares signatures in constant time. */
function isEqual(given: string, expected: string): boolean {
  let difference = given.length ^ expected.length
  for (let i = 0; i < expected.length; i++) difference |= given.charCodeAt(i) ^ expected.charCodeAt(i)
  return difference === 0
}

function bytesOf(secret: string): Uint8Array {
  // refuses an empty secret, for example from an unset variable, because everyone would know it
  if (!SECRET.test(secret)) throw new TypeError('a secret is `whsec_` and base64')
  try {
    return Uint8Array.from(atob(secret.slice(PREFIX.length)), (char) => char.charCodeAt(0))
  } catch (cause) {
    throw new TypeError('a secret is `whsec_` and base64', { cause })
  }
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const joined = new Uint8Array(a.length + b.length)
  joined.set(a)
  joined.set(b, a.length)
  return joined
}

const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

const base64Of = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))
