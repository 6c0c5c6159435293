import { type Budget, BUDGETS, type Budgets } from '../domain/budget.ts'

/** The settings of budgets (src/domain/budget.ts): `--budget-waiting-per-agent`, `COUNTERSIGN_BUDGET_WAITING_PER_AGENT` and so on. */
export interface BudgetSettings {
  readonly budgetWaitingPerAgent: number
  readonly budgetWaitingPerTenant: number
  readonly budgetBytesPerDay: number
  readonly budgetIdempotencyRecords: number
  readonly budgetSessionsPerReviewer: number
  readonly budgetSessionsPerTenant: number
}

const ROWS: readonly (readonly [keyof BudgetSettings, Budget, string])[] = [
  ['budgetWaitingPerAgent', 'waiting_per_agent', 'waiting threads that one agent may have'],
  ['budgetWaitingPerTenant', 'waiting_per_tenant', 'waiting threads that one tenant may have'],
  [
    'budgetBytesPerDay',
    'bytes_per_day',
    'bytes that the calls of one tenant may add to the store in 24 hours',
  ],
  ['budgetIdempotencyRecords', 'idempotency_records', 'answers kept for Idempotency-Keys of one tenant'],
  ['budgetSessionsPerReviewer', 'sessions_per_reviewer', 'open console sessions of one reviewer'],
  ['budgetSessionsPerTenant', 'sessions_per_tenant', 'open console sessions of one tenant'],
]

export const BUDGET_SETTINGS = ROWS.map(([key, budget, help]) => ({
  key,
  type: 'integer' as const,
  default: BUDGETS[budget],
  minimum: 1,
  help,
}))

export const budgetsOf = (config: BudgetSettings): Budgets =>
  Object.fromEntries(ROWS.map(([key, budget]) => [budget, config[key]])) as Budgets
