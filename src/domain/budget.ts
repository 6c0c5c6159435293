/**
 * Budgets: bounds on the data that one tenant, agent or reviewer keeps in the store. The defaults far exceed normal
 * use.
 */

export const BUDGETS = {
  /** Undecided threads of one agent: pending_review and changes_requested. */
  waiting_per_agent: 10_000,
  waiting_per_tenant: 50_000,
  /** Bytes of records and evidence that calls of one tenant add within 24 hours. */
  bytes_per_day: 32 * 1024 ** 3,
  /** Stored answers of one tenant, by Idempotency-Key. */
  idempotency_records: 5_000_000,
  /** Open sessions of the console. */
  sessions_per_reviewer: 100,
  sessions_per_tenant: 10_000,
} as const

export type Budget = keyof typeof BUDGETS
export type Budgets = Readonly<Record<Budget, number>>

export const BUDGET_NAMES = Object.keys(BUDGETS) as readonly Budget[]
