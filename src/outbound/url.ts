import { isIP } from 'node:net'
import { type Allowed, mayConnect } from './address.ts'

/**
 * Checks whether a destination's URL may be called (docs/webhooks.md). The check inspects the text before parsing,
 * because URL parsers repair tabs, backslashes, a missing slash, and letters that look like dots. The text must equal
 * the parser's output.
 */
export type CheckedUrl =
  | { readonly ok: true; readonly url: URL; readonly host: string; readonly port: number }
  | { readonly ok: false; readonly reason: string }

const MAX_CHARS = 2_048
const HTTPS = 'https://'
const DEFAULT_PORT = 443
/** Control characters, blanks and backslashes, which parsers drop or replace. */
const MENDED = /[\p{Cc}\p{Z}\\]/u
const ASCII = /^[!-~]*$/

/** Names with a meaning inside a network (RFC 6761, RFC 8375, RFC 9476, and names of clouds and clusters). */
const SPECIAL =
  /(^|\.)(localhost|local|internal|intranet|corp|home|mail|lan|localdomain[46]?|arpa|alt|onion|invalid|example|svc|default|consul|docker|private|i2p|metadata\.goog|metadata\.tencentyun\.com)$/

/** @param named an origin that the operator configured, whose host and port are not checked */
export function checkUrl(text: string, allowed: readonly Allowed[], named?: string): CheckedUrl {
  const problem = problemOfText(text)
  if (problem !== undefined) return no(problem)
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return no('it is not a URL')
  }
  const authority = text.slice(HTTPS.length).split(/[/?#]/, 1)[0] ?? ''
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const where = { host, port, allowed }
  const refusal =
    problemOfParts(url, authority) ??
    (url.origin === named ? undefined : problemOfHost(url, authority, where))
  return refusal === undefined ? { ok: true, url, host, port } : no(refusal)
}

const no = (reason: string): CheckedUrl => ({ ok: false, reason })

function problemOfText(text: string): string | undefined {
  if (text.length === 0 || text.length > MAX_CHARS) return `it must have 1 to ${MAX_CHARS} characters`
  if (MENDED.test(text)) return 'it contains a blank, a control character or a backslash'
  // parsers and case mappings turn some letters into ASCII: a Kelvin sign becomes a k
  if (!ASCII.test(text))
    return 'it must be written in ASCII: international names as xn--, everything else percent-encoded'
  return /^https:\/\/[^/?#]/.test(text) ? undefined : 'it must begin with https:// and a host'
}

function problemOfParts(url: URL, authority: string): string | undefined {
  if (authority.includes('@') || url.username !== '' || url.password !== '')
    return 'it must not hold a user or a password'
  if (authority.includes('%')) return 'its host must not be percent-encoded'
  if (url.href.includes('#')) return 'it must not have a fragment'
  if (/%00/.test(url.pathname + url.search)) return 'it contains a NUL'
  return /:(0\d*)?$/.test(authority) ? 'its port is not written as a number' : undefined
}

interface Where {
  readonly host: string
  readonly port: number
  readonly allowed: readonly Allowed[]
}

function problemOfHost(url: URL, authority: string, { host, port, allowed }: Where): string | undefined {
  const open = port === DEFAULT_PORT || allowed.some((one) => one.port === port)
  if (!open) return 'its port is not permitted: only 443 is'
  if (isIP(host) !== 0) {
    if (withoutPort(authority) !== url.hostname) return 'its host is an address written in an unusual way'
    return mayConnect(host, port, allowed) ? undefined : 'its host is not a public address'
  }
  return problemOfName(host.toLowerCase(), authority, port !== DEFAULT_PORT)
}

const LABEL = /^[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?$/

function problemOfName(host: string, authority: string, allowedPort: boolean): string | undefined {
  const name = host.replace(/\.$/, '')
  if (isIP(name) !== 0) return 'its host is an address written in an unusual way'
  if (name.length > 253 || !name.split('.').every((label) => LABEL.test(label)))
    return 'its host is not a name'
  if (withoutPort(authority).replace(/\.$/, '') !== name) return 'its host must be written as in DNS'
  // an explicitly allowed port gives access only to the allowed networks, regardless of the name
  if (allowedPort) return undefined
  if (!name.includes('.')) return 'its host must have a domain'
  return SPECIAL.test(name) ? 'its host is a name for use inside networks' : undefined
}

function withoutPort(authority: string): string {
  return authority.replace(/:\d+$/, '').toLowerCase()
}
