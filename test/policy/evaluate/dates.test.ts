import { describe, expect, it } from 'vitest'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import { diffBundles } from '../../../src/policy/diff/diff.ts'
import { printExplanation } from '../../../src/policy/evaluate/explain.ts'
import { printDiff } from '../../../src/policy/diff/print.ts'
import { bundle, call, diagnose, ROUTING, rules, snapshotOf, type Files } from '../support.ts'

/** `from:` and `until:` of rules of every verdict: a freeze at the end of the year. */

const FREEZE = 'from: 2026-12-20, until: 2027-01-02'
const frozen = (dates = FREEZE, zone = 'Europe/Berlin', tests = ''): Files =>
  bundle({
    'routing.yaml': ROUTING.replace('Europe/Berlin', zone),
    'rules/pay.yaml': rules(
      `  - { id: open, allow: Open. }\n  - { id: freeze, reject: Frozen., ${dates} }\n${tests}`,
    ),
  })

describe('a rule with dates', () => {
  it.each([
    ['Europe/Berlin', '2026-12-19T23:00:00Z', '2027-01-02T23:00:00Z'],
    ['UTC', '2026-12-20T00:00:00Z', '2027-01-03T00:00:00Z'],
    ['Pacific/Kiritimati', '2026-12-19T10:00:00Z', '2027-01-02T10:00:00Z'],
    ['America/Los_Angeles', '2026-12-20T08:00:00Z', '2027-01-03T08:00:00Z'],
  ])('applies from the first instant to the last instant of its days in %s', async (zone, from, until) => {
    const snapshot = await snapshotOf(frozen(FREEZE, zone))
    const verdictAt = async (at: number): Promise<string> => (await snapshot.decide(call({}, { at }))).verdict
    const [start, end] = [Date.parse(from), Date.parse(until)]
    expect(await verdictAt(start - 1)).toBe('allow')
    expect(await verdictAt(start)).toBe('reject')
    expect(await verdictAt(end - 1)).toBe('reject')
    expect(await verdictAt(end)).toBe('allow')
  })

  it.each([
    // Clocks skip the first hour of this day.
    ['Africa/Cairo', '2026-04-24', '2026-04-23T22:00:00Z'],
    ['Europe/Berlin', '2026-03-29', '2026-03-28T23:00:00Z'],
    ['Europe/Berlin', '2026-10-26', '2026-10-25T23:00:00Z'],
    // Samoa had no 30 December in 2011.
    ['Pacific/Apia', '2011-12-30', '2011-12-30T10:00:00Z'],
  ])('begins with the day where clocks change: %s, %s', async (zone, day, from) => {
    const snapshot = await snapshotOf(frozen(`from: ${day}`, zone))
    const verdictAt = async (at: number): Promise<string> => (await snapshot.decide(call({}, { at }))).verdict
    expect(await verdictAt(Date.parse(from) - 1)).toBe('allow')
    expect(await verdictAt(Date.parse(from))).toBe('reject')
  })

  it('needs only one of the two dates, and may last one day', async () => {
    const noon = Date.UTC(2026, 11, 24, 12)
    for (const dates of ['from: 2026-12-24', 'until: 2026-12-24', 'from: 2026-12-24, until: 2026-12-24'])
      expect((await (await snapshotOf(frozen(dates))).decide(call({}, { at: noon }))).verdict).toBe('reject')
  })

  it('decides against the call at a time that is not a number', async () => {
    const at = Number.NaN
    expect((await (await snapshotOf(frozen())).decide(call({}, { at }))).by).toEqual(['freeze'])
    const allowed = await snapshotOf(
      bundle({ 'rules/pay.yaml': rules('  - { id: a, allow: A., from: 2026-12-24 }\n') }),
    )
    expect((await allowed.decide(call({}, { at }))).verdict).toBe('reject')
  })

  it.each([
    [Date.UTC(2026, 10, 1), 'not yet'],
    [Date.UTC(2026, 11, 24), 'fired'],
    [Date.UTC(2027, 1, 1), 'over'],
  ])('is explained at %s as %s', async (at, result) => {
    const explanation = await (await snapshotOf(frozen())).explain(call({}, { at }))
    expect(explanation.rules.find(({ id }) => id === 'freeze')).toMatchObject({ result })
    expect(printExplanation(explanation)).toContain(`   ${result}\n`)
  })

  it('is not in force in a test without a time, and is at the time of a test', async () => {
    const tests = `tests:
  - allow: without a time
  - allow: on a weekday
    time: { weekday: sat, hour: 23 }
  - allow: the minute before
    time: 2026-12-19T23:59
  - reject: the first minute
    time: 2026-12-20T00:00
  - reject: the last minute
    time: 2027-01-02T23:59
  - allow: the minute after
    time: 2027-01-03T00:00
`
    expect(await diagnose(frozen(FREEZE, 'America/Los_Angeles', tests))).toEqual([])
  })

  it('never counts as a rule that always fires, or that always beats another', async () => {
    expect(await diagnose(frozen())).toEqual([])
    expect(await diagnose(frozen('when: {}'.replace('{}', '{ payload: present }')))).not.toEqual([])
    const always = 'when: { any: [{ payload.flag: true }, { payload.flag: { not: true } }] }'
    expect((await diagnose(frozen(always))).map(({ code }) => code)).toContain('always-fires')
    expect(await diagnose(frozen(`${always}, ${FREEZE}`))).toEqual([])
  })
})

describe('the difference of rules with dates', () => {
  it.each([
    [
      '',
      FREEZE,
      ['TIGHTENS', 'time from 2026-12-19T23:00:00.000Z on', 'time before 2027-01-02T23:00:00.000Z'],
    ],
    ['', 'until: 2027-01-02', ['TIGHTENS', 'when time before 2027-01-02T23:00:00.000Z']],
    ['when: { payload.note: x }', 'when: { payload.note: x }, until: 2027-01-02', ['LOOSENS']],
    [FREEZE, FREEZE.replace('01-02', '01-01'), ['LOOSENS', 'time from 2027-01-01T23:00:00.000Z on']],
    [FREEZE, FREEZE.replace('12-20', '12-19'), ['TIGHTENS', 'time before 2026-12-19T23:00:00.000Z']],
    [FREEZE, FREEZE, []],
  ])('from %j to %j is complete', async (before, after, expected) => {
    const base = (dates: string): Files =>
      dates === '' ? bundle({ 'rules/pay.yaml': rules('  - { id: open, allow: Open. }\n') }) : frozen(dates)
    const [old, current] = await Promise.all(
      [base(before), base(after)].map(async (files) => {
        const made = await prepareBundle(Object.entries(files).map(([path, text]) => ({ path, text })))
        if (!made.ok) throw new Error('the bundle does not check')
        return made
      }),
    )
    if (!old || !current) throw new Error('two bundles')
    const text = printDiff(await diffBundles(old, current))
    expect(text).toContain('complete')
    for (const part of expected) expect(text).toContain(part)
    if (expected.length === 0) expect(text).toContain('no change of any decision')
  })
})
