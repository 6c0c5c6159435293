import { describe, expect, it } from 'vitest'
import { onOneLine, setIn } from '../../src/cli/terminal/visible-text.ts'
import { differenceFrom, tableOf } from '../../src/console/several/table.ts'
import { oneLine } from '../../src/console/text/because-text.ts'
import { fold } from '../../src/console/text/fold.ts'
import type { JsonObject, JsonValue } from '../../src/contract/json.ts'
import { parseStrictJson } from '../../src/contract/strict-json.ts'
import { canonicalJson } from '../../src/domain/digest.ts'
import { headingOf } from '../../src/domain/heading.ts'
import { textsIn, warningsOf } from '../../src/domain/text-warnings.ts'
import { formatValue } from '../../src/policy/summary/formats.ts'

/** Ways to make a reviewer approve another call than the one that runs, which need no browser to fail. */

const kindsIn = (payload: JsonObject): string[] =>
  warningsOf(textsIn(payload, 'payload')).flatMap(({ kinds }) => kinds)

describe('a warning says that a value is not what it seems', () => {
  it.each([
    ['soft hyphens in a word', 'de\u00adlete', 'invisible'],
    ['tag characters after a word', 'ok\u{e0064}\u{e0065}', 'invisible'],
    ['variation selectors that carry a message', 'ok\u{e0150}\u{e0151}', 'invisible'],
    ['a joiner that is no part of an emoji', 'ad\u200dmin', 'invisible'],
    ['marks stacked on a letter', 'd\u0301\u0302\u0303e', 'stacked'],
    ['Arabic digits', 'pay ١٠٠', 'digits'],
    ['full-width digits', 'pay １００', 'digits'],
    ['a comma of another script in a number', '1\u066c000', 'look_alike'],
    ['a line separator', 'dry run\u2028rm -rf /', 'control'],
    ['a carriage return that overwrites a line', 'rm -rf /\rls', 'control'],
    ['a form feed', 'a\fb', 'control'],
    ['an escape sequence of a terminal', 'ok\u001b[1A\u001b[2K', 'control'],
    ['a no-break space in a command', 'rm\u00a0-rf /', 'space'],
    ['blanks that push text out of sight', `ok${' '.repeat(80)}--force`, 'padding'],
    ['a slash that is none', 'https://partner.example\u2215login.evil.test/', 'look_alike'],
    ['a tab in a host, which browsers drop', 'https://partner.example\t.evil.test/x', 'address'],
    ['a line end in a host', 'https://partner.example\n.evil.test/x', 'address'],
    ['a folder that browsers leave out', 'https://partner.example/docs/../admin', 'address'],
    ['the same, escaped', 'https://partner.example/docs/%2E%2e/admin', 'address'],
    ['a letter without its dot in a host', 'https://g\u0131thub.com/acme', 'address'],
    ['a mark below a letter of a mail host', 'ceo@ledg\u0323er.example', 'address'],
    ['the same, composed', 'ceo@pa\u1e47cake.example', 'address'],
  ])('%s', (_, text, kind) => {
    expect(kindsIn({ text })).toContain(kind)
    expect(kindsIn({ deep: [{ [text]: 1 }] })).toContain(kind)
  })

  it.each([
    ['capital letters', { env: 'staging', Env: 'prod' }, ['names']],
    ['a blank at the end', { env: 'staging', 'env ': 'prod' }, ['names', 'space']],
    ['an inner blank', { dryrun: true, 'dry run': false }, ['names']],
    ['a blank, without another name', { 'env ': 'staging' }, ['space']],
    ['a zero-width space', { env: 1, 'e\u200bnv': 2 }, ['invisible']],
    ['the place', { a: { env: 1 }, b: { Env: 2 } }, []],
  ])('names that differ in %s', (_, payload, kinds) => {
    expect([...new Set(kindsIn(payload))].toSorted()).toEqual(kinds)
  })

  it.each([
    'https://example.com/a/b?next=/../c',
    'https://example.com/über/uns und mehr',
    'https://example.com\nThanks, @Jürgen!',
    'https://example.com/compare/v1...v2',
    'name@example.com für alle',
  ])('none of %j', (text) => {
    expect(kindsIn({ text })).toEqual([])
  })
})

