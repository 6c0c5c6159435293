import { instantOf } from '../language/time.ts'

const HOUR_MS = 3_600_000
const WEEK_MS = 7 * 24 * HOUR_MS
/** 2024-01-01, a Monday. */
const SOME_MONDAY = Date.UTC(2024, 0, 1)

/**
 * Returns instants before, between and after the dates: every hour of the first week of each span. With two
 * time zones, returns every quarter of an hour of the first 53 weeks, to include every possible pair of local times.
 * Without a test of the time, returns one instant per span.
 */
export function instantsFor(
  dates: readonly number[],
  timezones: readonly string[],
  askTime: boolean,
): readonly number[] {
  const sorted = [...new Set(dates)].sort((a, b) => a - b)
  const zones = [...new Set(timezones)]
  const [length, step] = !askTime
    ? [1, 1]
    : zones.length < 2
      ? [WEEK_MS, HOUR_MS]
      : [53 * WEEK_MS, HOUR_MS / 4]
  const first = sorted[0] === undefined ? SOME_MONDAY : mondayBefore(sorted[0]) - length
  const noon = instantOf(zones[0] ?? 'UTC', first + 12 * HOUR_MS)
  const spans = [
    { from: first, to: first + length },
    ...sorted.map((from, i) => ({ from, to: sorted[i + 1] ?? Infinity })),
  ]
  const instants = spans.flatMap(({ from, to }) => {
    const found: number[] = []
    for (let at = from; at < Math.min(to, from + length); at += step) found.push(at)
    return found
  })
  // The default time of inline tests is first, because `diff` shows the first example.
  return [...new Set([noon, ...instants, ...sorted.map((date) => date - 1)])]
}

function mondayBefore(at: number): number {
  return SOME_MONDAY + Math.floor((at - SOME_MONDAY) / WEEK_MS - 1) * WEEK_MS
}
