import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  DIAGNOSTIC_CODES,
  printDiagnostics,
  printDiagnosticsJson,
} from '../../../src/policy/report/diagnostics.ts'
import { pay, routing, when } from '../cases.ts'
import { bundle, CONTRACT, diagnose, rules } from '../support.ts'

describe('a diagnostic', () => {
  it('is not reported for a span of hours that ends with the day', async () => {
    expect(await diagnose(bundle(when('{ time.hour: { at_least: 18, under: 24 } }')))).toEqual([])
  })

  it('is printed with the excerpt and a caret under the place', async () => {
    const found = await diagnose(bundle(pay('  - id: a\n    alow: A.\n')))
    expect(printDiagnostics(found)).toBe(
      [
        'rules/pay.yaml:3:5: error verdict-count: a rule needs exactly one of allow:, review: and reject:, found 0',
        '  3 |   - id: a',
        '          ^^^^^',
        'rules/pay.yaml:4:5: error unknown-key: unknown key `alow` in a rule',
        '  4 |     alow: A.',
        '          ^^^^',
        '  hint: did you mean `allow`?',
        '',
      ].join('\n'),
    )
    expect(JSON.parse(printDiagnosticsJson(found))).toEqual(found)
  })

  it('has its caret under the place, after tabs, wide letters, emoji and combining marks', () => {
    const one = { code: 'c', severity: 'error', file: 'f', line: 7, message: 'm' } as const
    const carets = (before: string, marked: string): string | undefined =>
      printDiagnostics([
        { ...one, excerpt: `${before}${marked} x`, column: before.length + 1, width: marked.length },
      ]).split('\n')[2]
    expect(carets('ab', 'cd')).toBe('        ^^')
    expect(carets('\ta', 'c')).toBe('      \t ^')
    expect(carets('日本', '語c')).toBe('          ^^^')
    expect(carets('\u{1f600}', '\u{1d400}')).toBe('        ^')
    expect(carets('e\u0301', 'c')).toBe('       ^')
  })

  it('appears with all others, ordered by file, line and column', async () => {
    const found = await diagnose(
      bundle({ ...routing('Europe/Berlin', 'Nowhere'), ...when('{ payload.x: 1, payload.y: 2 }') }),
    )
    expect(found.map((one) => `${one.file}:${one.line}:${one.column}`)).toEqual([
      'routing.yaml:3:11',
      'rules/pay.yaml:5:13',
      'rules/pay.yaml:5:27',
    ])
  })
})

describe('a contract with errors', () => {
  const shown = async (changes: Record<string, string>): Promise<readonly string[]> =>
    (await diagnose(bundle(changes))).map((one) => `${one.file} ${one.code}`)
  const mail = CONTRACT.replace('tool: pay', 'tool: mail.send')
  const MAIL = rules('  - { id: m, allow: M. }\n', "tools: ['mail.*']")
  const TESTS = 'tests:\n  - { allow: ok, tool: mail.send, payload: {} }\n'

  it.each([
    ['a key is missing', CONTRACT.replace('risk: low\n', ''), 'missing-key'],
    ['a value is wrong', CONTRACT.replace('risk: low', 'risk: lwo'), 'bad-value'],
    ['it is no YAML', CONTRACT.replace('type: object', 'type: [object'), 'yaml-syntax'],
    ['it is no YAML, as JSON', '{ "description": "d",\n  "tool": "pay", ]', 'yaml-syntax'],
    ['it is empty', '# pay\n', 'empty-file'],
  ])('is the only finding, although rules name its tool: %s', async (_, text, code) => {
    const found = await shown({ 'tools/pay.yaml': text })
    expect(found).toContain(`tools/pay.yaml ${code}`)
    expect(found.filter((one) => !one.startsWith('tools/'))).toEqual([])
  })

  it('is the only finding, although a glob and a test name its tool', async () => {
    const changes = {
      'tools/a.yaml': mail.replace('risk: low', 'risk: 1'),
      'rules/mail.yaml': `${MAIL}${TESTS}`,
    }
    expect(await shown(changes)).toEqual(['tools/a.yaml wrong-type'])
  })

  it('still reports other unknown names', async () => {
    const changes = {
      'tools/a.yaml': mail.replace('risk: low', 'risk: 1'),
      ...pay('  - { id: a, allow: A. }\n', 'tool: pya'),
    }
    expect(await shown(changes)).toEqual(['rules/pay.yaml unknown-tool', 'tools/a.yaml wrong-type'])
  })
})

describe('routing.yaml with errors', () => {
  it('is the only finding, although rules name its lists', async () => {
    const found = await diagnose(
      bundle({ 'routing.yaml': 'levels: {}\n', ...when('{ payload.note: $our_domains }') }),
    )
    expect(found.length).toBeGreaterThan(0)
    expect(found.filter(({ file }) => file !== 'routing.yaml')).toEqual([])
  })
})

describe('docs/diagnostics.md', () => {
  const text = readFileSync(new URL('../../../docs/diagnostics.md', import.meta.url), 'utf8')
  const documented = [...text.matchAll(/^\| `([a-z0-9-]+)` \| (error|warning) \|/gm)].map((match) => [
    match[1],
    match[2],
  ])

  it('has every code with its severity, and no other', () => {
    expect(Object.fromEntries(documented)).toEqual(DIAGNOSTIC_CODES)
    expect(documented).toHaveLength(Object.keys(DIAGNOSTIC_CODES).length)
  })
})
