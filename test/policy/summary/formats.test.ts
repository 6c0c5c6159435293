import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../../src/contract/json.ts'
import { formatValue, SUMMARY_FORMATS, type SummaryFormat } from '../../../src/policy/summary/formats.ts'
import { plainText } from '../../../src/policy/summary/plain.ts'

type Row = readonly [format: SummaryFormat | undefined, value: JsonValue, text: string, currency?: JsonValue]

const ROWS: readonly Row[] = [
  ['money', 25_000, '$250.00', 'usd'],
  ['money', 5, '$0.05', 'USD'],
  ['money', 0, '€0.00', 'eur'],
  ['money', -1, '-$0.01', 'usd'],
  ['money', 123_456_789, '£1,234,567.89', 'GBP'],
  ['money', 9_007_199_254_740_991, '$90,071,992,547,409.91', 'usd'],
  ['money', 25_000, '¥25,000', 'jpy'],
  ['money', 25_000, 'KWD 25.000', 'KWD'],
  // the standard says 2, the data of ICU says 0
  ['money', 25_000, 'RSD 250.00', 'rsd'],
  ['money', 25_000, '25000 xyz', 'xyz'],
  ['money', 25_000, '25000 BTC', 'BTC'],
  ['money', 25_000, '25000 "us dollars"', 'us dollars'],
  ['money', 25_000, '25000'],
  ['money', 25_000, '25000', null],
  ['money', 250.5, '250.5 usd', 'usd'],
  ['money', '25000', '25000', 'usd'],
  ['bytes', 0, '0 bytes'],
  ['bytes', 1, '1 byte'],
  ['bytes', 999, '999 bytes'],
  ['bytes', 1_536, '1.5 kB'],
  ['bytes', 2_000_000, '2 MB'],
  ['bytes', 5e15, '5 PB'],
  ['bytes', 'zwölf', '6 bytes'],
  ['bytes', -1, '-1'],
  ['count', 1_234_567, '1,234,567'],
  ['count', ['a', 'b'], '2'],
  ['count', [], '0'],
  ['count', { a: 1, b: 2, c: 3 }, '3'],
  ['count', 'text', 'text'],
  ['list', [], '[]'],
  ['list', ['a'], 'a'],
  ['list', ['a', 'b'], 'a and b'],
  ['list', ['a', 'b', 'c'], 'a, b, and c'],
  ['list', ['a', 'b', 'c', 'd'], 'a, b, c, and 1 more'],
  ['list', Array.from({ length: 1_203 }, () => 'x'), 'x, x, x, and 1,200 more'],
  ['list', ['a, b', 'and 7 more'], '"a, b" and "and 7 more"'],
  ['list', [1, true, null, { a: 1 }], '1, true, null, and 1 more'],
  ['list', 'text', 'text'],
  ['host', 'https://Docs.Example.COM/a?b', 'docs.example.com'],
  ['host', 'https://user@evil.example/', 'https://user@evil.example/'],
  ['host', 'https://аpple.com/', 'https://аpple.com/'],
  ['path', '/workspace/notes/../../etc/passwd', '/etc/passwd'],
  ['path', '/a b', '"/a b"'],
  ['path', 'relative/x', 'relative/x'],
  ['date', '2026-11-25', 'Nov 25, 2026'],
  ['date', '2026-11-25T23:30:00-02:00', 'Nov 26, 2026, 01:30:00 UTC'],
  ['date', '2026-11-25T10:00Z', 'Nov 25, 2026, 10:00:00 UTC'],
  ['date', '2026-11-25T10:00:00', '2026-11-25T10:00:00'],
  ['date', '2026-02-30', '2026-02-30'],
  ['date', '2026-13-01', '2026-13-01'],
  ['date', 1_764_028_800, 'Nov 25, 2025, 00:00:00 UTC'],
  ['date', 1_764_028_800_000, 'Nov 25, 2025, 00:00:00 UTC'],
  ['date', 1e300, '1e+300'],
  ['date', 'soon', 'soon'],
  ['short', 'a'.repeat(31), `${'a'.repeat(29)}…`],
  ['short', 'a'.repeat(30), 'a'.repeat(30)],
  ['short', 'two words', '"two words"'],
  ['short', 'jonathan.livingston.seagull@bank.example', 'jonathan.livings…@bank.example'],
  ['short', `a@${'x'.repeat(30)}.bank.example`, '…xxxxxxxxxxxxxxxx.bank.example'],
  ['short', `${'a'.repeat(40)}@evil.example`, `${'a'.repeat(16)}…@evil.example`],
  ['short', '"bank.example" <a@b>@evil-long-name.example', '"\\"bank.…@evil-long-name.example"'],
  ['short', 'https://bank.example/accounts/4711', 'https://bank.example…unts/4711'],
  ['short', 'https://bank.example@evil.example/accounts', 'https://…@evil.example…ccounts'],
  ['short', `https://${'login.'.repeat(9)}evil.example/x`, '…in.login.login.evil.example/x'],
  ['short', 'https:bank.example/a/path/that/is/long', 'https:bank.example/a/path/tha…'],
  ['short', '💥'.repeat(31), `${'💥'.repeat(29)}…`],
  [undefined, 'acct_ops', 'acct_ops'],
  [undefined, 'x@acme.com', 'x@acme.com'],
  [undefined, '', '""'],
  [undefined, 'to bob, from "al"', '"to bob, from \\"al\\""'],
  [undefined, '(none)', '"(none)"'],
  [undefined, '[hidden 1a2b3c4d]', '"[hidden 1a2b3c4d]"'],
  [undefined, 25_000, '25000'],
  [undefined, true, 'true'],
  [undefined, null, 'null'],
  [undefined, ['git', 'log', 'a b'], 'git log "a b"'],
  [undefined, [], '[]'],
  [undefined, { a: [1] }, '{"a":[1]}'],
  [undefined, [['a']], '[["a"]]'],
  [undefined, 'x'.repeat(81), `${'x'.repeat(79)}…`],
]

