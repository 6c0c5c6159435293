import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'

/**
 * Text that a caller keeps and returns unchanged. With AES-256-GCM, only the gateway can read or create it. `purpose`
 * separates the keys of different uses, and is authenticated.
 */
export const SEAL_NONCE_BYTES = 12

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const TAG_BYTES = 16

/** Encrypts a string to base64url. `nonce` consists of `SEAL_NONCE_BYTES` random bytes that are never used twice. */
export function seal(secret: Uint8Array, purpose: string, text: string, nonce: Uint8Array): string {
  const cipher = createCipheriv(CIPHER, keyOf(secret, purpose), nonce)
  cipher.setAAD(Buffer.from(purpose))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** Decrypts a string. Returns undefined unless `seal` encrypted the text with the same secret and purpose. */
export function unseal(secret: Uint8Array, purpose: string, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url')
  // Base64url has several spellings of the same bytes, but only the canonical spelling is accepted.
  if (bytes.length < SEAL_NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined
  const nonce = bytes.subarray(0, SEAL_NONCE_BYTES)
  const decipher = createDecipheriv(CIPHER, keyOf(secret, purpose), nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(purpose))
  decipher.setAuthTag(bytes.subarray(SEAL_NONCE_BYTES, SEAL_NONCE_BYTES + TAG_BYTES))
  try {
    const text = Buffer.concat([
      decipher.update(bytes.subarray(SEAL_NONCE_BYTES + TAG_BYTES)),
      decipher.final(),
    ])
    return text.toString('utf8')
  } catch {
    return undefined
  }
}

function keyOf(secret: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', purpose, KEY_BYTES))
}
