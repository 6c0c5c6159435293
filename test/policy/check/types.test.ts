import { describe, expect, it } from 'vitest'
import { contract, RICH, rich, runCases, runFine, type Case } from '../cases.ts'
import { bundle, diagnose, rules } from '../support.ts'

const means = (value: string): Record<string, string> => ({
  'tools/pay.yaml': RICH,
  'rules/pay.yaml': rules('  - { id: a, allow: A. }\n', `tool: pay\nmissing_means: { ${value} }`),
})

const PATHS: readonly Case[] = [
  [
    'a key below a whole number',
    rich('{ payload.amount.cents: 1 }'),
    'rules/pay.yaml:5:13 unknown-field: `payload.amount.cents` is not in the contract of `pay` | `payload.amount` is a whole number',
  ],
  [
    'a key of a list',
    rich('{ payload.to.first: x }'),
    'rules/pay.yaml:5:13 unknown-field: `payload.to.first` is not in the contract of `pay` | `payload.to` is a list: test it with `some`, or write `payload.to[0]`',
  ],
  [
    'an index beyond maxItems',
    rich("{ 'payload.tags[3]': red }"),
    'rules/pay.yaml:5:13 unknown-field: `payload.tags[3]` is not in the contract of `pay` | `payload.tags` is a list of at most 3 entries',
  ],
  [
    'an index beyond prefixItems',
    rich("{ 'payload.pair[2]': x }"),
    'rules/pay.yaml:5:13 unknown-field: `payload.pair[2]` is not in the contract of `pay` | `payload.pair` is a list of at most 2 entries',
  ],
  [
    'an index of an object',
    rich("{ 'payload.tree[0]': x }"),
    'rules/pay.yaml:5:13 unknown-field: `payload.tree[0]` is not in the contract of `pay` | `payload.tree` is an object',
  ],
  [
    'a misspelt key deep in a recursive schema',
    rich("{ 'payload.tree.kids[0].kids[1].nmae': x }"),
    'rules/pay.yaml:5:13 unknown-field: `payload.tree.kids[0].kids[1].nmae` is not in the contract of `pay` | did you mean `name`?',
  ],
  [
    'a field that the schema forbids',
    rich('{ payload.never: 1 }'),
    'rules/pay.yaml:5:13 unknown-field: `payload.never` is not in the contract of `pay`',
  ],
  [
    'a misspelt key of an open object',
    rich('{ payload.open.regoin: eu }'),
    'rules/pay.yaml:5:13 undeclared-field: `payload.open.regoin` is not declared in the contract of `pay`, which permits undeclared fields | did you mean `region`?',
  ],
]

const SENSITIVE: readonly Case[] = [
  [
    'a sensitive field that the contract does not have',
    contract('[payload.email]', '[payload.emial]'),
    'tools/pay.yaml:6:13 unknown-field: `payload.emial` is not in the contract of `pay` | did you mean `email`?',
  ],
]

const TESTS: readonly Case[] = [
  [
    'a text test of a number',
    rich('{ payload.amount: { starts_with: x } }'),
    'rules/pay.yaml:5:31 test-type: `starts_with` needs text, but `payload.amount` of `pay` is a whole number',
  ],
  [
    'a text test of a list',
    rich('{ payload.to: { ends_with: .com } }'),
    'rules/pay.yaml:5:27 test-type: `ends_with` needs text, but `payload.to` of `pay` is a list | for the entries of a list write `{ some: { ends_with: ... } }`',
  ],
  [
    'a number test of text',
    rich('{ payload.note: { over: 5 } }'),
    'rules/pay.yaml:5:29 test-type: `over` needs a number, but `payload.note` of `pay` is text',
  ],
  [
    'a number test of a list',
    rich('{ payload.to: { over: 5 } }'),
    'rules/pay.yaml:5:27 test-type: `over` needs a number, but `payload.to` of `pay` is a list | for the length of a list write `{ count: { over: 1 } }`',
  ],
  [
    'a list test of text',
    rich('{ payload.note: { some: abc } }'),
    'rules/pay.yaml:5:29 test-type: `some` needs a list, but `payload.note` of `pay` is text',
  ],
  [
    'a count of a number',
    rich('{ payload.amount: { count: 1 } }'),
    'rules/pay.yaml:5:31 test-type: `count` needs a list, but `payload.amount` of `pay` is a whole number',
  ],
  [
    'contains of a number',
    rich('{ payload.amount: { contains: 1 } }'),
    'rules/pay.yaml:5:31 test-type: `contains` needs text or a list, but `payload.amount` of `pay` is a whole number',
  ],
  [
    'a list compared with a literal',
    rich('{ payload.to: a@acme.com }'),
    'rules/pay.yaml:5:25 test-type: a value is compared with text, a number or true or false, but `payload.to` of `pay` is a list | use `contains`, `some`, `every` or `none`',
  ],
  [
    'an object compared with a literal',
    rich('{ payload.open: eu }'),
    'rules/pay.yaml:5:27 test-type: a value is compared with text, a number or true or false, but `payload.open` of `pay` is an object',
  ],
  [
    'a text test inside a list of lists',
    rich('{ payload.grid: { some: { like: x } } }'),
    'rules/pay.yaml:5:37 test-type: `like` needs text, but an entry of `payload.grid` of `pay` is a list',
  ],
  [
    'a number test of what a function gives',
    rich('{ domain(payload.mail): { over: 1 } }'),
    'rules/pay.yaml:5:37 test-type: `over` needs a number, but `domain(payload.mail)` of `pay` is text',
  ],
  [
    'a text compared with what gives a list',
    rich('{ sql_verbs(payload.sql): select }'),
    'rules/pay.yaml:5:37 test-type: a value is compared with text, a number or true or false, but `sql_verbs(payload.sql)` of `pay` is a list | use `contains`, `some`, `every` or `none`',
  ],
  [
    'a number test of a fact',
    rich('{ agent.id: { over: 1 } }'),
    'rules/pay.yaml:5:25 test-type: `over` needs a number, but `agent.id` is text',
  ],
  [
    'a text test of the hour',
    rich('{ time.hour: { like: "1*" } }'),
    'rules/pay.yaml:5:26 test-type: `like` needs text, but `time.hour` is a whole number',
  ],
]

