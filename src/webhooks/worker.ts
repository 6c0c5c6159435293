import { readRetryAfter } from '../domain/retry.ts'
import { type Destination, secretsInForce } from '../domain/webhook.ts'
import { deliveryToMake, recordTry, type Tried } from '../gateway/attempt.ts'
import type { Deps } from '../gateway/deps.ts'
import { destinations } from '../gateway/destinations.ts'
import { INDEX, SYSTEM } from '../gateway/records.ts'
import type { Outbound, Sent } from './outbound.ts'
import { sign } from './signature.ts'

/**
 * Makes the deliveries that wait in the outbox (design.md section 7). Every instance runs one; a delivery is leased, so one worker at a time makes it, and
 * another takes over when that one dies. Each destination has its own list and its own few connections: one that is slow holds up nobody else.
 */
export interface Worker {
  /** There is something to do for the tenant. */
  wake(tenant: string): void
  /** One look at everything; resolves when what it found was tried and written down. Returns how many tries that were. */
  round(): Promise<number>
  /** Ends the tries under way, without writing them down: they are made again. */
  close(): Promise<void>
}

export interface WorkerOptions {
  readonly outbound: Outbound
  /** Time between two looks at all tenants, ms. */
  readonly everyMs: number
  /** For one try, ms. */
  readonly deadlineMs: number
  readonly observe: (tried: Observed) => void
  readonly onError: (error: unknown) => void
}

export interface Observed {
  readonly result: 'delivered' | 'retry' | 'dead'
  readonly code: string
  readonly seconds: number
  /** From the event to now, ms; of a delivery that was made. */
  readonly lagMs?: number
}

export const TRY_MS = 15_000
const CONNECTIONS = 16
/** A lease outlasts a try and its record. */
const LEASE_MARGIN_MS = 10_000
const MAX_TENANTS = 10_000

interface Item {
  readonly tenant: string
  readonly destination: Destination
  readonly id: string
}

export function createWorker(deps: Deps, options: WorkerOptions): Worker {
  const { everyMs, deadlineMs, onError } = options
  const stop = new AbortController()
  const underWay = new Map<string, number>()
  const tries = new Set<Promise<void>>()
  const woken = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<unknown> = Promise.resolve()

  const begin = (item: Item): void => {
    const { id } = item.destination
    underWay.set(id, (underWay.get(id) ?? 0) + 1)
    const trying = make(deps, options, item, stop.signal)
      .catch(onError)
      .finally(() => {
        tries.delete(trying)
        const left = (underWay.get(id) ?? 1) - 1
        if (left > 0) underWay.set(id, left)
        else underWay.delete(id)
        // a full house may have left something behind
        if (left === CONNECTIONS - 1) wake(item.tenant)
      })
    tries.add(trying)
  }

  const lookAt = async (tenant: string): Promise<number> => {
    const all = await destinations(deps, tenant)
    let found = 0
    for (const destination of all.filter(({ paused }) => paused === undefined)) {
      const free = CONNECTIONS - (underWay.get(destination.id) ?? 0)
      if (free === 0 || stop.signal.aborted) continue
      const claim = { now: deps.store.now(), lease: deadlineMs + LEASE_MARGIN_MS, limit: free }
      const claimed = await deps.store.claimDue(tenant, INDEX.outbox(destination.id), claim)
      for (const { member } of claimed) begin({ tenant, destination, id: member })
      found += claimed.length
    }
    return found
  }

  const everybody = async (): Promise<number> => {
    const tenants = await deps.store.range(SYSTEM, INDEX.webhookTenants, { limit: MAX_TENANTS })
    let found = 0
    for (const { member } of tenants) found += await lookAt(member)
    return found
  }

  /** One after another: two looks at once would only take each other's items. */
  const look = <T>(act: () => Promise<T>): Promise<T> => {
    const next = looking.then(act)
    looking = next.catch(() => undefined)
    return next
  }

  const wake = (tenant: string): void => {
    if (stop.signal.aborted || woken.has(tenant)) return
    woken.add(tenant)
    look(async () => {
      woken.delete(tenant)
      if (!stop.signal.aborted) await lookAt(tenant)
    }).catch(onError)
  }

  const start = (): void => {
    look(everybody)
      .catch(onError)
      .finally(() => {
        if (!stop.signal.aborted) timer = setTimeout(start, everyMs)
      })
  }
  start()

  return {
    wake,
    async round() {
      const found = await look(everybody)
      while (tries.size > 0) await Promise.all(tries)
      return found
    },
    async close() {
      stop.abort()
      clearTimeout(timer)
      await looking
      await Promise.all(tries)
    },
  }
}

async function make(deps: Deps, options: WorkerOptions, item: Item, signal: AbortSignal): Promise<void> {
  const { tenant, destination, id } = item
  const record = await deliveryToMake(deps, tenant, { id, destination: destination.id })
  if (record === undefined) return
  const now = deps.store.now()
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Countersign',
    ...sign({ id, seconds: Math.floor(now / 1_000), body: record.body }, secretsInForce(destination, now)),
  }
  const start = performance.now()
  const sent = await options.outbound.post(destination.url, {
    headers,
    body: record.body,
    deadlineMs: options.deadlineMs,
    signal,
  })
  if (sent.kind === 'failed' && sent.code === 'stopped') return
  const seconds = (performance.now() - start) / 1_000
  const tried = triedBy(sent, deps.store.now())
  const state = await recordTry(deps, tenant, { id, destination: destination.id, tried })
  if (state === undefined) return
  const result = state === 'waiting' ? 'retry' : state
  const lag = state === 'delivered' ? { lagMs: deps.store.now() - record.created_at } : {}
  options.observe({ result, code: codeOf(sent), seconds, ...lag })
}

/** What an answer means: 2xx is delivered; 410 is goodbye; everything else, redirects too, is tried again. */
export function triedBy(sent: Sent, now: number): Tried {
  if (sent.kind === 'failed') return { result: 'failure', said: sent.code }
  const { status, retryAfter } = sent
  const said = String(status)
  if (status >= 200 && status < 300) return { result: 'success', said }
  if (status === 410) return { result: 'gone', said }
  const wishedMs = readRetryAfter(retryAfter, now)
  return { result: 'failure', said, ...(wishedMs === undefined ? {} : { wishedMs }) }
}

/** A label with few values. */
function codeOf(sent: Sent): string {
  return sent.kind === 'failed' ? sent.code : `${Math.floor(sent.status / 100)}xx`
}
