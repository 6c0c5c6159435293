import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { type Waiting, Lane } from './lane.ts'
import type { RequestKind } from '../../contract/operation.ts'
import { bodyBytesOf, kindOf, isUnknown, type Sender } from './request.ts'
import { OVERLOADED, refuse, TOO_MANY_BODIES } from './refusal.ts'
import { createShares, type Shares } from './shares.ts'

/** The number of requests of each kind: with a place, in the queue, and refused since the start. */
export interface Sight {
  readonly underWay: Readonly<Record<RequestKind, number>>
  readonly waiting: Readonly<Record<RequestKind, number>>
  readonly refused: Readonly<Record<RequestKind, number>>
}

export interface AdmissionOptions {
  /** Largest body, in bytes. */
  readonly bodyBytes: number
  readonly senderOf: (request: IncomingMessage) => Sender
  /** Reports the start of an overload, or its end with the number of refusals. */
  readonly onOverload: (over: { readonly began: boolean; readonly refused: number }) => void
  /** A monotonic clock, ms. */
  readonly now?: () => number
}

export const ADMISSION = {
  /**
   * Requests of each kind that are admitted at the same time. A single active tenant may use three quarters of the
   * places (src/http/admission/shares.ts).
   */
  PLACES: { propose: 128, follow: 128, people: 64 },
  /**
   * Requests that start in one turn of the event loop, from the queue or from strangers without a queue. Fewer requests
   * start from the queue while new connections arrive, because each turn accepts one connection.
   */
  BEGIN_AT_ONCE: 16,
  BEGIN_IN_CROWD: 4,
  /**
   * Memory for all requests without a place, which are waiting requests and requests with a late body. A request
   * counts as a connection and a header, plus at most the part of a body that Node reads in one piece.
   */
  WAITING_BYTES: 128 * 1024 * 1024,
  LEAST_BYTES: 16 * 1024,
  READ_BYTES: 64 * 1024,
  /** Bytes of the bodies of admitted requests. */
  BODIES_BYTES: 64 * 1024 * 1024,
  /** Time in which the body must arrive, ms. After that time, the request has no place until its body is complete. */
  LATE_MS: 100,
  SWEEP_MS: 50,
  /** Time without a refusal after which the overload is considered over, ms. */
  CALM_MS: 5_000,
} as const

const ASKING = Symbol('asking')
type Response = ServerResponse & { [ASKING]?: Asking | undefined }

interface Asking {
  readonly request: IncomingMessage
  readonly response: Response
  readonly lane: Lane<Asking>
  readonly tenant: string
  readonly bodyBytes: number
  /**
   * `late`: the request has no place, because its body is still arriving. `left`: the request no longer needs a place.
   */
  state: 'waits' | 'works' | 'late' | 'left'
  go: () => void
  /** The time at which the request got its place. */
  at: number
  waiting: Waiting<Asking> | undefined
  /** The name under which a late body is counted. */
  holder: string
}

export function createAdmission(options: AdmissionOptions): Admission {
  return new Admission(options)
}

/**
 * Admits a limited number of requests at a time. Further requests wait in a queue for a limited time
 * (docs/decisions/0026). Routing and the lookup of the credential happen only after admission. While a request waits,
 * the gateway reads only the part of the body that arrived with the header.
 */
export class Admission {
  readonly #options: AdmissionOptions
  readonly #now: () => number
  readonly #lanes: Readonly<Record<RequestKind, Lane<Asking>>>
  readonly #all: readonly Lane<Asking>[]
  readonly #room = createShares(ADMISSION.WAITING_BYTES)
  readonly #bodies: Shares
  /** Requests with a place whose bodies may not have arrived yet. */
  readonly #arriving = new Set<Asking>()
  readonly #end: (this: Response) => void
  #woken = false
  #turnBegan = false
  #crowded = false
  #sweeper: NodeJS.Timeout | undefined
  #overload: { refused: number; at: number } | undefined

