import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import { type Budget, BUDGET_NAMES } from '../../domain/budget.ts'
import type { Actor } from '../../domain/evidence.ts'
import type { Thread, ThreadStatus } from '../../domain/thread.ts'
import { type Guard, STORE_LIMITS, type Write } from '../../store/store.ts'
import type { Deps } from './deps.ts'
import { purgeAt } from './expiry-index.ts'

/*
 * Budgets are limits of the store (S18), like those of policy: the commit that adds something guards its budget and
 * charges it. A commit therefore needs no read, commits below the budget never conflict, and no instance exceeds the
 * budget. When a charged record ends, its charge is reversed at the time of the original charge.
 */

const DAY_MS = 24 * 3_600_000
/**
 * The timer checks a counter without new charges a day after its longest window. The time is rounded to whole days, so
 * that the index entry rarely moves.
 */
const FORGET_MS = STORE_LIMITS.windowMs + DAY_MS

/** The period in which a charge counts, and the seconds after which a refused caller may retry. */
const TERMS: Readonly<Record<Budget, { readonly windowMs: number; readonly retryAfter: number }>> = {
  waiting_per_agent: { windowMs: STORE_LIMITS.windowMs, retryAfter: 60 },
  waiting_per_tenant: { windowMs: STORE_LIMITS.windowMs, retryAfter: 60 },
  bytes_per_day: { windowMs: DAY_MS, retryAfter: 3_600 },
  idempotency_records: { windowMs: LIMITS.IDEMPOTENCY_MS, retryAfter: 3_600 },
  sessions_per_reviewer: { windowMs: STORE_LIMITS.windowMs, retryAfter: 60 },
  sessions_per_tenant: { windowMs: STORE_LIMITS.windowMs, retryAfter: 60 },
}

const SAYS: Readonly<Record<Budget, string>> = {
  waiting_per_agent: 'this agent has as many waiting threads as it may have',
  waiting_per_tenant: 'this tenant has as many waiting threads as it may have',
  bytes_per_day: 'this caller or its tenant has stored as much within 24 hours as it may store',
  idempotency_records:
    'this agent or its tenant has as many answers kept for Idempotency-Keys as it may have',
  sessions_per_reviewer: 'this reviewer has as many open sessions as a reviewer may have',
  sessions_per_tenant: 'this tenant has as many open sessions as it may have',
}

const PREFIX = 'budget/'
/** The counters of the tenant, by their budget. */
const OF_TENANT = Object.fromEntries(BUDGET_NAMES.map((name) => [name, PREFIX + name])) as Record<
  Budget,
  string
>

/**
 * One budget and its holder; the tenant is the default holder. `by` has at most three quarters of what the others with
 * the same holder leave.
 */
export interface Spending {
  readonly budget: Budget
  readonly holder?: string
  readonly by?: string
}

const counterOf = ({ budget, holder }: Spending): string =>
  holder === undefined ? OF_TENANT[budget] : `${PREFIX}${budget}/${holder}`

export function budgetGuard(deps: Deps, spending: Spending, amount = 1): Guard {
  const { budget } = spending
  // a bundle may only lower the bounds of the settings
  const atMost = Math.min(deps.budgets[budget], deps.policies.current()?.budgets[budget] ?? Infinity)
  const limit = counterOf(spending)
  const share = spending.by === undefined ? {} : { share: shareOf(limit, spending.by) }
  return { limit, windowMs: TERMS[budget].windowMs, amount, atMost, ...share }
}

const shareOf = (limit: string, by: string): string => `${limit}/by/${by}`

/** Charges the budget at the time `at`. A negative amount reverses the charge of that time. */
export function spend(spending: Spending, at: number, amount = 1): Write[] {
  const limit = counterOf(spending)
  const limits = spending.by === undefined ? [limit] : [limit, shareOf(limit, spending.by)]
  const { windowMs } = TERMS[spending.budget]
  return limits.map((one) => ({ op: 'charge', limit: one, windowMs, at, amount }))
}

const forgetAt = (at: number): number => Math.ceil((at + FORGET_MS) / DAY_MS) * DAY_MS

/** The parts of a commit that is not sent yet. */
interface Parts {
  readonly guards: Guard[]
  readonly writes: Write[]
  readonly events: readonly string[]
  readonly disclosures: readonly (string | undefined)[]
}

