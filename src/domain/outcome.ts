/** How a call ended, as its agent says (docs/agent-api.md). */
export const OUTCOMES = ['executed', 'failed', 'not_run'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** A recorded outcome. */
export interface Ended {
  /** Distinguishes the runs of equal calls. */
  readonly run: string
  readonly outcome: Outcome
  readonly duration_ms?: number
  /** The keyed hash of all that the agent said, by which a repeated report is known. */
  readonly content: string
  /** ms since 1970. */
  readonly at: number
  /** The number of the record that allowed the call. */
  readonly of: number
}
