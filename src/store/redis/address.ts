/** A password, or the function that reads it for each new connection. */
export type Password = string | (() => Promise<string>)

/** The address of Redis, parsed from `COUNTERSIGN_STORE`. */
export interface RedisAddress {
  readonly kind: 'single' | 'cluster' | 'sentinel'
  readonly tls: boolean
  readonly hosts: readonly Host[]
  readonly username?: string
  readonly password?: Password
  /** Only for `single` and `sentinel`, because clusters have one database. */
  readonly database?: number
  /** Only for `sentinel`: the name under which the sentinels watch the primary. */
  readonly master?: string
}

export interface Host {
  readonly host: string
  readonly port: number
}

export const REDIS_FORMS =
  'redis://host:6379, redis+cluster://host1:6379,host2:6379 or redis+sentinel://host1:26379,host2:26379/<master name>; with rediss for TLS'

const SCHEME = /^(rediss?)(?:\+(cluster|sentinel))?:\/\/(.*)$/s
const PORT = 6379
const SENTINEL_PORT = 26379

export function isRedisAddress(text: string): boolean {
  return SCHEME.test(text)
}

/**
 * Parses the address.
 *
 * @throws RangeError that says what is wrong with the address and omits its password
 */
export function parseRedisAddress(text: string): RedisAddress {
  const [, scheme, form, rest = ''] = SCHEME.exec(text) ?? []
  if (scheme === undefined) throw new RangeError(`expected ${REDIS_FORMS}`)
  const kind = form === undefined ? 'single' : (form as 'cluster' | 'sentinel')
  const at = rest.lastIndexOf('@')
  const slash = rest.indexOf('/', at + 1)
  const path = slash < 0 ? '' : decoded(rest.slice(slash + 1))
  const hosts = rest
    .slice(at + 1, slash < 0 ? undefined : slash)
    .split(',')
    .map((host, i) => parseHost(host, { number: i + 1, port: kind === 'sentinel' ? SENTINEL_PORT : PORT }))
  if (kind === 'single' && hosts.length > 1)
    throw new RangeError(`several hosts need redis+cluster or redis+sentinel; expected ${REDIS_FORMS}`)
  return {
    kind,
    tls: scheme === 'rediss',
    hosts,
    ...credentialsIn(at < 0 ? '' : rest.slice(0, at)),
    ...placeIn(kind, path),
  }
}

/**
 * Parses a host. An invalid host may be a password whose `@` is missing, so the error gives only the position of the
 * text.
 */
function parseHost(text: string, { number, port }: { number: number; port: number }): Host {
  const [, bracketed, plain, given] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s[\]/?#]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  const host = bracketed ?? plain
  const at = given === undefined ? port : Number(given)
  if (host === undefined || at < 1 || at > 65_535)
    throw new RangeError(`host ${number} of the address is not a host and port; expected ${REDIS_FORMS}`)
  return { host, port: at }
}

function credentialsIn(text: string): { username?: string; password?: string } {
  if (text === '') return {}
  const colon = text.indexOf(':')
  const username = decoded(colon < 0 ? text : text.slice(0, colon))
  const password = colon < 0 ? '' : decoded(text.slice(colon + 1))
  return { ...(username === '' ? {} : { username }), ...(password === '' ? {} : { password }) }
}

function placeIn(kind: RedisAddress['kind'], path: string): { database?: number; master?: string } {
  if (kind === 'sentinel') {
    if (path === '') throw new RangeError(`the name of the primary is missing; expected ${REDIS_FORMS}`)
    return { master: path }
  }
  if (path === '') return {}
  if (kind === 'cluster' || !/^\d{1,4}$/.test(path))
    throw new RangeError(
      kind === 'cluster'
        ? 'a cluster has one database: leave the path out'
        : 'the path must be the number of a database',
    )
  return { database: Number(path) }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw new RangeError('a % in the address must be followed by two hex digits', { cause })
  }
}

/** The address without its password. The result is safe to show even for a malformed address. */
export function withoutPassword(text: string): string {
  const at = text.lastIndexOf('@')
  if (at < 0 || text.startsWith('file:')) return text
  const head = /^[a-z][a-z\d+.-]*:\/\//i.exec(text)?.[0]
  const user = head === undefined ? '' : `${head}${text.slice(head.length, at).split(':', 1)[0] ?? ''}:`
  return `${user}********@${text.slice(at + 1)}`
}
