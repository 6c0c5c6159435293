import { describe, expect, it } from 'vitest'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import { diffBundles, type BundleDiff } from '../../../src/policy/diff/diff.ts'
import { createClock, endOfDate } from '../../../src/policy/language/time.ts'
import { bundle, call, diagnose, ROUTING, rules, snapshotOf, type Files } from '../support.ts'

/** The facts `time.date` and `time.day`. */

const HOUR_MS = 3_600_000

const on = (match: string, zone = 'Europe/Berlin', tests = ''): Files =>
  bundle({
    'routing.yaml': ROUTING.replace('Europe/Berlin', zone),
    'rules/pay.yaml': rules(
      `  - { id: open, allow: A. }\n  - { id: frozen, reject: F., when: ${match} }\n${tests}`,
    ),
  })

async function diff(before: Files, after: Files): Promise<BundleDiff> {
  const [old, current] = await Promise.all(
    [before, after].map(async (files) => {
      const made = await prepareBundle(Object.entries(files).map(([path, text]) => ({ path, text })))
      if (!made.ok) throw new Error('the bundle does not check')
      return made
    }),
  )
  if (!old || !current) throw new Error('two bundles')
  return diffBundles(old, current)
}

describe('the local date', () => {
  it.each(['Africa/Cairo', 'America/Havana', 'Pacific/Apia', 'Pacific/Kiritimati', 'Asia/Kathmandu', 'UTC'])(
    'changes at the first instant of each day in %s, also where clocks change',
    (zone) => {
      const clock = createClock(zone)
      for (const year of [2011, 2026])
        for (let day = Date.UTC(year, 0, 1); day < Date.UTC(year + 1, 0, 1); day += 24 * HOUR_MS) {
          const text = new Date(day).toISOString().slice(0, 10)
          const start = endOfDate(zone, day - 24 * HOUR_MS)
          expect(clock(start - 1).date < text).toBe(true)
          expect(clock(start).date >= text).toBe(true)
          expect(clock(start).day).toBe(Number(clock(start).date.slice(8)))
        }
    },
  )

  it('has no 30 December 2011 in Samoa', () => {
    const clock = createClock('Pacific/Apia')
    const jump = Date.UTC(2011, 11, 30, 10)
    expect([clock(jump - 1).date, clock(jump).date]).toEqual(['2011-12-29', '2011-12-31'])
  })
})

