const DAY_MS = 24 * 3_600_000

export interface RetentionRow {
  /** The time without the key, ms. */
  readonly default: number
  /** ms. */
  readonly least: number
  /** The subject and verb of the finding. */
  readonly stays: string
  /** The reason of the least time. */
  readonly why?: string
}

/**
 * The keys of `retention` in routing.yaml, in the order of fmt. Each has the job that deletes
 * (src/gateway/jobs/retention.ts), and a history in its test.
 */
export const RETENTION = {
  /** Threads, their revisions and comments, after no agent, reviewer or timer can change them any more. */
  threads: {
    default: 30 * DAY_MS,
    // the gateway distinguishes used and expired proofs for seven days after their life
    least: 8 * DAY_MS,
    stays: 'threads stay',
    why: ', because agents may ask about their proofs for as long',
  },
  /** Values and words beside the log of evidence, after their record. */
  disclosures: { default: 90 * DAY_MS, least: DAY_MS, stays: 'disclosures stay' },
  /** Records of evidence in the store, if they are in tiles too. */
  log_in_store: { default: 7 * DAY_MS, least: DAY_MS, stays: 'records of evidence stay in the store' },
  /** Tools, labels and rejected calls of a task, after the last record about it that left the store. */
  tasks: {
    default: 90 * DAY_MS,
    // no window has over 31 days
    least: 31 * DAY_MS,
    stays: 'the history of tasks stays',
    why: ', because rules may count the calls of as long',
  },
} as const satisfies Record<string, RetentionRow>

export type RetentionKind = keyof typeof RETENTION

/** How long a tenant's data stays, in ms. */
export type Retention = { readonly [Kind in RetentionKind as `${Kind}_ms`]: number }

export const RETENTION_KINDS = Object.keys(RETENTION) as RetentionKind[]

export const retentionOf = (of: (kind: RetentionKind) => number): Retention =>
  Object.fromEntries(RETENTION_KINDS.map((kind) => [`${kind}_ms`, of(kind)])) as Retention
