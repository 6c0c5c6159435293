/** Counts how much is done in one turn of the event loop: whatever else there is to do waits for its end. */
export interface Turns {
  /** To be called for each thing that is done. */
  count(): void
  /** The most of them in one turn, so far. */
  most(): number
  /** From now on. */
  begin(): void
}

export function countTurns(): Turns {
  let now = 0
  let most = 0
  return {
    count() {
      if (now === 0) setImmediate(() => (now = 0))
      now += 1
      most = Math.max(most, now)
    },
    most: () => most,
    begin() {
      most = 0
    },
  }
}
