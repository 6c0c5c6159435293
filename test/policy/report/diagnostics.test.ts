import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  DIAGNOSTIC_CODES,
  printDiagnostics,
  printDiagnosticsJson,
} from '../../../src/policy/report/diagnostics.ts'
import { contract, directory, pay, routing, runCases, schema, when, type Case } from '../cases.ts'
import { bundle, CONTRACT, diagnose, rules } from '../support.ts'

const CASES: readonly Case[] = [
  [
    'a misspelt key',
    pay('  - id: a\n    alow: A.\n'),
    'rules/pay.yaml:4:5 unknown-key: unknown key `alow` in a rule | did you mean `allow`?',
  ],
  [
    'lines that begin with tabs, once',
    pay('  - id: a\n\tallow: A.\n\twhen:\n\t\tpayload.a: 1\n'),
    'rules/pay.yaml:4:1 yaml-syntax: tabs are not allowed as indentation',
  ],
  ['a rule without id', pay('  - allow: A.\n'), 'rules/pay.yaml:3:5 missing-key: a rule needs `id:`'],
  [
    'two verdicts',
    pay('  - { id: a, allow: A., reject: R. }\n'),
    'rules/pay.yaml:3:5 verdict-count: a rule needs exactly one of allow:, review: and reject:, found 2',
  ],
  [
    'an id that is not kebab-case',
    pay('  - { id: A_b, allow: A. }\n'),
    'rules/pay.yaml:3:11 bad-value: `A_b` is not a rule id',
  ],
  [
    'a reserved id',
    pay('  - { id: unmatched, allow: A. }\n'),
    'rules/pay.yaml:3:11 bad-value: `unmatched` is a reserved id',
  ],
  [
    'an id used twice',
    pay('  - { id: a, allow: A. }\n  - { id: a, review: B. }\n'),
    'rules/pay.yaml:4:11 duplicate-id: rule id `a` is also used at rules/pay.yaml:3',
  ],
  [
    'an unknown tool',
    pay('  - { id: a, allow: A. }\n', 'tool: pya'),
    'rules/pay.yaml:1:7 unknown-tool: no tool contract named `pya` | did you mean `pay`?',
  ],
  [
    'a tool with a letter of another alphabet',
    pay('  - { id: a, allow: A. }\n', 'tool: p\u0430y'),
    'rules/pay.yaml:1:7 unknown-tool: no tool contract named `p<U+0430>y` | did you mean `pay`?',
  ],
  [
    'a glob with a letter of another alphabet',
    pay('  - { id: a, allow: A. }\n', "tools: ['p\u0430*']"),
    'rules/pay.yaml:1:9 bad-value: `p<U+0430>*` is not a tool name or glob',
  ],
  [
    'a test of a tool with a letter of another alphabet',
    {
      'rules/pay.yaml': `${rules('  - { id: a, allow: A. }\n')}tests:\n  - { allow: ok, tool: p\u0430y, payload: {} }\n`,
    },
    'rules/pay.yaml:5:24 unknown-tool: this file does not apply to a tool named `p<U+0430>y` | did you mean `pay`?',
  ],
  [
    'a contract named with a letter of another alphabet',
    contract('tool: pay', 'tool: p\u0430y'),
    'tools/pay.yaml:1:7 bad-value: `p<U+0430>y` is not a tool name',
  ],
  [
    'a key with a letter of another alphabet',
    pay('  - { id: a, \u0430llow: A. }\n'),
    'rules/pay.yaml:3:14 unknown-key: unknown key `<U+0430>llow` in a rule | did you mean `allow`?',
  ],
  [
    'a field with a letter of another alphabet',
    when('{ payload.\u0430mount: 1 }'),
    'rules/pay.yaml:5:13 unknown-field: `payload.<U+0430>mount` is not a field | did you mean `payload.amount`?',
  ],
  [
    'a glob that matches nothing',
    pay('  - { id: a, allow: A. }\n', "tools: ['x.*']"),
    'rules/pay.yaml:1:9 unknown-tool: no tool contract named `x.*`',
  ],
  [
    'tool and tools',
    pay('  - { id: a, allow: A. }\n', "tool: pay\ntools: ['*']"),
    'rules/pay.yaml:1:1 unknown-key: a rule file needs exactly one of `tool:` and `tools:`',
  ],
  [
    'a misspelt payload field',
    when('{ payload.ammount: 1 }'),
    'rules/pay.yaml:5:13 unknown-field: `payload.ammount` is not in the contract of `pay` | did you mean `amount`?',
  ],
  [
    'an unknown field root',
    when('{ agnet.id: x }'),
    'rules/pay.yaml:5:13 unknown-field: `agnet.id` is not a field | did you mean `agent.id`?',
  ],
  [
    'the payload as a whole',
    when('{ payload: present }'),
    'rules/pay.yaml:5:13 unknown-field: `payload` is not a field | name a field of it, such as `payload.amount`',
  ],
  [
    'a test of the payload as a whole',
    when('{ payload: { at_most: 5 } }'),
    'rules/pay.yaml:5:13 unknown-field: `payload` is not a field | name a field of it, such as `payload.amount`',
  ],
  [
    'a field without its payload',
    when('{ amount: { at_most: 5 } }'),
    'rules/pay.yaml:5:13 unknown-field: `amount` is not a field | did you mean `payload.amount`?',
  ],
  [
    'a field without its payload in a function',
    when("{ any: [{ 'domain(to[0])': acme.com }] }"),
    'rules/pay.yaml:5:21 unknown-field: `to[0]` is not a field | did you mean `payload.to[0]`?',
  ],
  [
    'a field without its payload under missing_means',
    pay('  - { id: a, allow: A. }\n', 'tool: pay\nmissing_means: { note: nothing }'),
    'rules/pay.yaml:2:18 unknown-field: `note` is not a field | did you mean `payload.note`?',
  ],
  [
    'a sensitive field without its payload',
    contract('[payload.email]', '[email]'),
    'tools/pay.yaml:6:13 unknown-field: `email` is not a field | did you mean `payload.email`?',
  ],
  [
    'a misspelt payload',
    when('{ pyload.amount: 1 }'),
    'rules/pay.yaml:5:13 unknown-field: `pyload.amount` is not a field | did you mean `payload.amount`?',
  ],
  [
    'a word that no contract has',
    when('{ total: 1 }'),
    'rules/pay.yaml:5:13 unknown-field: `total` is not a field | fields are `payload.name`, `agent.id`, `task.workflow`, `time.hour` and the like',
  ],
  [
    'an unknown function',
    when('{ doman(payload.to): x }'),
    'rules/pay.yaml:5:13 unknown-function: unknown function `doman` | did you mean `domain`?',
  ],
  [
    'an unknown test',
    when('{ payload.amount: { at_mots: 1 } }'),
    'rules/pay.yaml:5:31 unknown-test: unknown test `at_mots` | did you mean `at_most`?',
  ],
  [
    'an unknown list',
    when('{ payload.note: $our_domain }'),
    'rules/pay.yaml:5:27 unknown-list: no list named `$our_domain` | did you mean `our_domains`?',
  ],
  [
    'a text where a number belongs',
    when('{ payload.amount: { over: "5" } }'),
    'rules/pay.yaml:5:37 wrong-type: `over` must be a number, found text',
  ],
  [
    'a number where a text belongs',
    when('{ payload.note: { like: 5 } }'),
    'rules/pay.yaml:5:35 wrong-type: `like` must be text, found a number | put it in quotes',
  ],
  [
    'a reason that is a number',
    pay('  - { id: a, allow: 5 }\n'),
    'rules/pay.yaml:3:21 wrong-type: a reason must be text, found a number | put it in quotes',
  ],
  [
    'count of something else',
    when('{ payload.to: { count: many } }'),
    'rules/pay.yaml:5:34 wrong-type: `count` takes a test of a number',
  ],
  [
    'a reserved word',
    when('{ payload.note: nothing }'),
    'rules/pay.yaml:5:27 bad-value: `nothing` is a reserved word here',
  ],
  [
    'a missing element',
    when('{ payload.to: { some: missing } }'),
    'rules/pay.yaml:5:33 bad-value: an element of a list is never missing',
  ],
  [
    'a present element',
    when('{ payload.to: { none: present } }'),
    'rules/pay.yaml:5:33 bad-value: an element of a list is always present',
  ],
  [
    'a missing count',
    when('{ payload.to: { count: missing } }'),
    'rules/pay.yaml:5:34 bad-value: a count is never missing | such as `{ over: 0 }`',
  ],
  [
    'a number at 2^53',
    when('{ payload.amount: 9007199254740992 }'),
    'rules/pay.yaml:5:29 unsafe-number: `9007199254740992` is beyond 2^53-1 and may have been rounded',
  ],
  ['an empty match', when('{}'), 'rules/pay.yaml:5:11 empty-match: an empty match would hold for every call'],
  [
    'a weekday in full',
    when('{ time.weekday: monday }'),
    'rules/pay.yaml:5:27 bad-value: `monday` is never a value of time.weekday',
  ],
  [
    'an hour that is none',
    when('{ time.hour: 25 }'),
    'rules/pay.yaml:5:24 bad-value: `25` is never a value of time.hour',
  ],
  [
    'the hour 24',
    when('{ time.hour: 24 }'),
    'rules/pay.yaml:5:24 bad-value: `24` is never a value of time.hour',
  ],
  [
    'the hour 24 among others',
    when('{ time.hour: [22, 23, 24] }'),
    'rules/pay.yaml:5:24 bad-value: `24` is never a value of time.hour | a whole number from 0 to 23',
  ],
  [
    'the hour 24 as the last one',
    when('{ time.hour: { at_most: 24 } }'),
    'rules/pay.yaml:5:24 bad-value: `24` is never a value of time.hour',
  ],
  [
    'an hour over the last one',
    when('{ time.hour: { over: 23 } }'),
    'rules/pay.yaml:5:24 literal-range: `over` 23 never holds: `time.hour` is at most 23',
  ],
  [
    'an hour under the first one',
    when('{ time.hour: { not: { under: 0 } } }'),
    'rules/pay.yaml:5:24 literal-range: `under` 0 never holds: `time.hour` is at least 0',
  ],
  [
    'a rule that ends before it begins',
    pay('  - { id: a, reject: A., from: 2027-01-31, until: 2027-01-30 }\n'),
    'rules/pay.yaml:3:51 bad-value: the rule ends with 2027-01-30, before it begins with 2027-01-31',
  ],
  [
    'a day that is none',
    pay("  - { id: a, allow: A., until: '2027-02-30' }\n"),
    'rules/pay.yaml:3:32 bad-value: `2027-02-30` is not a date',
  ],
  [
    'an unknown group in a rule',
    pay('  - { id: a, review: A., reviewers: { group: securty } }\n'),
    'rules/pay.yaml:3:46 unknown-group: no reviewer is in a group named `securty` | did you mean `security`?',
  ],
  [
    'reviewers of a reject rule',
    pay('  - { id: a, reject: A., reviewers: { group: security } }\n'),
    'rules/pay.yaml:3:37 reviewers-unused: no reviewer sees a rejected call',
  ],
  [
    'an allow rule above the limit',
    pay('  - { id: a, allow: A., risk: high }\n'),
    'rules/pay.yaml:3:31 allow-above-limit: risk high is above allow_up_to: this rule never allows | write `review:`',
  ],
  [
    'a key in brackets without a value',
    pay('  - { id: a, allow: A. }\n  - { id: b, allow }\n'),
    'rules/pay.yaml:4:14 wrong-type: a reason must be text, found nothing',
  ],
  [
    'a reserved word as what missing means',
    pay('  - { id: a, allow: A. }\n', 'tool: pay\nmissing_means: { payload.note: missing }'),
    'rules/pay.yaml:2:32 bad-value: `missing` is a reserved word here | write `{ is: missing }` for the text',
  ],
  [
    'a list by name as what missing means',
    pay('  - { id: a, allow: A. }\n', 'tool: pay\nmissing_means: { payload.note: $our_domains }'),
    'rules/pay.yaml:2:32 bad-value: `$our_domains` is no value: `missing_means` takes no lists by name',
  ],
  [
    'a glob of nothing',
    when("{ payload.note: { like: '' } }"),
    "rules/pay.yaml:5:35 bad-value: `like` of an empty text holds for the empty text only | write `{ is: '' }`",
  ],
  [
    'a part that every text contains',
    when("{ payload.note: { contains: '' } }"),
    'rules/pay.yaml:5:39 bad-value: `contains` of an empty text holds for every text',
  ],
  [
    'missing_means of a function',
    pay('  - { id: a, allow: A. }\n', 'tool: pay\nmissing_means: { domain(payload.to): x }'),
    'rules/pay.yaml:2:18 unknown-field: `missing_means` names plain fields',
  ],
  [
    'an unknown group in a level',
    routing('group: on-call', 'group: on-cal'),
    'routing.yaml:5:22 unknown-group: no reviewer is in a group named `on-cal` | did you mean `on-call`?',
  ],
  [
    'a level nobody can fill',
    routing('approvals: 1, expires: 4h', 'approvals: 4, expires: 4h'),
    'routing.yaml:6:22 level-understaffed: level medium needs 4 of group `team-leads`, but tenant `acme` has 3',
  ],
  [
    'a higher level that asks for less',
    routing(
      'medium:   { group: team-leads, approvals: 1, expires: 4h',
      'medium:   { group: on-call, approvals: 1, expires: 9h',
    ),
    'routing.yaml:6:13 level-order: level medium waits longer than level low of the same group',
  ],
  [
    'a higher level that does without the sign-in',
    routing(
      'medium:   { group: team-leads, approvals: 1, expires: 4h }\n  high:     { group: security, approvals: 1, expires: 1h,',
      'medium:   { group: team-leads, approvals: 1, expires: 4h, interactive: true }\n  high:     { group: team-leads, approvals: 1, expires: 1h,',
    ),
    'routing.yaml:7:13 level-order: level high does without the sign-in of level medium of the same group',
  ],
  [
    'an interactive level that is neither true nor false',
    routing('approvals: 1, expires: 4h', 'approvals: 1, expires: 4h, interactive: link'),
    'routing.yaml:6:74 wrong-type: `interactive` must be true or false, found text',
  ],
  [
    'a level that is missing',
    routing('  critical: { group: security-leads, approvals: 2, expires: 30m }\n', ''),
    'routing.yaml:5:3 missing-key: `levels` needs `critical:`',
  ],
  [
    'unmatched: allow',
    routing('unmatched: reject', 'unmatched: allow'),
    'routing.yaml:1:12 bad-value: `allow` is not a value for `unmatched`',
  ],
  [
    'a list in a list',
    routing('[acme.com, acme.io]', '[acme.com, $others]'),
    'routing.yaml:10:27 bad-value: `$others` is no value: lists do not contain lists | write its values out, or `$$` for a text that begins with $',
  ],
  [
    'an unknown time zone',
    routing('Europe/Berlin', 'Europe/Berln'),
    'routing.yaml:3:11 bad-value: `Europe/Berln` is not a time zone',
  ],
  [
    'a duration that is none',
    routing('expires: 8h', 'expires: 8 hours'),
    'routing.yaml:5:54 bad-value: `8 hours` is not a duration',
  ],
  [
    'an escalation after the end',
    routing('after: 30m', 'after: 2h'),
    'routing.yaml:7:97 bad-value: `after` is not before the level expires',
  ],
  [
    'an unknown owner',
    directory('bot: { owners: [dana]', 'bot: { owners: [dan]'),
    'directory.yaml:4:23 unknown-owner: no reviewer named `dan` in this tenant | did you mean `dana`?',
  ],
  [
    'a tenant name in capitals',
    directory('  acme:', '  Acme:'),
    'directory.yaml:2:3 bad-value: `Acme` is not a tenant name',
  ],
  [
    'a rate that is none',
    directory('{ owners: [dana] }', '{ owners: [dana], rate: 5/d }'),
    'directory.yaml:4:36 bad-value: `5/d` is not a rate',
  ],
  [
    'an unknown role',
    directory('groups: [team-leads] }', 'groups: [team-leads], roles: [root] }'),
    'directory.yaml:10:45 bad-value: `root` is not a value for `roles`',
  ],
  [
    'no directory',
    { 'directory.yaml': undefined },
    'directory.yaml:1:1 missing-file: a bundle needs directory.yaml',
  ],
  [
    'an empty file',
    { 'rules/pay.yaml': '# nothing\n' },
    'rules/pay.yaml:1:1 empty-file: the file says nothing',
  ],
  [
    'two contracts of one tool',
    { 'tools/pay2.yaml': CONTRACT },
    'tools/pay2.yaml:1:7 duplicate-tool: tool `pay` has another contract in tools/pay.yaml',
  ],
  [
    'two contracts of one tool of a server',
    {
      'tools/x.yaml': `${CONTRACT.replace('tool: pay', 'tool: x')}source: { server: s, name: pay }\n`,
      'tools/y.yaml': `${CONTRACT.replace('tool: pay', 'tool: y')}source: { server: s, name: pay }\n`,
    },
    'tools/y.yaml:17:9 duplicate-source: `pay` of server `s` has another contract in tools/x.yaml',
  ],
  [
    'labels that are almost equal',
    { 'tools/x.yaml': CONTRACT.replace('tool: pay', 'tool: x').replace('[money]', '[moneys]') },
    'tools/x.yaml:5:10 near-duplicate-label: label `moneys` is almost `money`',
  ],
  [
    'a sensitive field outside the payload',
    contract('[payload.email]', '[agent.id]'),
    'tools/pay.yaml:6:13 unknown-field: `agent.id` is not a field of the payload',
  ],
  [
    'an unknown schema keyword',
    schema('flag: { typo: boolean }'),
    'tools/pay.yaml:15:13 bad-schema: `typo` is not a schema keyword Countersign understands | did you mean `type`?',
  ],
  [
    'a remote reference',
    schema('flag: { $ref: "https://evil.example/s.json" }'),
    'tools/pay.yaml:15:19 bad-schema: `$ref` leads nowhere: `https://evil.example/s.json`',
  ],
  [
    'a pattern that is not linear',
    schema("flag: { type: string, pattern: '(?=a)b' }"),
    'tools/pay.yaml:15:36 bad-pattern: this pattern cannot be used: look-around cannot be matched in linear time',
  ],
  [
    'an enum of 2,001 values',
    schema(`flag: { enum: [${Array.from({ length: 2_001 }, (_, n) => n).join(', ')}] }`),
    'tools/pay.yaml:15:19 bad-schema: `enum` must have 1 to 2000 values',
  ],
  [
    '257 branches',
    schema(`flag: { anyOf: [${'true, '.repeat(257)}] }`),
    'tools/pay.yaml:15:20 bad-schema: `anyOf` must have 1 to 256 entries',
  ],
  [
    'a schema that is no object',
    contract('type: object', 'type: array'),
    'tools/pay.yaml:8:9 bad-schema: input_schema must describe an object: a payload always is one',
  ],
  [
    'a failing test',
    { 'rules/pay.yaml': `${rules('  - { id: a, allow: A. }\n')}tests:\n  - { reject: no, payload: {} }\n` },
    'rules/pay.yaml:5:15 test-failed: test `no` failed: expected reject, got allow by a: A.',
  ],
  [
    'a test whose payload does not fit',
    {
      'rules/pay.yaml': `${rules('  - { id: a, allow: A. }\n')}tests:\n  - { allow: ok, payload: { amount: x } }\n`,
    },
    'rules/pay.yaml:5:14 test-failed: test `ok` failed: the payload does not fit the contract: /amount must be a whole number or null',
  ],
]

describe('a diagnostic', () => {
  runCases(CASES)

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