/**
 * Adds a charge for the commit's size to the budget of bytes per day. People have a budget of their own, of the same
 * size, so that agents cannot keep them from reviewing.
 */
export function chargeBytes(deps: Deps, commit: Parts, at: number, actor: Actor): void {
  const amount = bytesOf(commit)
  const holder = actor.kind === 'agent' ? {} : { holder: 'people' }
  const spending: Spending = { budget: 'bytes_per_day', ...holder, by: actor.id }
  commit.guards.push(budgetGuard(deps, spending, amount))
  commit.writes.push(...spend(spending, at, amount))
}

/**
 * Schedules the timer's check of each budget that a commit charges, once a day for each counter and instance, because
 * nearly every commit charges one.
 *
 * @returns to be called when the commit is durable
 */
export function scheduleChecks(
  { scheduled }: Deps,
  tenant: string,
  writes: Write[],
): (() => void) | undefined {
  const unscheduled: [counter: string, until: number][] = []
  for (const write of writes) {
    if (write.op !== 'charge' || write.amount <= 0 || !write.limit.startsWith(PREFIX)) continue
    const until = forgetAt(write.at)
    const counter = `${tenant} ${write.limit}`
    if (scheduled.get(counter) === until) continue
    unscheduled.push([counter, until])
    writes.push(purgeAt('limit', write.limit, until))
  }
  if (unscheduled.length === 0) return undefined
  return () => {
    if (scheduled.size >= REMEMBERED_COUNTERS) scheduled.clear()
    for (const [counter, until] of unscheduled) scheduled.set(counter, until)
  }
}

/** Counters of which an instance remembers that the timer's check is scheduled. */
const REMEMBERED_COUNTERS = 10_000

function bytesOf({ writes, events, disclosures }: Parts): number {
  let bytes = 0
  for (const write of writes) if (write.op === 'put') bytes += Buffer.byteLength(write.body)
  for (const event of events) bytes += Buffer.byteLength(event)
  for (const text of disclosures) bytes += Buffer.byteLength(text ?? '')
  return bytes
}

export const waitingOf = ({ agent }: Pick<Thread, 'agent'>): readonly Spending[] => [
  { budget: 'waiting_per_agent', holder: agent },
  { budget: 'waiting_per_tenant' },
]

const isWaiting = (status: ThreadStatus | undefined): boolean =>
  status === 'pending_review' || status === 'changes_requested'

/** Charges a waiting thread at its creation, and reverses the charge when the thread stops waiting. */
export function spendWaiting(before: Thread | undefined, after: Thread): Write[] {
  const change = Number(isWaiting(after.status)) - Number(isWaiting(before?.status))
  if (change === 0) return []
  return waitingOf(after).flatMap((spending) => spend(spending, after.created_at, change))
}

export const sessionsOf = (reviewer: string): readonly Spending[] => [
  { budget: 'sessions_per_reviewer', holder: reviewer },
  { budget: 'sessions_per_tenant' },
]

/**
 * Refuses a commit that exceeds a budget.
 *
 * @throws GatewayError `over_budget` when a failed guard is a budget's
 */
export function refuseOverBudget(deps: Deps, failed: readonly Guard[]): void {
  for (const guard of failed) {
    const budget = 'limit' in guard ? budgetOf(guard.limit) : undefined
    if (budget === undefined || !('limit' in guard)) continue
    deps.observe({ kind: 'over_budget', budget })
    const detail = `${SAYS[budget]} (${budget}: ${guard.atMost}); nothing was changed`
    throw new GatewayError('over_budget', detail, { budget, retryAfter: TERMS[budget].retryAfter })
  }
}

function budgetOf(limit: string): Budget | undefined {
  const [name] = limit.startsWith(PREFIX) ? limit.slice(PREFIX.length).split('/') : []
  return BUDGET_NAMES.find((one) => one === name)
}

/**
 * Refuses new calls while the remaining room is reserved for the votes, redemptions and evidence of held calls.
 *
 * @throws GatewayError `store_unavailable` while the store is short of room
 */
export function refuseWithoutRoom(deps: Deps): void {
  const reason = deps.store.shortOfRoom()
  if (reason === undefined) return
  deps.observe({ kind: 'over_budget', budget: 'disk' })
  const detail = 'the store is nearly full: it refuses new calls until held calls end'
  throw new GatewayError('store_unavailable', detail, { retryAfter: 60, cause: new Error(reason) })
}
