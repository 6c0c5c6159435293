import { BlockList, isIP } from 'node:net'
import { signingKeyInPem, type SigningKey } from '../domain/checkpoint.ts'
import { TENANT_NAME } from '../domain/id.ts'
import { type Allowed, parseAllowed } from '../outbound/address.ts'
import {
  isRedisAddress,
  parseRedisAddress,
  REDIS_FORMS,
  type RedisAddress,
  withoutPassword,
} from '../store/redis/address.ts'
import { ACCEPTABLE, type Acceptable } from '../store/redis/settings.ts'

/** Parses the text of a setting. @throws Misfit for a value in another form, Error for other problems */
export type Parse<T> = (text: string) => T

/** States the form that a value must have. The reporter adds the setting and, except for secrets, the value. */
export class Misfit extends Error {
  override readonly name = 'Misfit'
}

export const text: Parse<string> = (value) => {
  if (value === '') throw new Misfit('must not be empty')
  return value
}

/** A whole number. True when the file may contain the value as a number. */
export const whole = (minimum: number, maximum: number): Parse<number> =>
  Object.assign(
    (value: string): number => {
      const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
      if (!(number >= minimum && number <= maximum))
        throw new Misfit(`must be a whole number from ${minimum} to ${maximum}`)
      return number
    },
    { takesNumbers: true },
  )

export const takesNumbers = (parse: Parse<unknown>): boolean => 'takesNumbers' in parse

/** One of these values, which completion lists. */
export const oneOf = <const Value extends string>(...values: readonly Value[]): Parse<Value> =>
  Object.assign(
    (given: string): Value => {
      const found = values.find((value) => value === given)
      if (found === undefined) throw new Misfit(`must be one of ${values.join(', ')}`)
      return found
    },
    { values },
  )

/** The values that a parser accepts, where they are a closed list. */
export const valuesOf = (parse: Parse<unknown> & { readonly values?: readonly string[] }) => parse.values

/** A value of a header: printable ASCII, without spaces at either end (RFC 9110 section 5.5). */
export const headerValue =
  (minChars: number): Parse<string> =>
  (value) => {
    if (value.length < minChars) throw new Misfit(`must have at least ${minChars} characters`)
    if (!/^[!-~][\t -~]*[!-~]$/.test(value))
      throw new Misfit(
        'is sent in a header: it must be printable ASCII, without a space or a line break at either end',
      )
    return value
  }

/** An address to listen on. `[::]`, as in a URL, is `::`. */
export const host: Parse<string> = (value) => /^\[([0-9a-f:.]+)\]$/i.exec(text(value))?.[1] ?? value

/** The address of the store; `shown` is the address without its password. */
export type StoreAddress =
  | { readonly kind: 'embedded'; readonly path: string; readonly shown: string }
  | { readonly kind: 'redis'; readonly address: RedisAddress; readonly shown: string }

export const storeAddress: Parse<StoreAddress> = (value) => {
  if (isRedisAddress(value))
    return { kind: 'redis', address: parseRedisAddress(value), shown: withoutPassword(value) }
  if (!value.startsWith('file:')) {
    // shows only the scheme, because the rest may be a password
    const scheme = /^[a-z][\w+.-]*:/i.exec(value)?.[0]
    const what = scheme === undefined ? 'an address without a scheme' : `\`${scheme}\``
    throw new Error(`${what} is not known here; use file:<directory> or ${REDIS_FORMS}`)
  }
  const path = value.slice('file:'.length)
  if (path === '') throw new Error('`file:` names no directory; use file:<directory>')
  return { kind: 'embedded', path, shown: value }
}

/** The address of the tiles; `shown` is its text. */
export type TilesAddress =
  | { readonly kind: 'off'; readonly shown: string }
  | { readonly kind: 'directory'; readonly path: string; readonly shown: string }
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string; readonly shown: string }

const S3_ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[A-Za-z0-9_.-]+)*)\/?$/

/** A place of tiles. */
export const tilesAddress: Parse<TilesAddress> = (value) => {
  if (value === 'off') return { kind: 'off', shown: value }
  if (value.startsWith('file:') && value !== 'file:')
    return { kind: 'directory', path: value.slice('file:'.length), shown: value }
  const [, bucket, path = ''] = S3_ADDRESS.exec(value) ?? []
  if (bucket === undefined) throw new Misfit('must be file:<directory>, s3://<bucket>/<prefix> or off')
  return { kind: 's3', bucket, prefix: path.slice(1), shown: value.replace(/\/$/, '') }
}

const listOf = (value: string): string[] =>
  value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

