import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { BlockList, Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type ErrorCode, GatewayError, problemOf } from '../../contract/errors.ts'
import { rawRefusal } from '../admission/refusal.ts'
import { createSharesOfTenants, type SharesOfTenants } from '../admission/shares.ts'

/**
 * Bounds of connections. A connection counts for its address until a credential is accepted on it, and then for that
 * credential for as long as it lives. A connection that has no request in progress makes room for a new one. When each
 * connection has a request, the new connection is refused.
 */
export interface ConnectionBounds {
  /** All connections. */
  readonly most: number
  /** Connections without an accepted credential, of one IPv4 address, or of one IPv6 network of 64 bits. */
  readonly perAddress: number
  /** Proxies that limit the connections of their own clients. Connections of these proxies have no holder. */
  readonly trusted: BlockList
  /** Called when a connection was ended to make room, or refused. */
  readonly onShed: (how: ShedConnection) => void
}

export type ShedConnection = 'ended' | 'refused'

/** Parts of all connections. The rest is for probes, and for callers before their credential is accepted. */
const OF_AGENTS = 3 / 4
const OF_PEOPLE = 1 / 8

/** The holder of connections: an address, or a credential. */
interface Holder {
  readonly name: string
  count: number
  /** Connections without a request in progress; the one that has had none for the longest time is first. */
  readonly idle: Set<Socket>
}

interface Open {
  /** Undefined for a trusted proxy. */
  holder: Holder | undefined
  requests: number
  /** Gives back the share of the credential; undefined before a credential is accepted. */
  release: (() => void) | undefined
}

export function boundConnections(app: FastifyInstance, bounds: ConnectionBounds): void {
  const connections = new Connections(app.server, bounds)
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (connections.accept(request)) return done(null, payload)
    reply.header('connection', 'close')
    done(new GatewayError('rate_limited', 'this credential holds too many connections; close some of them'))
  })
}

class Connections {
  readonly #bounds: ConnectionBounds
  readonly #open = new Map<Socket, Open>()
  readonly #holders = new Map<string, Holder>()
  readonly #agents: SharesOfTenants
  readonly #people: SharesOfTenants

