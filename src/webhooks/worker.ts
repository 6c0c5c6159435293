import { setMaxListeners } from 'node:events'
import type { ChatApp } from '../gateway/chat/chat-app.ts'
import { readRetryAfter } from '../domain/retry.ts'
import { type Destination, isChatApp, secretsInForce } from '../domain/webhook.ts'
import { type ChatDelivery, deliverToChat } from '../gateway/chat/deliver.ts'
import { type AttemptResult, deliveryToMake, recordAttempt } from '../gateway/webhooks/delivery-attempts.ts'
import type { Deps } from '../gateway/core/deps.ts'
import { destinations } from '../gateway/webhooks/destinations.ts'
import type { Span } from '../gateway/core/trace-context.ts'
import { INDEX } from '../gateway/core/indexes.ts'
import { webhookTenants } from '../gateway/core/tenants.ts'
import { isNothing, readConfirmed } from '../gateway/core/transact.ts'
import type { Outbound, Sent } from '../outbound/outbound.ts'
import { sign } from './signature.ts'

/**
 * Makes the deliveries of the outbox (docs/webhooks.md). Every instance runs one worker. A worker leases a delivery.
 * When the worker dies, another worker takes over. Each destination has its own list and connections, so a slow
 * destination does not delay others.
 */
export interface Worker {
  /** Schedules a look for due deliveries of the tenant. */
  wake(tenant: string): void
  /** Ends the attempts in progress without a record, so that they are repeated. */
  close(): Promise<void>
}

export interface WorkerOptions {
  readonly outbound: Outbound
  /** The app of a chat, for destinations with its format. */
  readonly chat: ChatApp | undefined
  /** Time between two looks at all tenants, ms. */
  readonly everyMs: number
  /** Time limit of one attempt, ms. */
  readonly deadlineMs: number
  /** ms since 1970 by the wall clock, as receivers read it. The store's clock may be ahead of the wall clock. */
  readonly wall: () => number
  readonly observe: (tried: Observed) => void
  readonly beginSpan: () => Span
  readonly onError: (error: unknown) => void
}

export interface Observed {
  readonly result: 'delivered' | 'retry' | 'dead'
  readonly code: string
  readonly seconds: number
  /** Time from the event to the delivery, ms. Present for a successful delivery. */
  readonly lagMs?: number
}

export const TRY_MS = 15_000
const CONNECTIONS = 16
/** Deliveries enqueued within this time are leased together, because each lease is a commit. */
const GATHER_MS = 25
/** A lease outlasts an attempt and its record. */
const LEASE_MARGIN_MS = 5_000

/** One delivery that this worker has leased. */
interface Item {
  readonly tenant: string
  readonly destination: Destination
  readonly id: string
  /** The latest start of an attempt, ms since 1970. A later attempt may outlast the lease. */
  readonly before: number
}

export function createWorker(deps: Deps, options: WorkerOptions): Worker {
  const worker = new OutboxWorker(deps, options)
  worker.start()
  return worker
}

class OutboxWorker implements Worker {
  readonly #deps: Deps
  readonly #options: WorkerOptions
  readonly #stop = new AbortController()
  /** Leased deliveries by destination. */
  readonly #underWay = new Map<string, number>()
  readonly #tries = new Set<Promise<void>>()
  /** Scheduled looks, by tenant. */
  readonly #woken = new Map<string, NodeJS.Timeout>()
  readonly #leaseMs: number
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> = Promise.resolve()