const FUNCTIONS: readonly Case[] = [
  [
    'a function of a number',
    rich('{ host(payload.amount): acme.com }'),
    'rules/pay.yaml:5:13 test-type: `host` reads text, but `payload.amount` of `pay` is a whole number | write `payload.amount` without `host`',
  ],
  [
    'a function of an object',
    rich('{ host(payload.open): present }'),
    'rules/pay.yaml:5:13 test-type: `host` reads text, but `payload.open` of `pay` is an object | write the path of a text inside it',
  ],
  [
    'a function of a list of lists',
    rich('{ sql_verbs(payload.grid): { some: drop } }'),
    'rules/pay.yaml:5:13 test-type: `sql_verbs` reads text, but an entry of `payload.grid` of `pay` is a list | write `payload.grid` without `sql_verbs`',
  ],
  [
    'a function of the hour',
    rich('{ not: { path(time.hour): /a } }'),
    'rules/pay.yaml:5:20 test-type: `path` reads text, but `time.hour` is a whole number | write `time.hour` without `path`',
  ],
  [
    'a function of a truth value',
    rich('{ domain(payload.on): acme.com }'),
    'rules/pay.yaml:5:13 test-type: `domain` reads text, but `payload.on` of `pay` is true or false | write `payload.on` without `domain`',
  ],
]

const PATTERNS: readonly Case[] = [
  [
    'look-around in a rule',
    rich("{ payload.note: { matches: '(?<=a)b' } }"),
    'rules/pay.yaml:5:38 bad-pattern: this pattern cannot be used: look-around cannot be matched in linear time',
  ],
  [
    'a back-reference',
    rich("{ payload.note: { matches: '(a)\\1' } }"),
    'rules/pay.yaml:5:38 bad-pattern: this pattern cannot be used: invalid escape sequence: `\\1`',
  ],
  [
    'repetitions of repetitions',
    rich("{ payload.note: { matches: '((a{1,30}){1,30}){1,30}' } }"),
    'rules/pay.yaml:5:38 bad-pattern: this pattern cannot be used: invalid repeat count: `{1,30}`',
  ],
]

const MEANINGS: readonly Case[] = [
  [
    'a meaning of another type',
    means('payload.note: 5'),
    'rules/pay.yaml:2:32 missing-means-type: `5` is a number, but `payload.note` of `pay` is text | put it in quotes',
  ],
  [
    'a meaning outside the enum',
    means('payload.currency: euro'),
    'rules/pay.yaml:2:36 missing-means-type: `payload.currency` of `pay` is never `euro`: it is one of usd, eur, gbp | did you mean `eur`?',
  ],
  [
    'a list that stands for text',
    means('payload.note: [abc]'),
    'rules/pay.yaml:2:32 missing-means-type: a list cannot replace `payload.note` of `pay`, which is text',
  ],
  [
    'an entry outside the enum',
    means('payload.tags: [red, rad]'),
    'rules/pay.yaml:2:38 missing-means-type: an entry of `payload.tags` of `pay` is never `rad`: it is one of red, green | did you mean `red`?',
  ],
  [
    'a meaning of a required field',
    means('payload.amount: 1'),
    'rules/pay.yaml:2:18 missing-means-unused: `payload.amount` is never missing | a payload without it does not fit the contract',
  ],
]