describe('a value of a summary', () => {
  for (const [format, value, text, currency] of ROWS)
    it(`${JSON.stringify(value).slice(0, 60)} as ${format ?? 'it is'} ${currency ? JSON.stringify(currency) : ''} is ${text.slice(0, 60)}`, () => {
      expect(formatValue(format, value, { currency })).toBe(text)
    })

  it('a long path or host keeps its end', () => {
    const path = `/${'a/'.repeat(100)}notes.md`
    expect(formatValue('path', path)).toMatch(/^"….{70,}\/notes\.md"$/)
    expect(formatValue('host', `https://${'login.'.repeat(20)}evil.example/`)).toMatch(/^"….*evil\.example"$/)
  })

  it('is never long, regardless of the payload', () => {
    const formats = fc.constantFrom(undefined, ...SUMMARY_FORMATS)
    fc.assert(
      fc.property(formats, fc.jsonValue(), fc.jsonValue(), (format, value, currency) => {
        const text = formatValue(format, value as JsonValue, { currency: currency as JsonValue })
        expect(text).not.toBe('')
        expect(Array.from(text).length).toBeLessThan(250)
      }),
      { numRuns: 2_000 },
    )
  })

  it('a value of huge size takes no more time than reading it', () => {
    const many = Array.from({ length: 200_000 }, () => 'entry')
    expect(plainText(many)).toHaveLength(80)
    expect(formatValue('list', many)).toBe('entry, entry, entry, and 199,997 more')
  })
})

describe('a list with entries that made a rule fire', () => {
  const many = Array.from({ length: 30 }, (_, i) => `person${i}@acme.example`)

  it('begins with these entries, and counts the rest', () => {
    expect(formatValue('list', many, { deciding: [29] })).toBe(
      'person29@acme.example, person0@acme.example, person1@acme.example, and 27 more',
    )
    expect(formatValue('list', many, { deciding: [5, 6, 7, 8] })).toMatch(
      /^person5@.*, person6@.*, person7@.*, and 27/,
    )
    expect(formatValue('list', ['a', 'b'], { deciding: [1, 7] })).toBe('b and a')
  })
})