  constructor(deps: Deps, options: WorkerOptions) {
    this.#deps = deps
    this.#options = options
    this.#leaseMs = options.deadlineMs + LEASE_MARGIN_MS
    // every attempt adds a listener
    setMaxListeners(0, this.#stop.signal)
  }

  start(): void {
    this.#look(() => this.#lookAtAll())
      .catch(this.#options.onError)
      .finally(() => {
        if (!this.#stop.signal.aborted) this.#timer = setTimeout(() => this.start(), this.#options.everyMs)
      })
  }

  wake(tenant: string): void {
    if (this.#stop.signal.aborted || this.#woken.has(tenant)) return
    const look = (): void => {
      this.#woken.delete(tenant)
      this.#look(() => this.#lookAt(tenant)).catch(this.#options.onError)
    }
    this.#woken.set(tenant, setTimeout(look, GATHER_MS))
  }

  async close(): Promise<void> {
    this.#stop.abort()
    clearTimeout(this.#timer)
    for (const timer of this.#woken.values()) clearTimeout(timer)
    await this.#looking
    await Promise.all(this.#tries)
    this.#options.outbound.close()
  }

  /** Looks run one after another, because simultaneous looks would only take each other's items. */
  #look(act: () => Promise<void>): Promise<void> {
    const next = this.#looking.then(act)
    this.#looking = next.catch(() => undefined)
    return next
  }

  async #lookAtAll(): Promise<void> {
    // a fault in one tenant, or in its part of the store, must not delay other tenants
    for (const tenant of await webhookTenants(this.#deps))
      await this.#lookAt(tenant).catch(this.#options.onError)
  }

  async #lookAt(tenant: string): Promise<void> {
    const all = await destinations(this.#deps, tenant)
    for (const destination of all) {
      const free = this.#freeFor(destination.id)
      const isStopped = destination.paused !== undefined || this.#stop.signal.aborted
      if (free > 0 && !isStopped) await this.#claim(tenant, destination, free)
    }
  }

  async #claim(tenant: string, destination: Destination, limit: number): Promise<void> {
    const { store } = this.#deps
    const { id } = destination
    this.#occupy(id, limit)
    const claim = { now: store.now(), lease: this.#leaseMs, limit }
    const claimed = await store.claimDue(tenant, INDEX.outbox(id), claim).catch((error: unknown) => {
      this.#occupy(id, -limit)
      throw error
    })
    this.#occupy(id, claimed.length - limit)
    const lasts = isNothing(claimed) ? undefined : this.#lasts(tenant, claimed)
    const before = claim.now + LEASE_MARGIN_MS
    for (const { member } of claimed) this.#begin({ tenant, destination, id: member, before }, lasts)
  }

  /**
   * Returns false when a failover may undo the leases. In that case, the deliveries become due again when their leases
   * end.
   */
  async #lasts(tenant: string, claimed: readonly unknown[]): Promise<boolean> {
    try {
      await readConfirmed(this.#deps, tenant, () => Promise.resolve(claimed))
      return true
    } catch (error) {
      this.#options.onError(error)
      return false
    }
  }

  #begin(item: Item, lasts = Promise.resolve(true)): void {
    const posting = lasts.then((yes) =>
      yes ? post(this.#deps, this.#options, item, this.#stop.signal) : undefined,
    )
    const trying = posting
      .finally(() => this.#free(item))
      .then((posted) => posted && this.#record(item, posted))
      .catch(this.#options.onError)
      .finally(() => this.#tries.delete(trying))
    this.#tries.add(trying)
  }

  async #record(
    { tenant, destination, id }: Item,
    { attempt, code, seconds, createdAt }: Posted,
  ): Promise<void> {
    const { store } = this.#deps
    const state = await recordAttempt(this.#deps, tenant, { id, destination: destination.id, attempt })
    if (state === undefined) return
    const result = state === 'waiting' ? 'retry' : state
    const lag = state === 'delivered' ? { lagMs: store.now() - createdAt } : {}
    this.#options.observe({ result, code, seconds, ...lag })
  }

  #freeFor(destination: string): number {
    return CONNECTIONS - (this.#underWay.get(destination) ?? 0)
  }

  #occupy(destination: string, more: number): void {
    const count = (this.#underWay.get(destination) ?? 0) + more
    if (count > 0) this.#underWay.set(destination, count)
    else this.#underWay.delete(destination)
  }

  #free({ tenant, destination: { id } }: Pick<Item, 'tenant' | 'destination'>): void {
    this.#occupy(id, -1)
    // a full batch may have left further deliveries
    if (this.#freeFor(id) <= CONNECTIONS / 2) this.wake(tenant)
  }
}

interface Posted {
  readonly attempt: AttemptResult
  /** A metric label. */
  readonly code: string
  readonly seconds: number
  readonly createdAt: number
}

/**
 * Undefined when the delivery is settled, its lease has ended, or the gateway stops. In these cases, the attempt is not
 * recorded.
 */
async function post(
  deps: Deps,
  options: WorkerOptions,
  { tenant, destination, id, before }: Item,
  signal: AbortSignal,
): Promise<Posted | undefined> {
  const delivery = await deliveryToMake(deps, tenant, { id, destination: destination.id })
  // after the lease, another worker may have the delivery, and the destination may have changed
  if (delivery === undefined || deps.store.now() > before) return undefined
  const { created_at: createdAt, type: event, thread_id, trace } = delivery
  const span = options.beginSpan()
  span.refersTo(trace)
  const tries = delivery.attempts + 1
  span.note({ event, tenant, thread_id, delivery: id, destination: destination.id, tries })
  const start = performance.now()
  const made = await (isChatApp(destination.format)
    ? toldTo(deps, options, { tenant, destination, record: delivery }, signal)
    : sentTo(deps, options, { destination, id, body: delivery.body }, signal))
  if (made === undefined) return undefined
  const { attempt, code } = made
  span.end(attempt.outcome === 'success' ? undefined : { code, ours: false })
  return { ...made, seconds: (performance.now() - start) / 1_000, createdAt }
}

type Made = Pick<Posted, 'attempt' | 'code'>

async function sentTo(
  deps: Deps,
  { outbound, deadlineMs, wall }: WorkerOptions,
  {
    destination,
    id,
    body,
  }: { readonly destination: Destination; readonly id: string; readonly body: string },
  signal: AbortSignal,
): Promise<Made | undefined> {
  const secrets = secretsInForce(destination, deps.store.now())
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Countersign',
    ...sign({ id, seconds: Math.floor(wall() / 1_000), body }, secrets),
  }
  const sent = await outbound.post(destination.url, { headers, body, deadlineMs, signal })
  if (sent.kind === 'failed' && sent.code === 'stopped') return undefined
  return { attempt: attemptResult(sent, wall()), code: codeOf(sent) }
}

async function toldTo(
  deps: Deps,
  { chat, deadlineMs }: WorkerOptions,
  delivery: ChatDelivery,
  signal: AbortSignal,
): Promise<Made | undefined> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])
  const attempt = await deliverToChat(deps, chat, delivery, limit)
  if (signal.aborted && attempt.outcome !== 'success') return undefined
  return { attempt, code: attempt.outcome === 'success' ? '2xx' : 'chat' }
}

/**
 * Interprets the answer. 2xx is a success, 410 ends the destination, and every other answer (including redirects) is
 * retried. `now` is the time by the receiver's clock.
 */
export function attemptResult(sent: Sent, now: number): AttemptResult {
  if (sent.kind === 'failed') return { outcome: 'failure', answer: sent.code }
  const { status, retryAfter } = sent
  const answer = String(status)
  if (status >= 200 && status < 300) return { outcome: 'success', answer }
  if (status === 410) return { outcome: 'gone', answer }
  const wishedMs = readRetryAfter(retryAfter, now)
  return { outcome: 'failure', answer, ...(wishedMs === undefined ? {} : { wishedMs }) }
}

/** Returns a metric label with few values. */
function codeOf(sent: Sent): string {
  return sent.kind === 'failed' ? sent.code : `${Math.floor(sent.status / 100)}xx`
}