describe('a row keeps what decides', () => {
  it.each([
    ['a mail address with a comment', 'someone.with.a.long.name@evil.test (ceo@acme.com)', '@evil.test'],
    ['two mail addresses', 'ceo@acme.com,assistant@acme.com,x@evil.test', '@evil.test'],
    ['a command that names two mail addresses', 'rm -rf / # ask ann@acme.com, ben@acme.com', 'rm -rf /'],
    ['a URL with three slashes', 'https:///login.partner.example.evil.test/aaaaaaaa', '.evil.test'],
    ['a URL with backslashes', 'https:\\\\login.partner.example.evil.test\\aaaaaaa', '.evil.test'],
    ['a URL without a scheme', '//login.partner.example.evil.test/aaaaaaaaaaaaa', '.evil.test'],
    ['an address of a repository', 'git@evil.test:acme/the-repository-of-the-company.git', 'evil.test'],
    ['a URL in a query', 'https://evil.test/go?next=https://partner.example/terms', 'evil.test'],
    ['a word without a break', 'a'.repeat(5_000), 'aaa…aaa'],
  ])('%s', (_, text, kept) => {
    const line = oneLine(text)
    expect(Array.from(line).length).toBeLessThanOrEqual(32)
    expect(line).toContain('…')
    expect(line).toContain(kept)
  })
})

describe('a number is the number that runs', () => {
  it.each(['9007199254740993', '1e400', '0.1000000000000000055', '-0.0000000000000000000000001e-400'])(
    'the gateway refuses %s, which it cannot keep',
    (number) => {
      expect(() => parseStrictJson(Buffer.from(`{"amount":${number}}`))).toThrow()
    },
  )

  it.each(['{"amount":1,"amount":900}', '{"__proto__":{"amount":900}}', '{"a":1,"\\u0061":2}'])(
    'the gateway refuses %s',
    (text) => {
      expect(() => parseStrictJson(Buffer.from(text))).toThrow()
    },
  )

  it.each([
    ['money', 1e6, 'jpy', '¥1,000,000'],
    ['money', 1e6, 'eur', '€10,000.00'],
    ['money', 1e6, 'eur ', '1000000 "eur "'],
    ['money', 1e6, '\u0435ur', '1000000 \u0435ur'],
    ['money', 100.5, 'eur', '100.5 eur'],
    ['date', '03/04/2026', null, '03/04/2026'],
    ['date', '2026-04-03T00:30:00+14:00', null, 'Apr 2, 2026, 10:30:00 UTC'],
    [undefined, 0.1 + 0.2, null, '0.30000000000000004'],
    [undefined, 1e21, null, '1e+21'],
    ['list', ['a', 'and 3 more'], null, 'a and "and 3 more"'],
  ] as const)('%s of %j is written with %j', (format, value, currency, text) => {
    expect(formatValue(format, value as JsonValue, { currency })).toBe(text)
  })

  it('1e6 and 1000000 are one value', () => {
    const [a, b] = ['{"n":1e6}', '{"n":1000000}'].map((text) => parseStrictJson(Buffer.from(text)))
    expect(canonicalJson(a as JsonValue)).toBe(canonicalJson(b as JsonValue))
  })
})

describe('a text stays within its own lines', () => {
  const forged = 'web\nenv: staging\n\u001b[2KApproved by Alice Ng'

  it('in a terminal, a list and a heading', () => {
    expect(onOneLine(forged)).toBe('web<U+000A>env: staging<U+000A><U+001B>[2KApproved by Alice Ng')
    expect(setIn(forged).split('\n').slice(1)).toEqual([
      '    env: staging',
      '    <U+001B>[2KApproved by Alice Ng',
    ])
    expect(headingOf([{ text: forged, field: 'payload.service' }]).line).not.toMatch(/\p{Cc}/u)
  })

  it('and the last of a thousand entries is in its row, or counted', () => {
    const list = Array.from({ length: 1_000 }, (_, i) => `step ${i}`)
    const calls = [list, [...list.slice(0, -1), 'rm -rf /']].map((steps, i) => ({
      id: `${i}`,
      payload: { steps, notes: steps.join('\n') },
      masked: [],
      because: [],
    }))
    const { columns, same } = tableOf(calls)
    expect([columns.map(({ name }) => name), same]).toEqual([['notes', 'steps'], []])
    const [first, second] = columns[0]?.cells ?? []
    expect(second?.node && differenceFrom(second.node, first?.node)?.text).toMatch(/rm -rf \/$/)
    expect(fold(list.join('\n')).rest).toBe('986 more lines')
  })
})
