/** How long a tenant's data stays, in ms. */
export interface Retention {
  /** Threads, their revisions and comments, after no agent, reviewer or timer can change them any more. */
  readonly threads_ms: number
  /** Values and words beside the log of evidence, after their record. */
  readonly disclosures_ms: number
  /** Records of evidence in the store, if they are in tiles too. */
  readonly log_in_store_ms: number
  /** Tools, labels and rejected calls of a task, after the last record about it that left the store. */
  readonly tasks_ms: number
}

const DAY_MS = 24 * 3_600_000

/** The retention without `retention` in routing.yaml. */
export const DEFAULT_RETENTION: Retention = {
  threads_ms: 30 * DAY_MS,
  disclosures_ms: 90 * DAY_MS,
  log_in_store_ms: 7 * DAY_MS,
  tasks_ms: 90 * DAY_MS,
}

/** The gateway distinguishes used and expired proofs for seven days after their life. No window has over 31 days. */
export const LEAST_RETENTION: Retention = {
  threads_ms: 8 * DAY_MS,
  disclosures_ms: DAY_MS,
  log_in_store_ms: DAY_MS,
  tasks_ms: 31 * DAY_MS,
}