/** Names of unsafe Redis settings to accept. */
export const acceptables: Parse<readonly Acceptable[]> = (value) =>
  listOf(value).map((name) => {
    const known = ACCEPTABLE.find((one) => one === name)
    if (known === undefined)
      throw new Error(`\`${name}\` is not a known name; known are ${ACCEPTABLE.join(', ')}`)
    return known
  })

/** Networks with a port each, as `127.0.0.1/32:8443`. */
export const allowedNetworks: Parse<readonly Allowed[]> = parseAllowed

export const signingKey: Parse<SigningKey> = (value) => {
  const key = signingKeyInPem(value)
  if (key === undefined)
    throw new Error(
      'this is not an Ed25519 private key as PEM; `openssl genpkey -algorithm ed25519` makes one',
    )
  return key
}

const BITS = { 4: 32, 6: 128 } as const

/** Networks as `10.0.0.0/8, 2001:db8::/32`. An address without a length is a network of one host. */
/** Names of hosts, as `Host` carries them. */
export const hostNames: Parse<readonly string[]> = (value) =>
  listOf(value).map((name) => {
    if (!/^[a-z0-9.-]+$/i.test(name)) throw new Misfit('must be names of hosts, such as metrics.example.com')
    return name.toLowerCase()
  })

export const networks: Parse<BlockList> = (value) => {
  const list = new BlockList()
  for (const network of listOf(value)) addNetwork(list, network)
  return list
}

function addNetwork(list: BlockList, network: string): void {
  const [address = '', bits, ...more] = network.split('/')
  const family = isIP(address)
  const most = family === 4 || family === 6 ? BITS[family] : 0
  const length = bits === undefined ? most : Number(bits)
  if (most === 0 || !/^\d{1,3}$/.test(bits ?? '0') || length > most || more.length > 0)
    throw new Error(`\`${network}\` is not a network; write it like \`10.0.0.0/8, 2001:db8::/32\``)
  list.addSubnet(address, length, family === 4 ? 'ipv4' : 'ipv6')
}

const urlOf = (value: string): URL | undefined => (URL.canParse(value) ? new URL(value) : undefined)

/** An http or https origin, without a path. */
export const origin: Parse<string> = (value) => {
  const url = urlOf(value)
  const isOrigin = url !== undefined && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`
  if (!isOrigin) throw new Misfit('must be an origin, such as https://countersign.example, without path')
  return value
}

/** The address of a collector of spans. */
export const collector: Parse<string> = (value) => {
  const url = urlOf(value)
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new Error('must be an http or https address, such as http://127.0.0.1:4318')
  if (`${url.username}${url.password}${url.search}` !== '')
    throw new Error('credentials do not belong in it; use OTEL_EXPORTER_OTLP_HEADERS')
  return value
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** An http origin of this machine, which takes the place of another server. */
export const onThisMachine: Parse<string> = (value) => {
  const url = urlOf(value)
  if (url?.protocol !== 'http:' || !LOOPBACK.test(url.hostname) || value !== url.origin)
    throw new Misfit('must be an http origin on this machine, such as http://127.0.0.1:8790')
  return value
}

/** A token of Slack. */
export const slackToken =
  (kind: 'xapp' | 'xoxb'): Parse<string> =>
  (value) => {
    if (!new RegExp(`^${kind}-[\\w.-]+$`).test(value)) throw new Misfit(`must begin with ${kind}-`)
    return value
  }

/** The issuer of an identity provider. */
export const issuer: Parse<string> = (value) => {
  const url = urlOf(value)
  const isPlain =
    url !== undefined &&
    `${url.search}${url.hash}${url.username}` === '' &&
    !url.pathname.includes('/.well-known/') &&
    (url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname)))
  if (!isPlain)
    throw new Misfit('must be the https URL of the issuer itself, without query; http only on this machine')
  return value
}

export const scopes: Parse<string> = (value) => {
  if (!value.split(' ').includes('openid'))
    throw new Error('`openid` must be one of them, otherwise the provider does not report who signs in')
  return value
}

export const tenant: Parse<string> = (value) => {
  if (!TENANT_NAME.test(value)) throw new Misfit('is not a name of a tenant')
  return value
}

export const deployment: Parse<string> = (value) => {
  if (!/^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/.test(value))
    throw new Misfit('must be lower-case letters, digits and hyphens, at most 32, such as production')
  return value
}

/** A day, as 2026-11-27. */
export const day: Parse<string> = (value) => {
  if (!/^\d{4}-\d\d-\d\d$/.test(value) || Number.isNaN(Date.parse(value)))
    throw new Misfit('must be a day, such as 2026-11-27')
  return value
}
