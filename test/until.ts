import { setTimeout as pause } from 'node:timers/promises'
import { stopwatch } from './stopwatch.ts'

const LOOK_EVERY_MS = 5

/**
 * Waits until a condition holds, and looks often. A condition that throws does not hold yet.
 *
 * @throws Error after `withinMs`
 */
export async function until(holds: () => unknown, withinMs = 30_000): Promise<void> {
  const tookMs = stopwatch()
  for (;;) {
    let cause: unknown
    try {
      if (await holds()) return
    } catch (error) {
      cause = error
    }
    if (tookMs() > withinMs)
      throw new Error(`it was not so within ${withinMs} ms: ${holds.toString()}`, { cause })
    await pause(LOOK_EVERY_MS)
  }
}
