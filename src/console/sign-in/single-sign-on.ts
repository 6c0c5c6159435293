import { keep, kept } from '../wire/storage.ts'

/**
 * The storage key of this tab's sign-in at the provider. The provider's answer is for this tab alone
 * (docs/signing-in.md).
 */
const KEY = 'verifier'
const BYTES = 32

/**
 * Opens the provider's page. Returns false when the browser has no cryptography, as on remote pages over plain HTTP.
 */
export async function beginSingleSignOn(url: string): Promise<boolean> {
  if (!globalThis.isSecureContext) return false
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(BYTES)))
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  sessionStorage.setItem(KEY, verifier)
  location.href = `${url}?challenge=${base64url(new Uint8Array(digest))}`
  return true
}

/** Removes and returns the verifier of the sign-in that this tab began. */
export function takeVerifier(): string | undefined {
  const verifier = kept('sessionStorage', KEY)
  keep('sessionStorage', KEY, undefined)
  return verifier
}

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '')
