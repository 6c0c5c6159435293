/** As a pause of the machine, or of the collector of garbage: nothing of this process runs for so long. */
export function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
