/** Shortest time between two reports of the same failure, ms. */
const AGAIN_MS = 60_000
/** Most failures that are distinguished. */
const MOST_WAYS = 100

/**
 * Throttles reports of work that is tried again within a second and may fail for days. `say` gets each failure at most
 * once a minute, with the number of its omitted repeats. Metrics count every failure.
 */
export function seldom(
  say: (error: unknown, untold: number) => void,
  now: () => number = () => performance.now(),
): (error: unknown) => void {
  const told = new Map<string, { at: number; untold: number }>()
  return (error) => {
    const way = String(error)
    const before = told.get(way)
    if (before !== undefined && now() - before.at < AGAIN_MS) {
      before.untold += 1
      return
    }
    if (before === undefined && told.size === MOST_WAYS) told.clear()
    told.set(way, { at: now(), untold: 0 })
    say(error, before?.untold ?? 0)
  }
}
