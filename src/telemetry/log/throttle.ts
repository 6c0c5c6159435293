/** Minimum time between two reports of the same failure, ms. */
const AGAIN_MS = 60_000
/** Maximum number of failures that are distinguished. */
const MOST_FAILURES = 100

/**
 * Throttles reports of work that is retried within a second and may fail for days. `say` receives each failure at most
 * once a minute, with the number of omitted repetitions. Metrics count every failure.
 */
export function throttled(
  say: (error: unknown, suppressed: number) => void,
  now: () => number = () => performance.now(),
): (error: unknown) => void {
  const logged = new Map<string, { at: number; suppressed: number }>()
  return (error) => {
    const failure = String(error)
    const before = logged.get(failure)
    if (before !== undefined && now() - before.at < AGAIN_MS) {
      before.suppressed += 1
      return
    }
    if (before === undefined && logged.size === MOST_FAILURES) logged.clear()
    logged.set(failure, { at: now(), suppressed: 0 })
    say(error, before?.suppressed ?? 0)
  }
}
