import { hasHidden } from '../text/text.ts'

/** The maximum number of characters in a path, which is a common limit of file systems. */
const MAX_PATH_CHARACTERS = 4_096
const MAX_MAIL_CHARACTERS = 254

const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
/** A part of a dot-atom (RFC 5322), without the characters that relays, shells and file systems interpret. */
const ATOM = '[A-Za-z0-9_+-]+'
const MAIL = new RegExp(`^(?!-)(${ATOM}(?:\\.${ATOM})*)@((?:${LABEL}\\.)+${LABEL})$`)

/**
 * Returns the domain of ONE mail address in lower case: letters, digits, `.`, `_`, `+` and `-` at a domain of two
 * labels or more. All other forms
 * of address are unreadable, because mail software disagrees about them. Examples are display names, quotes, comments,
 * routes (`%`, `!`), address literals, a second address, encoded words (RFC 2047) and other alphabets.
 */
export function mailDomain(address: string): string | undefined {
  if (address.length > MAX_MAIL_CHARACTERS) return undefined
  const [, local = '', domain = ''] = MAIL.exec(address) ?? []
  if (local === '' || local.length > 64 || /\.\d+$/.test(domain)) return undefined
  return domain.toLowerCase()
}

const DEFAULT_PORTS = new Map([
  ['http', '80'],
  ['https', '443'],
  ['ws', '80'],
  ['wss', '443'],
  ['ftp', '21'],
])
const SIMPLE_URL = new RegExp(
  `^([A-Za-z]{2,5})://((?:${LABEL}\\.)*${LABEL}|\\[[0-9A-Fa-f:]{2,39}\\])(?::([1-9][0-9]{0,4}))?(?:[/?#][^\\s\\\\@\\p{C}]*)?$`,
  'u',
)

interface SimpleUrl {
  readonly scheme: string
  readonly host: string
  /** The port; undefined for the default port of the scheme. */
  readonly port: string | undefined
}

/**
 * Reads an absolute URL whose host all parsers read in the same way: letters, digits and hyphens, or an address in its
 * usual form. Credentials, backslashes, escapes in the host, a trailing dot in the host, other alphabets and unusual
 * numbers are unreadable.
 */
function simpleUrl(url: string): SimpleUrl | undefined {
  const [, scheme = '', host = '', port] = SIMPLE_URL.exec(url)?.map((part) => part?.toLowerCase()) ?? []
  const usual = DEFAULT_PORTS.get(scheme)
  if (usual === undefined || host.length > 253 || !URL.canParse(url)) return undefined
  if (new URL(url).hostname !== host) return undefined
  return { scheme, host, port: port === usual ? undefined : port }
}

/**
 * Returns the host of a URL in lower case, with IPv6 in brackets. A URL with a non-default port for its scheme is
 * unreadable, because it names another server.
 */
export function urlHost(url: string): string | undefined {
  const read = simpleUrl(url)
  return read === undefined || read.port !== undefined ? undefined : read.host
}

/**
 * Returns scheme, host and port of a URL in lower case, without the default port of the scheme: `https://acme.com`,
 * `https://acme.com:8443`.
 */
export function urlOrigin(url: string): string | undefined {
  const read = simpleUrl(url)
  if (read === undefined) return undefined
  return `${read.scheme}://${read.host}${read.port === undefined ? '' : `:${read.port}`}`
}

/**
 * Returns an absolute path with `.`, `..` and doubled slashes resolved, and without a trailing slash. Relative paths,
 * backslashes and hidden characters are unreadable. Percent signs, which a tool may decode, are also unreadable. Two
 * leading slashes are unreadable, because they name another machine for some tools.
 */
export function normalPath(path: string): string | undefined {
  if (!/^\/(?!\/)[^\\%\t\n\r]*$/.test(path) || path.length > MAX_PATH_CHARACTERS || hasHidden(path))
    return undefined
  const kept: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop()
    else if (segment !== '' && segment !== '.') kept.push(segment)
  }
  return `/${kept.join('/')}`
}
