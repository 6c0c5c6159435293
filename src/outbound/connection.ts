import { lookup, Resolver } from 'node:dns/promises'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, DEFAULT_CIPHERS, type TLSSocket } from 'node:tls'
import { type Allowed, mayBeNamed, mayConnect } from './address.ts'
import { watchReceived } from './received.ts'

/** Connections only to addresses that the guard permits (docs/decisions/0015). */

export type FailureCode =
  | 'refused_url'
  | 'refused_address'
  | 'no_address'
  | 'tls'
  | 'timeout'
  | 'connection'
  | 'protocol'
  | 'stopped'

export interface OutboundOptions {
  readonly allowed: readonly Allowed[]
  /** An origin that the operator configured. The origin may be inside the network, but not a metadata service. */
  readonly named?: string
  /** Trusted certificates that replace Node's own. */
  readonly ca?: string
  /** DNS servers that replace the system's. */
  readonly dnsServers?: readonly string[]
}

const DEFAULT_PORT = 443
const MAX_ADDRESSES = 16
const DNS = { timeout: 2_000, tries: 2 }
/**
 * Allows key exchange only on elliptic curves. A receiver that chooses a finite field of 8,192 bits would block the
 * thread for a third of a second at each handshake.
 */
const KEY_EXCHANGE = { ecdhCurve: 'X25519:P-256:P-384:P-521', ciphers: `${DEFAULT_CIPHERS}:!DHE` }

export class Failure extends Error {
  override readonly name = 'Failure'
  readonly code: FailureCode
  constructor(code: FailureCode) {
    super(code)
    this.code = code
  }
}

export interface Made {
  readonly at: number
  /** The socket beneath TLS, which counts every byte. */
  readonly wire: Socket
}

/** How a connection was made. */
export const made = new WeakMap<object, Made>()

export interface Where {
  readonly host: string
  readonly port: number
  readonly options: OutboundOptions
  /** Time for the name lookup, the connection and TLS together, ms. */
  readonly withinMs: number
}

/** Opens a TLS connection to a permitted address, and checks the peer's address again once connected. */
export async function connected({ host, port, options, withinMs }: Where): Promise<TLSSocket> {
  const isNamed = isSameOrigin(options.named, host, port)
  const end = performance.now() + withinMs
  const addresses = isIP(host) === 0 ? await resolved(host, options, isNamed) : [host]
  const may = (address: string): boolean =>
    isNamed ? mayBeNamed(address) : mayConnect(address, port, options.allowed)
  if (addresses.length === 0) throw new Failure('no_address')
  if (!addresses.every(may)) throw new Failure('refused_address')
  // a slow name server must not cause a connection that the caller no longer wants
  const leftMs = end - performance.now()
  if (leftMs <= 0) throw new Failure('timeout')
  const pinned = addresses.slice(0, MAX_ADDRESSES).map((address) => ({ address, family: isIP(address) }))
  return new Promise((resolve, reject) => {
    const socket = connectTcp({
      host,
      port,
      autoSelectFamily: true,
      lookup: (_, { all }, done) => {
        const [first] = pinned
        if (all === true) done(null, pinned)
        else done(null, first?.address ?? '', first?.family)
      },
    })
    const refuse = (error: Error): void => {
      socket.destroy()
      reject(error)
    }
    // a request that gives up before it has its socket cannot destroy the socket
    const timer = setTimeout(() => refuse(new Failure('timeout')), leftMs)
    const unwatch = watchReceived(socket, () => refuse(new Failure('tls')))
    const over = (): void => {
      clearTimeout(timer)
      unwatch()
    }
    const settle = (secured: TLSSocket): void => {
      over()
      made.set(secured, { at: performance.now(), wire: socket })
      resolve(secured)
    }
    socket.once('close', over)
    socket.once('error', refuse)
    socket.once('connect', () => {
      if (!may(socket.remoteAddress ?? '')) refuse(new Failure('refused_address'))
      else secure(socket, host, options).then(settle, refuse)
    })
  })
}

function secure(socket: Socket, host: string, { ca }: OutboundOptions): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const secured = connectTls({
      socket,
      host,
      // the server name has no final dot (RFC 6066 section 3)
      ...(isIP(host) === 0 ? { servername: host.replace(/\.$/, '') } : {}),
      ...(ca === undefined ? {} : { ca }),
      ...KEY_EXCHANGE,
      minVersion: 'TLSv1.2',
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
    })
    secured.once('secureConnect', () => resolve(secured))
    secured.on('error', reject)
    secured.once('close', () => reject(new Failure('tls')))
  })
}

/**
 * Looks up both address families with a separate resolver, because a DNS server that hangs must not block Node's thread
 * pool.
 */
async function resolved(host: string, { dnsServers }: OutboundOptions, isNamed: boolean): Promise<string[]> {
  if (host === 'localhost') return ['127.0.0.1']
  // the machine's hosts file may contain a name that the operator configured
  if (isNamed) return (await lookup(host, { all: true })).map(({ address }) => address)
  const resolver = new Resolver(DNS)
  if (dnsServers !== undefined) resolver.setServers(dnsServers)
  const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
}

function isSameOrigin(named: string | undefined, host: string, port: number): boolean {
  if (named === undefined) return false
  const { hostname, port: written } = new URL(named)
  return hostname.replace(/^\[|\]$/g, '') === host && Number(written || DEFAULT_PORT) === port
}
