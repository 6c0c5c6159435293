/** A request that is held until its thread is decided. */
export interface Wait {
  /** Maximum time, in ms, that the request waits while the thread is pending_review. */
  readonly ms: number
  /**
   * Aborts when the caller disconnects, when the time has passed by this machine's clock, or when the gateway shuts
   * down.
   */
  readonly signal: AbortSignal
  /** The number of requests that wait at this instance, including this request. */
  waiting(): number
}
