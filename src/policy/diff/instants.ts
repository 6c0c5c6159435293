import type { OperatorName, Test } from '../language/operators.ts'
import { testsIn } from '../language/test-parts.ts'
import { instantOf, parseDate } from '../language/time.ts'
import type { Leaf } from './side.ts'

const HOUR_MS = 3_600_000
const WEEK_MS = 7 * 24 * HOUR_MS
/** 2024-01-01, a Monday. */
const SOME_MONDAY = Date.UTC(2024, 0, 1)

/** The longest time after a date in which every answer to the tests of the time occurs. */
type Span = 'an instant' | 'a week' | 'three years'

interface Asked {
  /** The dates that tests of `time.date` name, as midnight UTC. */
  readonly days: readonly number[]
  readonly span: Span
  readonly doubts: readonly string[]
}

/** The maximum number of dates to compare, such as the days of a `$list`. */
const MAX_DAYS = 100

/**
 * Returns the examples of times that the leaves need. In three years, the last day of a month falls on every weekday.
 * It need not do so for both of two time zones, or for a string that is part of a date.
 */
export function askedOfTime(leaves: readonly Leaf[], zones: number): Asked {
  const asked = leaves.flatMap(({ field, test }) => (field === 'date' || !test ? [] : [{ field, test }]))
  const dates = asked.filter(({ field }) => field.root === 'time.date')
  const tests = dates.flatMap(({ test }) => [...testsIn(test)])
  const days = [...new Set(tests.flatMap(daysIn))]
  const isVague =
    days.length > MAX_DAYS ||
    dates.some(({ field }) => field.fn !== undefined) ||
    tests.some(({ op }) => !EXACT.includes(op))
  const isMonthly = isVague || asked.some(({ field }) => field.root === 'time.day')
  const doubts = isVague || (isMonthly && zones > 1) ? ['not every kind of time has an example'] : []
  const span = isMonthly ? 'three years' : asked.length > dates.length ? 'a week' : 'an instant'
  return { days: days.slice(0, MAX_DAYS), span, doubts }
}

/** Returns the days that a test of `time.date` names, and the first day of each year that it names. */
function daysIn(test: Test): readonly number[] {
  const texts = 'values' in test ? test.values.map(String) : []
  const years = texts.flatMap((text) => /\d{4}/.exec(text) ?? []).map((year) => `${year}-01-01`)
  return [...texts, ...(EXACT.includes(test.op) ? [] : years)].flatMap((text) => parseDate(text) ?? [])
}

/** The operators whose answers for dates change only at the days that they name. */
const EXACT: readonly OperatorName[] = ['is', 'from', 'until', 'not', 'and', 'missing', 'present', 'null']

/**
 * Returns instants before, between and after the dates: every hour of the first week of each span. With two time zones,
 * returns every quarter of an hour of the first 53 weeks, to include every possible pair of local times. Where tests
 * distinguish days of the month, each span has three years. Without a test of the time, it has one instant.
 */
export function instantsFor(
  dates: readonly number[],
  timezones: readonly string[],
  span: Span,
): readonly number[] {
  const sorted = [...new Set(dates)].sort((a, b) => a - b)
  const zones = [...new Set(timezones)]
  const isOneZone = zones.length < 2
  const weeks = span === 'three years' ? 3 * 53 : isOneZone ? 1 : 53
  const step = isOneZone ? HOUR_MS : HOUR_MS / 4
  const length = span === 'an instant' ? 1 : weeks * WEEK_MS
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