  constructor(server: Server, bounds: ConnectionBounds) {
    this.#bounds = bounds
    this.#agents = createSharesOfTenants(bounds.most * OF_AGENTS)
    this.#people = createSharesOfTenants(bounds.most * OF_PEOPLE)
    server.on('connection', (socket: Socket) => this.#begin(socket))
    const count = (socket: Socket, by: number): void => this.#count(socket, by)
    const closed = function (this: ServerResponse): void {
      count(this.req.socket, -1)
    }
    server.on('request', ({ socket }, response) => {
      count(socket, 1)
      response.on('close', closed)
    })
  }

  /** Counts the connection for its first accepted credential. Returns false when that credential has its share. */
  accept(request: FastifyRequest): boolean {
    const { socket } = request.raw
    const open = this.#open.get(socket)
    const caller = callerOf(request)
    if (caller === undefined || open?.holder === undefined || open.release !== undefined) return true
    if (open.holder.name === PROXIES) return true
    const { tenant, id, isAgent } = caller
    const shares = isAgent ? this.#agents : this.#people
    const name = `${tenant}/${id}`
    const takes = (): boolean => shares.take(tenant, id, 1)
    if (!takes() && !(this.#endIdle(this.#holders.get(name)) && takes())) {
      this.#bounds.onShed('refused')
      return false
    }
    this.#leave(open, socket)
    open.release = () => shares.free(tenant, id, 1)
    this.#join(open, name)
    return true
  }

  #begin(socket: Socket): void {
    const { remoteAddress } = socket
    if (remoteAddress === undefined) return
    const isProxy = isTrusted(this.#bounds.trusted, remoteAddress)
    const address = isProxy ? undefined : networkOf(remoteAddress)
    if (address !== undefined) {
      const there = this.#holders.get(address)
      if (there !== undefined && there.count >= this.#bounds.perAddress && !this.#endIdle(there))
        return this.#refuse(socket, 'rate_limited', OF_ADDRESS)
    }
    if (this.#open.size >= this.#bounds.most && !this.#endIdleOfLargest())
      return this.#refuse(socket, 'overloaded', OF_ALL)
    const open: Open = { holder: undefined, requests: 0, release: undefined }
    this.#open.set(socket, open)
    this.#join(open, address ?? PROXIES).idle.add(socket)
    socket.once('close', () => this.#forget(socket))
  }

  #count(socket: Socket, by: number): void {
    const open = this.#open.get(socket)
    if (open === undefined) return
    open.requests += by
    if (open.requests === 0) open.holder?.idle.add(socket)
    else open.holder?.idle.delete(socket)
  }

  #join(open: Open, name: string): Holder {
    let holder = this.#holders.get(name)
    if (holder === undefined) this.#holders.set(name, (holder = { name, count: 0, idle: new Set() }))
    holder.count += 1
    return (open.holder = holder)
  }

  #leave({ holder, release }: Open, socket: Socket): void {
    release?.()
    if (holder === undefined) return
    holder.idle.delete(socket)
    holder.count -= 1
    if (holder.count === 0) this.#holders.delete(holder.name)
  }

  #forget(socket: Socket): void {
    const open = this.#open.get(socket)
    if (open !== undefined && this.#open.delete(socket)) this.#leave(open, socket)
  }

  /** Ends the connection that has had no request for the longest time. */
  #endIdle(holder: Holder | undefined): boolean {
    for (const socket of holder?.idle ?? []) {
      this.#forget(socket)
      socket.destroy()
      this.#bounds.onShed('ended')
      return true
    }
    return false
  }

  #endIdleOfLargest(): boolean {
    let largest: Holder | undefined
    for (const holder of this.#holders.values())
      if (holder.idle.size > 0 && holder.count > (largest?.count ?? 0)) largest = holder
    return this.#endIdle(largest)
  }

  #refuse(socket: Socket, code: ErrorCode, detail: string): void {
    this.#bounds.onShed('refused')
    refuse(socket, problemOf(new GatewayError(code, detail)))
  }
}

/** The holder of the connections of trusted proxies, each of which carries many callers. */
const PROXIES = 'trusted proxies'

/** The name under which a connection counts: a key of an agent, or a person with any number of keys and sessions. */
function callerOf({
  caller,
  adminRight,
}: FastifyRequest): { tenant: string; id: string; isAgent: boolean } | undefined {
  if (caller?.standing !== undefined) return { tenant: caller.tenant, id: caller.keyHash, isAgent: true }
  const person = caller ?? (adminRight?.kind === 'reviewer' ? adminRight.caller : undefined)
  if (person !== undefined) return { tenant: person.tenant, id: person.id, isAgent: false }
  return adminRight === undefined ? undefined : { tenant: '!', id: adminRight.id, isAgent: false }
}

const OF_ADDRESS =
  'too many connections from this address have sent no accepted credential; close some of them'
const OF_ALL = 'this gateway has as many connections as it may have'

function refuse(socket: Socket, problem: ReturnType<typeof problemOf>): void {
  socket.on('error', () => socket.destroy())
  socket.end(rawRefusal(problem, 'retry-after: 1'), () => socket.destroy())
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

/** The network of the caller. A trusted proxy adds its client's address at the end of `X-Forwarded-For`. */
export function addressOf({ socket, headers }: IncomingMessage, trusted: BlockList): string {
  const { remoteAddress = '' } = socket
  const forwarded = isTrusted(trusted, remoteAddress) ? headers['x-forwarded-for'] : undefined
  return networkOf([forwarded].flat().at(-1)?.split(',').at(-1)?.trim() || remoteAddress)
}

function isTrusted(trusted: BlockList, address: string): boolean {
  const plain = MAPPED.exec(address)?.[1] ?? address.split('%')[0] ?? ''
  return trusted.check(plain, plain.includes(':') ? 'ipv6' : 'ipv4')
}