describe('a rule about the date', () => {
  it.each([
    ['{ time.date: 2026-12-24 }', '2026-12-23T22:59:59Z', 'allow'],
    ['{ time.date: 2026-12-24 }', '2026-12-23T23:00:00Z', 'reject'],
    ['{ time.date: 2026-12-24 }', '2026-12-24T22:59:59Z', 'reject'],
    ['{ time.date: 2026-12-24 }', '2026-12-24T23:00:00Z', 'allow'],
    ['{ time.date: { from: 2026-12-20, until: 2027-01-02 } }', '2027-01-02T22:00:00Z', 'reject'],
    ['{ time.date: { from: 2026-12-20, until: 2027-01-02 } }', '2027-01-02T23:00:00Z', 'allow'],
    ['{ time.date: [2026-12-24, 2026-12-31] }', '2026-12-31T12:00:00Z', 'reject'],
    ['{ time.date: { like: "*-12-2*" } }', '2031-12-24T12:00:00Z', 'reject'],
    ['{ time.date: { matches: "-(12-(2[0-9]|3[01])|01-0[12])$" } }', '2030-01-02T12:00:00Z', 'reject'],
    ['{ time.date: { matches: "-(12-(2[0-9]|3[01])|01-0[12])$" } }', '2030-01-03T12:00:00Z', 'allow'],
    ['{ time.day: 1 }', '2026-10-31T23:30:00Z', 'reject'],
    ['{ time.day: { over: 28 } }', '2026-10-31T22:30:00Z', 'reject'],
    ['{ time.day: { at_least: 29 }, time.weekday: fri }', '2027-01-29T12:00:00Z', 'reject'],
  ])('%s at %s: %s', async (match, time, verdict) => {
    const snapshot = await snapshotOf(on(match))
    expect((await snapshot.decide(call({}, { at: Date.parse(time) }))).verdict).toBe(verdict)
  })

  it.each([
    ['{ time.date: 2026-02-30 }', 'literal-form'],
    ['{ time.date: [2026-12-24, soon] }', 'literal-form'],
    ['{ time.date: { from: soon } }', 'bad-value'],
    ['{ time.date: 20261224 }', 'literal-type'],
    ['{ time.date: { over: 1 } }', 'test-type'],
    ['{ time.day: 0 }', 'bad-value'],
    ['{ time.day: 32 }', 'bad-value'],
    ['{ time.day: { over: 31 } }', 'literal-range'],
    ['{ time.day: { starts_with: 1 } }', 'wrong-type'],
  ])('%s is an error', async (match, code) => {
    expect((await diagnose(on(match))).map((one) => one.code)).toContain(code)
  })

  it('under 32 ends with the month, as under 24 ends with the day', async () => {
    expect(await diagnose(on('{ time.day: { at_least: 20, under: 32 } }'))).toEqual([])
  })

  it('runs in tests at the local time of the test, in the time zone of routing.yaml', async () => {
    const tests = `tests:
  - { allow: the minute before, time: 2026-12-19T23:59 }
  - { reject: the first minute, time: 2026-12-20T00:00 }
  - { reject: the last minute, time: 2027-01-02T23:59 }
  - { allow: the minute after, time: 2027-01-03T00:00 }
`
    const match = '{ time.date: { from: 2026-12-20, until: 2027-01-02 } }'
    for (const zone of ['America/Los_Angeles', 'Pacific/Kiritimati', 'Europe/Berlin'])
      expect(await diagnose(on(match, zone, tests))).toEqual([])
  })

  it('is recorded and explained with its date', async () => {
    const snapshot = await snapshotOf(on('{ time.date: 2026-12-24 }'))
    const at = Date.UTC(2026, 11, 24, 12)
    const { reads } = await snapshot.decide(call({}, { at }))
    expect(reads).toEqual([
      { field: 'time.date', state: 'value', value: '2026-12-24', sensitive: false, disclose: 'full' },
    ])
    const { rules: explained } = await snapshot.explain(call({}, { at }))
    expect(explained[0]?.conditions).toMatchObject({
      field: 'time.date',
      answer: 'yes',
      read: '"2026-12-24"',
    })
  })
})

describe('the difference of rules about the date', () => {
  it.each([
    ['{ time.date: 2026-12-24 }', '{ time.date: 2026-12-25 }', 2],
    ['{ time.date: { from: 2026-12-20 } }', '{ time.date: { from: 2026-12-21 } }', 1],
    [
      '{ time.date: { until: 2026-12-20 }, time.hour: 9 }',
      '{ time.date: { until: 2026-12-21 }, time.hour: 9 }',
      1,
    ],
    ['{ time.day: 31, time.weekday: sun }', '{ time.day: 31, time.weekday: [sun, mon] }', 1],
    ['{ time.day: { over: 28 } }', '{ time.day: { over: 29 } }', 1],
  ])('%s -> %s is complete', async (before, after, kinds) => {
    const [tool] = (await diff(on(before), on(after))).tools
    expect(tool?.doubts).toEqual([])
    expect(new Set(tool?.changes.map(({ direction }) => direction)).size).toBe(kinds)
    expect(tool?.changes[0]?.where.join()).toContain('time.')
  })

  it.each([
    ['{ time.date: { like: "*-12-24" } }', '{ time.date: { like: "*-12-25" } }'],
    ['{ time.date: { starts_with: 2041-12 } }', '{ time.date: { starts_with: 2041-11 } }'],
  ])('%s -> %s is sampled, and finds the days', async (before, after) => {
    const [tool] = (await diff(on(before), on(after))).tools
    expect(tool?.doubts).toEqual(['not every kind of time has an example'])
    expect(new Set(tool?.changes.map(({ direction }) => direction))).toEqual(new Set(['loosens', 'tightens']))
  })

  it('between two time zones is found, and sampled only for days of the month', async () => {
    const zones = async (match: string): Promise<readonly string[]> => {
      const [tool] = (await diff(on(match, 'UTC'), on(match, 'Asia/Tokyo'))).tools
      expect(tool?.changes.length).toBeGreaterThan(0)
      return tool?.doubts ?? ['no tool']
    }
    expect(await zones('{ time.date: 2026-12-24 }')).toEqual([])
    expect(await zones('{ time.day: 24 }')).toEqual(['not every kind of time has an example'])
  })
})
