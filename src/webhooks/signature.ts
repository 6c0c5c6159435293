import { createHmac } from 'node:crypto'

/** What proves that a delivery comes from here: the header of the contract, and those of Standard Webhooks beside it. */
export interface Signed {
  readonly [header: string]: string
}

const PREFIX = 'whsec_'

/**
 * @param secrets `whsec_` + base64 of 32 bytes each, the current one first; during a rotation there are two
 * @param seconds since 1970
 *
 * `X-Guard-Signature: sha256=<hex>` is HMAC-SHA256 over the raw body, keyed with the secret as it stands (docs/webhooks.md); during a rotation
 * with the current secret, and `X-Guard-Signature-Previous` with the one before. `webhook-signature` is that of Standard Webhooks 1.0.0: `v1,` and
 * HMAC-SHA256 over `id.timestamp.body`, keyed with the decoded bytes; one for each secret, separated by blanks.
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

/** A new secret from 32 random bytes. */
export function composeSecret(bytes: Uint8Array): string {
  return PREFIX + Buffer.from(bytes).toString('base64')
}
