import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../../src/contract/json.ts'
import { bundle, call, diagnose, rules, withRules } from '../support.ts'

/** The operators `from` and `until` of a string that is a date. */

async function truth(test: string, note: JsonValue | undefined): Promise<string> {
  const rule = (match: string): string => `  - { id: a, review: A., when: ${match} }\n`
  const snapshot = await withRules(rule(`{ payload.note: ${test} }`))
  const { fired } = await snapshot.judge(call(note === undefined ? {} : { note }))
  return fired[0]?.unknown === true ? 'unknown' : String(fired.length > 0)
}

describe('the tests of a date', () => {
  it.each([
    ['{ from: 2026-12-20 }', '2026-12-20', 'true'],
    ['{ from: 2026-12-20 }', '2027-01-01', 'true'],
    ['{ from: 2026-12-20 }', '2026-12-19', 'false'],
    ['{ until: 2026-12-20 }', '2026-12-20', 'true'],
    ['{ until: 2026-12-20 }', '2026-12-21', 'false'],
    ['{ from: 2026-12-20, until: 2027-01-02 }', '2026-12-31', 'true'],
    ['{ from: 2026-12-20, until: 2027-01-02 }', '2027-01-03', 'false'],
    ['{ not: { from: 2026-12-20 } }', '2026-12-19', 'true'],
    ['{ from: [2027-01-01, 2026-01-01] }', '2026-06-01', 'true'],
    ['{ from: 2024-02-29 }', '2024-02-29', 'true'],
    ['{ from: 0100-01-01 }', '9999-12-31', 'true'],
    ['{ from: 2026-12-20 }', '2027-02-29', 'unknown'],
    ['{ from: 2026-12-20 }', '2027-1-1', 'unknown'],
    ['{ from: 2026-12-20 }', '2027-01-01T00:00:00Z', 'unknown'],
    ['{ from: 2026-12-20 }', ' 2027-01-01', 'unknown'],
    ['{ from: 2026-12-20 }', '', 'unknown'],
    ['{ until: 2026-12-20 }', 20_261_220, 'unknown'],
    ['{ until: 2026-12-20 }', ['2026-12-20'], 'unknown'],
    ['{ not: { until: 2026-12-20 } }', 'soon', 'unknown'],
    ['{ until: 2026-12-20 }', null, 'unknown'],
    ['{ until: 2026-12-20 }', undefined, 'unknown'],
  ])('%s of %j is %s', async (test, note, expected) => {
    expect(await truth(test, note)).toBe(expected)
  })

  it.each([
    '2027-02-30',
    '2027-2-3',
    "'2027-01-01T00:00'",
    "''",
    'tomorrow',
    '[2027-01-01, 2027-13-01]',
    'null',
    '2027',
  ])('a date written as %s is an error', async (written) => {
    const text = rules(`  - { id: a, allow: A., when: { payload.note: { from: ${written} } } }`)
    const codes = (await diagnose(bundle({ 'rules/pay.yaml': text }))).map(({ code }) => code)
    expect(codes.filter((code) => code === 'bad-value' || code === 'wrong-type')).toHaveLength(1)
  })
})