const CODES = [
  'undeclared-field',
  'test-type',
  'literal-type',
  'literal-enum',
  'literal-range',
  'literal-form',
  'missing-means-type',
  'missing-means-unused',
]

describe('the type check of a path', () => runCases([...PATHS, ...SENSITIVE]))
describe('the type check of a test', () => runCases(TESTS))
describe('the type check of a function', () => runCases(FUNCTIONS))
describe('the check of a pattern', () => runCases(PATTERNS))
describe('the type check of missing_means', () => runCases(MEANINGS))

describe('a finding of the type check', () => {
  runFine(
    [
      ['a comparison at a bound that splits the range', rich('{ payload.amount: { over: 999 } }')],
      ['a limit that is the bound itself and holds', rich('{ payload.amount: { at_least: 1 } }')],
      ['a branch of anyOf that fits', rich('{ any: [{ payload.who: abc }, { payload.who: 12 }] }')],
      ['a value of every oneOf branch', rich('{ payload.one: [a, b, c] }')],
      ['a field that may be null', rich('{ payload.maybe: { over: 1 } }')],
      ['any key of an open object', rich('{ payload.open.whatever: { over: 1 } }')],
      ['a key that only a pattern names', rich('{ payload.map.x_1: abc }')],
      ['a key that additionalProperties describes', rich('{ payload.map.total: 3 }')],
      ['text that fits its pattern', rich('{ payload.code: ch_1 }')],
      ['a mail address', rich('{ payload.mail: dana@acme.com }')],
      [
        'a list of routing.yaml of which some entry fits',
        rich('{ domain(payload.to): { some: $our_domains } }'),
      ],
      ['a function of text or a number', rich('{ host(payload.who): acme.com }')],
      ['a function of a list with a text in it', rich('{ domain(payload.pair): { some: acme.com } }')],
      ['a function of a field that nothing is known of', rich('{ host(payload.open.url): acme.com }')],
      ['a function of the labels of a tool without any', rich('{ domain(tool.labels): { some: a.com } }')],
      ['a path', rich('{ path(payload.url): [/workspace, /] }')],
      ['an IPv6 host', rich("{ host(payload.url): ['[::1]', localhost, 10.0.0.1] }")],
      ['a text beyond ASCII, which may be sent decomposed', rich('{ payload.note: éé }')],
      ['a meaning that fits', means('payload.tags: [], payload.note: { is: nothing }, payload.share: 0.5')],
    ],
    CODES,
  )

  const other = (amount: string): Record<string, string> => ({
    'tools/pay.yaml': RICH,
    'tools/wire.yaml': RICH.replace('tool: pay', 'tool: wire').replace(
      "amount: { $ref: '#/$defs/money' }",
      `amount: ${amount}`,
    ),
  })
  const both = (match: string): string =>
    rules(`  - { id: a, allow: A., when: ${match} }\n`, 'tools: [pay, wire]')

  it('is reported when one of several tools has another type there', async () => {
    const found = await diagnose(
      bundle({ ...other('{ type: string }'), 'rules/pay.yaml': both('{ payload.amount: { over: 5 } }') }),
    )
    expect(found.map((one) => one.message)).toContain(
      '`over` needs a number, but `payload.amount` of `wire` is text',
    )
  })

  it('is not reported for a function when one of several tools has text there', async () => {
    const match = both('{ host(payload.amount): acme.com }')
    const codes = async (amount: string): Promise<readonly string[]> =>
      (await diagnose(bundle({ ...other(amount), 'rules/pay.yaml': match })))
        .filter((one) => one.severity === 'error')
        .map((one) => one.message)
    expect(await codes('{ type: string }')).toEqual([])
    expect(await codes('{ type: number }')).toEqual([
      '`host` reads text, but `payload.amount` of `pay` is a whole number',
    ])
  })

  it('is not reported for a literal that one of several tools permits', async () => {
    const files = { ...other('{ type: integer, minimum: 1, maximum: 9000 }') }
    const codes = async (limit: number): Promise<readonly string[]> =>
      (await diagnose(bundle({ ...files, 'rules/pay.yaml': both(`{ payload.amount: { over: ${limit} } }`) })))
        .filter((one) => one.severity === 'error')
        .map((one) => one.code)
    expect(await codes(5000)).toEqual([])
    expect(await codes(9000)).toEqual(['literal-range'])
  })

  it('carries the excerpt with a caret under the literal', async () => {
    const [found] = await diagnose(bundle(rich('{ payload.currency: [usd, eru] }')))
    expect(found).toMatchObject({
      excerpt: '    when: { payload.currency: [usd, eru] }',
      column: 37,
      width: 3,
    })
  })
})
