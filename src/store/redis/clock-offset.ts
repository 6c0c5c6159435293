/**
 * A minute of heartbeats (peer.ts): however busy both sides are, the answer of one of them comes fast, and clocks that run do not drift apart by more than some
 * milliseconds meanwhile. A server whose clock was set back is believed after that.
 */
export const OFFSET_SAMPLES = 240

/** What a server's clock is ahead of ours, as well as its answers tell. */
export interface Offset {
  /** An answer that came just now: the server's time was read before that, so what is kept is never ahead of the server (S08, S12). */
  heard(serverMs: number, ourMs: number): void
  /** ms; undefined before the first answer. */
  best(): number | undefined
  forget(): void
}

export function createOffset(): Offset {
  const samples: number[] = []
  let best: number | undefined
  return {
    heard(serverMs, ourMs) {
      samples.push(serverMs - ourMs)
      if (samples.length > OFFSET_SAMPLES) samples.shift()
      best = Math.max(...samples)
    },
    best: () => best,
    forget() {
      samples.length = 0
      best = undefined
    },
  }
}
