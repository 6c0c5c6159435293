import type { Server } from 'node:http'
import type { BlockList, Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { GatewayError, problemOf } from '../../contract/errors.ts'

/**
 * Connections without an accepted credential, counted by address. Above the limit, the oldest connection without a
 * request is ended. When each connection has a request, the new connection gets the answer 429.
 */
export interface StrangerBounds {
  /** Connections of one IPv4 address, or of one IPv6 network of 64 bits. */
  readonly perAddress: number
  /** Proxies that limit the connections of their own clients. Connections of these proxies are not counted. */
  readonly trusted: BlockList
}

interface Strangers {
  /** Called when the credential of the connection's caller was accepted. */
  accepted(socket: Socket): void
}

export function boundStrangers(app: FastifyInstance, bounds: StrangerBounds): void {
  const strangers = watchConnections(app.server, bounds)
  app.addHook('preParsing', (request, _, payload, done) => {
    if (request.caller ?? request.adminRight) strangers.accepted(request.raw.socket)
    done(null, payload)
  })
}

function watchConnections(server: Server, { perAddress, trusted }: StrangerBounds): Strangers {
  /** Connections by address, oldest first, with the number of requests in progress. */
  const counted = new Map<string, Map<Socket, number>>()
  const forget = (address: string, socket: Socket): void => {
    const there = counted.get(address)
    if (there?.delete(socket) && there.size === 0) counted.delete(address)
  }
  const addresses = new WeakMap<Socket, string>()
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket
    if (remoteAddress === undefined || isTrusted(trusted, remoteAddress)) return
    const address = networkOf(remoteAddress)
    const there = counted.get(address) ?? new Map<Socket, number>()
    if (there.size >= perAddress && !makeRoom(there)) {
      refuse(socket)
      return
    }
    counted.set(address, there.set(socket, 0))
    addresses.set(socket, address)
    socket.once('close', () => forget(address, socket))
  })
  const change = (socket: Socket, by: number): void => {
    const there = counted.get(addresses.get(socket) ?? '')
    const requests = there?.get(socket)
    if (requests !== undefined) there?.set(socket, requests + by)
  }
  server.on('request', ({ socket }, response) => {
    change(socket, 1)
    response.once('close', () => change(socket, -1))
  })
  return {
    accepted(socket) {
      const address = addresses.get(socket)
      if (address === undefined) return
      addresses.delete(socket)
      forget(address, socket)
    },
  }
}

/** Ends the oldest connection without a request in progress. */
function makeRoom(there: Map<Socket, number>): boolean {
  for (const [socket, requests] of there) {
    if (requests > 0) continue
    there.delete(socket)
    socket.destroy()
    return true
  }
  return false
}

function refuse(socket: Socket): void {
  const detail = 'too many connections from this address have sent no accepted credential; close some of them'
  const body = JSON.stringify(problemOf(new GatewayError('rate_limited', detail)))
  const head = [
    'HTTP/1.1 429 Too Many Requests',
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    'retry-after: 1',
    'connection: close',
  ]
  socket.on('error', () => socket.destroy())
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/** The IPv4 address, also on an IPv6 socket, or the first 64 bits of an IPv6 address, which belong to one site. */
export function networkOf(address: string): string {
  const v4 = MAPPED.exec(address)?.[1]
  if (v4 !== undefined || !address.includes(':')) return v4 ?? address
  const [head = '', tail] = (address.split('%')[0] ?? '').toLowerCase().split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length
  return [...before, ...Array.from({ length: Math.max(0, zeros) }, () => '0'), ...after].slice(0, 4).join(':')
}

function isTrusted(trusted: BlockList, address: string): boolean {
  const plain = MAPPED.exec(address)?.[1] ?? address.split('%')[0] ?? ''
  return trusted.check(plain, plain.includes(':') ? 'ipv6' : 'ipv4')
}
