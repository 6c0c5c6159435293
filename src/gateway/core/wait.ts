/** A request that is held until its thread is decided. */
export interface Wait {
  /** How long to hold the request while the thread is pending_review, ms. */
  readonly ms: number
  /** Aborts when the caller has disconnected, the time is over by this machine's clock, or the gateway shuts down. */
  readonly signal: AbortSignal
  /** The number of requests that now wait at this instance, including this one. */
  waiting(): number
}
