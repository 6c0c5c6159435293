import type { IncomingMessage, ServerResponse } from 'node:http'
import { GatewayError, problemOf } from '../contract/errors.ts'
import { type Goals, LOAD_LIMIT, nextLimit } from './load-limit.ts'
import { createSenders } from './senders.ts'

/**
 * Lets requests in, or refuses them before anything else is done for them: before routing, credentials and bodies. Refusing costs a fifth of
 * serving or less, so a gateway that is asked for more than it can do goes on doing what it can.
 */
export interface Gate {
  /** Calls `handle` at once, or within moments, when a place is free; else the request is refused and answered, and nothing was changed. */
  enter(request: IncomingMessage, response: ServerResponse, handle: () => void): void
  /** The request only waits from now on, and takes nobody's place; it may `enter` again. */
  park(response: ServerResponse): void
  /**
   * The place counts for `sender` until it `settle`s or is free. False when that one would have more than its share (src/http/senders.ts) of the places that
   * are always there, or of the room for bodies.
   */
  assign(response: ServerResponse, sender: string): boolean
  /**
   * The body is there: the place is its work's from now on, and no longer counts for its sender. Only agents' requests settle: the places of people are few,
   * and count for who has them until they are free.
   */
  settle(response: ServerResponse): void
  close(): void
}

/** Agents ask (`propose`) and follow up what they asked (`follow`); people and administrators have places of their own. */
export type Kind = 'propose' | 'follow' | 'people'

export interface GateOptions {
  /** Longest time a call of the store may take, ms. */
  readonly storeDeadlineMs: number
  readonly bodyBytes: number
  readonly observe: GateObserver
  /** ms from anywhere; never jumps back. */
  readonly now?: () => number
}

/** What there is to see, now and then. */
export interface Sight {
  /** Places of each kind of agents' requests. */
  readonly limit: number
  readonly underWay: Readonly<Record<Kind, number>>
  /** Since the last time. */
  readonly refused: Readonly<Record<Kind, number>>
}

export interface GateObserver {
  looked(sight: Sight): void
  /** Requests are refused from now on; or are no more, after so many. */
  overload(over: { readonly began: boolean; readonly refused: number }): void
}

const PEOPLE = 64
/** A request waits so long for a place, and is refused then: that takes bursts. */
const WAIT_MS = 20
/** Beyond that it is refused at once: to let one wait costs as much as a third of refusing it. */
const MOST_WAITING = 64
/** Bodies that may be on their way in at once. */
const BODIES_BYTES = 64 * 1024 * 1024
/** No request was refused for so long: the overload is over. */
const CALM_MS = 5_000
/** Those who were refused come back spread over these seconds. */
const RETRY_AFTER = [1, 2, 3] as const

const KINDS = ['propose', 'follow', 'people'] as const
const NONE: Readonly<Record<Kind, number>> = { propose: 0, follow: 0, people: 0 }

const TICKET = Symbol('ticket')

interface Waiting {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly handle: () => void
  readonly at: number
}

interface Ticket {
  readonly kind: Kind
  readonly bytes: number
  /** Since when the gateway works for it, ms. */
  at: number
  /** For whom the place counts. */
  sender: string | undefined
}

type Admitted = ServerResponse & { [TICKET]?: Ticket | undefined }

export function createGate(options: GateOptions): Gate {
  return new RequestGate(options)
}

class RequestGate implements Gate {
  readonly #options: GateOptions
  readonly #now: () => number
  readonly #goals: Goals
  readonly #underWay = { ...NONE }
  readonly #senders = { propose: createSenders(), follow: createSenders(), people: createSenders() }
  readonly #timer: NodeJS.Timeout
  readonly #waiting: Readonly<Record<Kind, Waiting[]>> = { propose: [], follow: [], people: [] }
  /** Runs while there is something to do. */
  #ticker: NodeJS.Timeout | undefined
  #tickedAt = 0
  #ticksMs = 0
  #ticksMsSquared = 0
  readonly #leave: (this: ServerResponse) => void
  readonly #mostBytes: number
  #limit: number = LOAD_LIMIT.MOST
  #bytes = 0
  /** Requests of agents whose bodies are on their way in. */
  #arriving = 0
  #most = 0
  #served = 0
  #servedMs = 0
  #lastServedMs = 0
  #lookedAt: number
  /** Since the last look, and since the overload began. */
  #refused = { ...NONE }
  #refusedInAll = 0
  #refusedAt = 0
  #overloaded = false

