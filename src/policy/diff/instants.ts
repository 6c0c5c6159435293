import { instantOf } from '../language/time.ts'

const HOUR_MS = 3_600_000
const WEEK_MS = 7 * 24 * HOUR_MS
/** 2024 began on a Monday. */
const SOME_MONDAY = Date.UTC(2024, 0, 1)

/**
 * Instants before, between and behind every `until`: of each span a whole week, hour by hour, or the whole span when it is shorter. With two
 * time zones the spans cover a year in quarters of an hour, so that every pair of local times that there can be is met.
 */
export function instantsFor(
  untils: readonly number[],
  timezones: readonly string[],
  askTime: boolean,
): readonly number[] {
  const sorted = [...new Set(untils)].sort((a, b) => a - b)
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
  // The usual time of inline tests comes first: it is the one that is shown.
  return [...new Set([noon, ...instants, ...sorted.map((until) => until - 1)])]
}

function mondayBefore(at: number): number {
  return SOME_MONDAY + Math.floor((at - SOME_MONDAY) / WEEK_MS - 1) * WEEK_MS
}
