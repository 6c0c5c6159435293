import { createHmac } from 'node:crypto'

/** The headers that prove the origin of a delivery: the gateway's own headers, and those of Standard Webhooks. */
export interface Signed {
  readonly [header: string]: string
}

const PREFIX = 'whsec_'

/**
 * @param secrets `whsec_` + base64 of 32 bytes each, the current one first; during a rotation there are two
 * @param seconds since 1970
 *
 * - `X-Guard-Signature: sha256=<hex>`: HMAC-SHA256 over the raw body, keyed with the text of the current secret
 *   (docs/webhooks.md).
 * - `X-Guard-Signature-Previous`: the same signature with the previous secret, during a rotation.
 * - `webhook-signature` of Standard Webhooks 1.0.0: `v1,` and HMAC-SHA256 over `id.timestamp.body`, keyed with the
 *   decoded bytes; one for each secret, separated by blanks.
 */
export function sign(
  { id, seconds, body }: { readonly id: string; readonly seconds: number; readonly body: string },
  secrets: readonly string[],
): Signed {
  const [current = '', previous] = secrets
  const standard = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
  })
  return {
    'x-guard-signature': guardSignature(current, body),
    ...(previous === undefined ? {} : { 'x-guard-signature-previous': guardSignature(previous, body) }),
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': standard.join(' '),
  }
}

function guardSignature(secret: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}

/** Creates a secret from 32 random bytes. */
export function composeSecret(bytes: Uint8Array): string {
  return PREFIX + Buffer.from(bytes).toString('base64')
}