  constructor(options: GateOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
    this.#lookedAt = this.#now()
    this.#goals = {
      turnMs: LOAD_LIMIT.TURN_MS,
      servedMs: options.storeDeadlineMs * LOAD_LIMIT.SERVED_SHARE,
    }
    this.#mostBytes = Math.max(BODIES_BYTES, 4 * options.bodyBytes)
    this.#timer = setInterval(() => this.#look(), LOAD_LIMIT.LOOK_EVERY_MS).unref()
    const release = (response: ServerResponse): void => this.#release(response)
    this.#leave = function leave() {
      release(this)
    }
  }

  enter(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    const kind = kindOf(request.url ?? '')
    if (kind === undefined) handle()
    else if (this.#waiting[kind].length === 0 && this.#takes(kind, request, response)) handle()
    else if (this.#waiting[kind].length >= MOST_WAITING) this.#refuse(kind, response)
    else this.#wait(kind, { request, response, handle, at: this.#now() })
  }

  park(response: ServerResponse): void {
    const ticket = this.#free(response)
    if (ticket) this.#letIn(ticket.kind)
  }

  assign(response: Admitted, sender: string): boolean {
    const ticket = response[TICKET]
    if (ticket === undefined || ticket.sender !== undefined) return true
    const { kind, bytes } = ticket
    // not of the places that there are now: when they become fewer, what one sender holds must not be all of them
    const all = { count: kind === 'people' ? PEOPLE : LOAD_LIMIT.LEAST, bytes: this.#mostBytes }
    if (!this.#senders[kind].take(sender, bytes, all)) return false
    ticket.sender = sender
    if (kind !== 'people') this.#arriving += 1
    return true
  }

  settle(response: Admitted): void {
    const ticket = response[TICKET]
    if (ticket?.sender === undefined) return
    this.#senders[ticket.kind].free(ticket.sender, ticket.bytes)
    ticket.sender = undefined
    ticket.at = this.#now()
    if (ticket.kind !== 'people') this.#arriving -= 1
  }

  close(): void {
    clearInterval(this.#timer)
    clearInterval(this.#ticker)
  }

  /** Whether there is a place; then it is taken. */
  #takes(kind: Kind, request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#underWay[kind] >= this.#places(kind)) return false
    const bytes = kind === 'people' ? 0 : this.#announced(request)
    if (this.#bytes + bytes > this.#mostBytes) return false
    this.#bytes += bytes
    this.#underWay[kind] += 1
    this.#most = Math.max(this.#most, this.#underWay.propose, this.#underWay.follow)
    ;(response as Admitted)[TICKET] = { kind, at: this.#now(), bytes, sender: undefined }
    // complete is enough: whoever reads slowly takes nobody's place
    response.on('prefinish', this.#leave)
    response.once('close', this.#leave)
    this.#keepTicking()
    return true
  }

  #wait(kind: Kind, waiting: Waiting): void {
    this.#waiting[kind].push(waiting)
    this.#keepTicking()
  }

  /** Whoever waits and came first. */
  #letIn(kind: Kind): void {
    const queue = this.#waiting[kind]
    for (let first = queue[0]; first !== undefined; first = queue[0]) {
      if (!first.response.destroyed && !this.#takes(kind, first.request, first.response)) return
      queue.shift()
      if (first.response.destroyed) continue
      first.handle()
    }
  }

  #sweep(): void {
    const before = this.#now() - WAIT_MS
    for (const kind of KINDS) {
      this.#letIn(kind)
      const queue = this.#waiting[kind]
      const late = queue.findIndex(({ at }) => at > before)
      for (const { response } of queue.splice(0, late < 0 ? queue.length : late)) this.#refuse(kind, response)
    }
  }

  #keepTicking(): void {
    if (this.#ticker !== undefined) return
    this.#tickedAt = this.#now()
    this.#ticker = setInterval(() => this.#tick(), LOAD_LIMIT.TICK_MS).unref()
  }

  /** The time between two ticks is that of a turn of the loop, when the turn is the longer of the two. */
  #tick(): void {
    const now = this.#now()
    const elapsed = now - this.#tickedAt
    this.#tickedAt = now
    this.#ticksMs += elapsed
    this.#ticksMsSquared += elapsed * elapsed
    this.#sweep()
    if (KINDS.some((kind) => this.#underWay[kind] + this.#waiting[kind].length > 0)) return
    clearInterval(this.#ticker)
    this.#ticker = undefined
  }

  /** Those who ask anew and those who follow up have as many places each: neither can take the other's. */
  #places(kind: Kind): number {
    return kind === 'people' ? PEOPLE : this.#limit
  }

  /** A body of unknown length may become as long as they come. */
  #announced({ headers, method }: IncomingMessage): number {
    const { bodyBytes } = this.#options
    const length = Number(headers['content-length'] ?? (method === 'GET' ? 0 : bodyBytes))
    return length >= 0 && length < bodyBytes ? length : bodyBytes
  }

  #refuse(kind: Kind, response: ServerResponse): void {
    this.#refused[kind] += 1
    this.#refusedInAll += 1
    if (!this.#overloaded) this.#tell(true)
    response.sendDate = false
    response.writeHead(503, REFUSALS[this.#refusedInAll % REFUSALS.length] as string[]).end(REFUSAL)
  }

  #release(response: ServerResponse): void {
    // how long a body takes says nothing of how much there is to do
    const arrived = (response as Admitted)[TICKET]?.sender === undefined
    const ticket = this.#free(response)
    if (ticket === undefined) return
    if (ticket.kind !== 'people' && arrived) {
      this.#served += 1
      this.#servedMs += this.#now() - ticket.at
    }
    this.#letIn(ticket.kind)
  }

  #free(response: Admitted): Ticket | undefined {
    const ticket = response[TICKET]
    if (ticket === undefined) return undefined
    this.settle(response)
    response[TICKET] = undefined
    this.#underWay[ticket.kind] -= 1
    this.#bytes -= ticket.bytes
    return ticket
  }

  #look(): void {
    const now = this.#now()
    const load = {
      turnMs: this.#ticksMs === 0 ? 0 : this.#ticksMsSquared / this.#ticksMs,
      servedMs: this.#meanServedMs(now - this.#lookedAt),
      most: this.#most,
    }
    this.#limit = nextLimit(this.#limit, load, this.#goals)
    this.#lookedAt = now
    this.#ticksMs = 0
    this.#ticksMsSquared = 0
    this.#lastServedMs = load.servedMs
    this.#served = 0
    this.#servedMs = 0
    this.#most = Math.max(this.#underWay.propose, this.#underWay.follow)
    this.#report(now)
    if (this.#overloaded && now - this.#refusedAt > CALM_MS) this.#tell(false)
  }

  #report(now: number): void {
    const refused = this.#refused
    this.#refused = { ...NONE }
    this.#options.observe.looked({ limit: this.#limit, underWay: this.#underWay, refused })
    if (refused.propose + refused.follow + refused.people > 0) this.#refusedAt = now
  }

  /** While nothing is answered that is under way, answers take longer and longer. */
  #meanServedMs(elapsedMs: number): number {
    if (this.#served > 0) return this.#servedMs / this.#served
    const { propose, follow } = this.#underWay
    return propose + follow > this.#arriving ? this.#lastServedMs + elapsedMs : 0
  }

  #tell(began: boolean): void {
    this.#overloaded = began
    this.#options.observe.overload({ began, refused: this.#refusedInAll })
    if (!began) this.#refusedInAll = 0
  }
}

/** An escape in one of the first two parts of a path: the router takes `%61gent` for `agent`. */
const DISGUISED = /^\/(?:[^/?]*\/)?[^/?]*%/

/** Behind `/api/agent/`: what agents ask about calls that they have proposed. */
const FOLLOWS = ['decisions', 'approvals/', 'threads/']

/** What asks for nothing costs nothing: health is answered whatever comes. */
function kindOf(url: string): Kind | undefined {
  if (url.startsWith('/api/agent/')) {
    return FOLLOWS.some((path) => url.startsWith(path, 11)) ? 'follow' : 'propose'
  }
  if (url === '/livez' || url === '/readyz') return undefined
  return DISGUISED.test(url) ? 'propose' : 'people'
}

/** Made once, and a string, which goes out in one piece with the head: a refusal is to cost next to nothing. */
const REFUSAL = JSON.stringify(
  problemOf(
    new GatewayError('overloaded', 'this gateway is asked for more than it can do; nothing was changed'),
  ),
)

const REFUSALS = RETRY_AFTER.map((seconds) => [
  'content-type',
  'application/problem+json',
  'content-length',
  String(Buffer.byteLength(REFUSAL)),
  'cache-control',
  'no-store',
  'retry-after',
  String(seconds),
])
