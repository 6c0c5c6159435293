/** A request that is held until its thread is decided. */
export interface Wait {
  /** How long to hold the request while the thread is pending_review, ms. */
  readonly ms: number
  /** Aborts when the caller is gone, the time is over by the clock of this machine, or the gateway shuts down. */
  readonly signal: AbortSignal
  /** How many requests wait at this instance now, this one among them. */
  waiting(): number
}
