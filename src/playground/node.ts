/*
 * The functions of Node.js that policy code uses, for a browser. The builds of the console and of the documentation
 * site resolve `node:*` to this module (portable.mjs).
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, concatBytes } from '@noble/hashes/utils.js'
import { Buffer } from 'buffer/'

export { Buffer }

type Encoding = 'hex' | 'base64url'

const bytesOf = (data: string | Uint8Array): Uint8Array =>
  typeof data === 'string' ? new TextEncoder().encode(data) : data

function digestIn(encoding: Encoding, bytes: Uint8Array): string {
  const digest = sha256(bytes)
  if (encoding === 'hex') return bytesToHex(digest)
  return btoa(String.fromCodePoint(...digest))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

/** `node:crypto`, only for SHA-256. */
export const hash = (_: 'sha256', data: string | Uint8Array, encoding: Encoding = 'hex'): string =>
  digestIn(encoding, bytesOf(data))

/** `node:crypto`, only for SHA-256. */
export function createHash(algorithm: 'sha256'): {
  update(data: string | Uint8Array): ReturnType<typeof createHash>
  digest(encoding: Encoding): string
} {
  if (algorithm !== 'sha256') throw new TypeError(`no hash ${String(algorithm)} in a browser`)
  let all: Uint8Array = new Uint8Array()
  const hasher = {
    update: (data: string | Uint8Array) => {
      all = concatBytes(all, bytesOf(data))
      return hasher
    },
    digest: (encoding: Encoding) => digestIn(encoding, all),
  }
  return hasher
}

/** `node:util`, for JSON values. */
export function isDeepStrictEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [of, other] = [Object.entries(a), new Map(Object.entries(b))]
  return (
    of.length === other.size &&
    of.every(([key, value]) => other.has(key) && isDeepStrictEqual(value, other.get(key)))
  )
}

/** `node:timers/promises` */
export const setImmediate = (): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, 0)
  })

/** `node:buffer` */
export function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

const OCTET = '(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
const IPV4 = new RegExp(`^(?:${OCTET}\\.){3}${OCTET}$`)

/** `node:net` */
export const isIPv4 = (text: string): boolean => IPV4.test(text)

/** `node:net`. The URL parser reads IPv6 addresses in brackets as RFC 4291 defines them. */
export const isIPv6 = (text: string): boolean =>
  /^[0-9a-fA-F:.]+$/.test(text) && text.includes(':') && URL.canParse(`http://[${text}]/`)