  constructor(options: AdmissionOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
    const { propose, follow, people } = ADMISSION.PLACES
    this.#lanes = { propose: new Lane(propose), follow: new Lane(follow), people: new Lane(people) }
    this.#all = Object.values(this.#lanes)
    this.#bodies = createShares(Math.max(ADMISSION.BODIES_BYTES, 4 * options.bodyBytes))
    const leave = (response: Response): void => this.leave(response)
    this.#end = function end() {
      leave(this)
    }
  }

  /**
   * Calls `go` immediately or in the request's turn. Otherwise, refuses and answers the request, which then has no
   * effect.
   */
  enter(request: IncomingMessage, response: Response, go: () => void): void {
    const kind = kindOf(request.url ?? '')
    if (kind === 'none') return go()
    const sender = this.#options.senderOf(request)
    const bodyBytes = bodyBytesOf(request, this.#options.bodyBytes)
    const lane = this.#lanes[kind]
    const rest = { state: 'left', at: 0, waiting: undefined } as const
    const asking: Asking = { request, response, lane, ...sender, bodyBytes, go, ...rest }
    response[ASKING] = asking
    // a written answer ends the place, because a slow reader must not keep it
    response.on('prefinish', this.#end)
    // a response closes once, and `once` would make a function for each
    response.on('close', this.#end)
    if (lane.queue.size === 0 && this.#mayBegin(asking) && this.#takes(asking)) this.#begin(asking)
    else this.#wait(asking)
  }

  /** A listener of requests, which enter before `handle` serves them. */
  serving(handle: RequestListener): RequestListener {
    return (request, response) => this.enter(request, response, () => handle(request, response))
  }

  /**
   * Called when the body has arrived. Calls `go` immediately, or in the request's turn when the request lost its place
   * because of a late body.
   */
  resume(response: Response, go: () => void): void {
    // the request was refused, because its holder had too many late bodies
    if (response.writableEnded) return
    const asking = response[ASKING]
    if (asking?.state !== 'late') return go()
    this.leave(response)
    asking.go = go
    this.#wait(asking, true)
  }

  /** Called when the request starts a long wait or is answered. The request then permanently gives up its place. */
  leave({ [ASKING]: asking }: Response): void {
    if (asking === undefined) return
    const { state } = asking
    asking.state = 'left'
    if (state === 'works') this.#giveBack(asking)
    else if (state === 'late') this.#room.free(asking.holder, memoryOf(asking))
    else if (state === 'waits') {
      asking.lane.queue.remove(asking.waiting as Waiting<Asking>)
      this.#room.free(asking.tenant, memoryOf(asking))
    }
  }

  /** Called when the gateway accepted a connection; further connections may wait. */
  connected(): void {
    this.#crowded = true
  }

  sight(): Sight {
    const { propose, follow, people } = this.#lanes
    const each = (of: (lane: Lane<Asking>) => number): Record<RequestKind, number> => ({
      propose: of(propose),
      follow: of(follow),
      people: of(people),
    })
    return {
      underWay: each(({ places }) => places.held()),
      waiting: each(({ queue }) => queue.size),
      refused: each(({ refused }) => refused),
    }
  }

  close(): void {
    clearInterval(this.#sweeper)
  }

  /**
   * True while requests may begin in this turn of the event loop. A refusal gives up its place in the turn in which it
   * began, so places do not bound the refusals of one turn.
   */
  #mayBegin({ lane, tenant }: Asking): boolean {
    if (lane.begun >= (isUnknown(tenant) ? ADMISSION.BEGIN_AT_ONCE : lane.most)) return false
    lane.begun += 1
    if (this.#turnBegan) return true
    this.#turnBegan = true
    setImmediate(() => {
      this.#turnBegan = false
      for (const one of this.#all) one.begun = 0
    })
    return true
  }

  /** Reserves a place and room for the body. Returns false when no place or no room is free. */
  #takes({ lane, tenant, bodyBytes }: Asking): boolean {
    if (!lane.places.take(tenant, 1)) return false
    if (bodyBytes === 0 || this.#bodies.take(tenant, bodyBytes)) return true
    lane.places.free(tenant, 1)
    return false
  }

  #begin(asking: Asking): void {
    asking.state = 'works'
    if (asking.bodyBytes > 0) {
      asking.at = this.#now()
      this.#arriving.add(asking)
      this.#keepSweeping()
    }
    asking.go()
  }

  #giveBack(asking: Asking): void {
    const { lane, tenant, bodyBytes } = asking
    lane.free(tenant)
    if (bodyBytes > 0) this.#bodies.free(tenant, bodyBytes)
    this.#arriving.delete(asking)
    if (lane.queue.size > 0) this.#wake()
  }

  /** @param first true when the request had its turn before */
  #wait(asking: Asking, first = false): void {
    const { lane, tenant } = asking
    const now = this.#now()
    const inVain = lane.queue.isTooLong(tenant, now, lane.pace())
    if (inVain || !this.#room.take(tenant, memoryOf(asking))) return this.#refuse(asking)
    asking.state = 'waits'
    asking.waiting = lane.queue.add(tenant, asking, now, first)
    this.#keepSweeping()
    // a place may be free for this tenant, although another tenant has used up its share
    this.#wake()
  }

  #wake(): void {
    if (this.#woken) return
    this.#woken = true
    setImmediate(() => this.#serve())
  }

  /** Refuses requests that waited too long and starts the next requests, in one turn of the event loop. */
  #serve(): void {
    this.#woken = false
    const most = this.#crowded ? ADMISSION.BEGIN_IN_CROWD : ADMISSION.BEGIN_AT_ONCE
    this.#crowded = false
    const now = this.#now()
    for (const lane of this.#all) {
      const { queue } = lane
      const next = () => queue.next(now, lane.pace(), (asking) => this.#takes(asking))
      const expired = this.#serveEach(
        most,
        () => queue.expired(now),
        (asking) => this.#refuse(asking),
      )
      const begun = this.#serveEach(most, next, (asking) => this.#begin(asking))
      if (expired === most || begun === most) this.#wake()
    }
  }

  /** Returns the number of served requests. */
  #serveEach(most: number, next: () => Asking | undefined, serve: (asking: Asking) => void): number {
    for (let count = 0; count < most; count++) {
      const asking = next()
      if (asking === undefined) return count
      asking.state = 'left'
      this.#room.free(asking.tenant, memoryOf(asking))
      serve(asking)
    }
    return most
  }

  #keepSweeping(): void {
    if (this.#sweeper !== undefined) return
    for (const lane of this.#all) lane.measure(this.#now())
    this.#sweeper = setInterval(() => this.#sweep(), ADMISSION.SWEEP_MS).unref()
  }

  #sweep(): void {
    const now = this.#now()
    for (const lane of this.#all) lane.measure(now)
    for (const asking of this.#arriving) this.#lookForBody(asking, now)
    this.#endOverload(now)
    const somebodyWaits = this.#all.some(({ queue }) => queue.size > 0)
    if (somebodyWaits) this.#wake()
    if (somebodyWaits || this.#arriving.size > 0 || this.#overload !== undefined) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  /** Takes the place away from a request whose body is late, because places are for work. */
  #lookForBody(asking: Asking, now: number): void {
    const { request, response } = asking
    if (request.complete) this.#arriving.delete(asking)
    // unread bytes mean that the gateway is late, not the client
    if (request.complete || request.readableLength > 0 || now - asking.at < ADMISSION.LATE_MS) return
    this.leave(response)
    asking.holder = this.#options.senderOf(request).holder
    if (this.#room.take(asking.holder, memoryOf(asking))) asking.state = 'late'
    else refuse(response, TOO_MANY_BODIES, 1)
  }

  #refuse({ lane, response }: Asking): void {
    if (this.#overload === undefined) this.#options.onOverload({ began: true, refused: 1 })
    this.#overload = { refused: (this.#overload?.refused ?? 0) + 1, at: this.#now() }
    this.#keepSweeping()
    refuse(response, OVERLOADED, lane.refuse())
  }

  #endOverload(now: number): void {
    if (this.#overload === undefined || now - this.#overload.at < ADMISSION.CALM_MS) return
    const { refused } = this.#overload
    this.#overload = undefined
    this.#options.onOverload({ began: false, refused })
  }
}

/** Memory that the request needs while it has no place, in bytes. */
const memoryOf = ({ bodyBytes }: Asking): number =>
  Math.min(ADMISSION.READ_BYTES, Math.max(ADMISSION.LEAST_BYTES, bodyBytes))
