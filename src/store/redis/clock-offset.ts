/**
 * The number of heartbeats in a minute (peer.ts). Even when both sides are busy, at least one of these answers arrives
 * fast, and running clocks drift by only a few milliseconds. After a minute, the estimate follows the clock of a server
 * even if that clock was set back.
 */
export const OFFSET_SAMPLES = 240

/** The difference between a server's clock and this process's clock, estimated from the server's answers. */
export function createOffset() {
  const samples: number[] = []
  let best: number | undefined
  return {
    /**
     * Records an answer that arrived just now. The server read its clock before the answer arrived, so the estimate is
     * never ahead of the server (S08, S12).
     */
    heard(serverMs: number, ourMs: number): void {
      samples.push(serverMs - ourMs)
      if (samples.length > OFFSET_SAMPLES) samples.shift()
      best = Math.max(...samples)
    },
    /** ms; undefined before the first answer. */
    best: () => best,
    forget(): void {
      samples.length = 0
      best = undefined
    },
  }
}
