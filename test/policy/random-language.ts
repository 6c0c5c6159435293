import fc from 'fast-check'
import type { JsonObject, JsonValue } from '../../src/contract/json.ts'
import { RISKS, VERDICTS } from '../../src/domain/decision.ts'
import type { Call } from '../../src/policy/language/snapshot.ts'
import { NOON, ROUTING, type Files } from './support.ts'

/**
 * Random bundles that use the whole language: every field, function and test, nested matches, defaults,
 * `missing_means`, `until`, shadow.
 */

export const LANGUAGE_TOOL = 'pay'
const CONTRACT = {
  tool: LANGUAGE_TOOL,
  description: 'd',
  risk: 'low',
  labels: ['money', 'outbound'],
  input_schema: {
    type: 'object',
    properties: { flag: { default: false }, meta: { properties: { deep: { default: 'b' } } } },
  },
}

/** Enough people for every seat of every rule. */
const GROUPS = 'groups: [on-call, team-leads, security, security-leads, fraud-desk]'
const PEOPLE = `tenants:
  acme:
    agents:
      bot: { owners: [dana] }
    reviewers:
${['ann', 'bob', 'cat', 'dan', 'eve', 'dana'].map((name) => `      ${name}: { ${GROUPS} }`).join('\n')}
`

const words = fc.constantFrom('a', 'b', 'ab', 'A', 'e\u0301'.normalize('NFC'))
/** One that no test can compare. */
const STACK = `a${'\u0345\u0334'.repeat(33)}`
const numbers = fc.integer({ min: 0, max: 3 })
/** Texts that a function can give: a literal that it never gives is an error. */
const hosts = fc.constantFrom('a.io', 'b.io', 'acme.com')
const paths = fc.constantFrom('/a', '/b', '/a/b')
const verbs = fc.constantFrom('select', 'delete')
const functions = fc.constantFrom('f', 'g', 's.f')
const tables = fc.constantFrom('t', 'u', 's.t')
const origins = fc.constantFrom('https://acme.io', 'https://acme.io:8443', 'http://a.io')
const exactly = (texts: fc.Arbitrary<string>): fc.Arbitrary<JsonValue> =>
  fc.oneof(
    texts,
    fc.record({ is: fc.array(texts, { minLength: 1, maxLength: 3 }) }),
    texts.map((text) => ({ not: text })),
  )
const textTests = fc.oneof(
  fc.record({ starts_with: words }),
  fc.record({ ends_with: fc.array(words, { minLength: 1, maxLength: 2 }) }),
  fc.record({ like: fc.constantFrom('a*', '*b', '*a*b*', 'b') }),
  fc.record({ matches: fc.constantFrom('^a', 'b$', '^[ab]+$') }),
  fc.record({ contains: words }),
  fc.record({ is: fc.array(words, { minLength: 1, maxLength: 3 }) }),
  words,
  fc.constant('$our_domains'),
)
const numberTests = fc.oneof(
  ...(['over', 'at_least', 'under', 'at_most'] as const).map((op) =>
    numbers.map((limit) => ({ [op]: limit })),
  ),
  fc.record({ is: numbers }),
  fc.record({ over: numbers, at_most: numbers }),
)
/** Tests of a list's length. A test that every length fits, or no length, is an error. */
const countTests = fc.oneof(
  ...(['over', 'at_most'] as const).map((op) => numbers.map((limit) => ({ [op]: limit }))),
  ...(['at_least', 'under'] as const).map((op) => numbers.map((limit) => ({ [op]: limit + 1 }))),
)
const anyValue = fc.oneof(words, numbers, fc.boolean())
const plainTests: fc.Arbitrary<JsonValue> = fc.oneof(
  textTests,
  numberTests,
  fc.record({ is: fc.array(anyValue, { minLength: 1, maxLength: 3 }) }),
  fc.record({ contains: anyValue }),
  fc.constant({ is: null }),
)
const presence = fc.constantFrom('missing', 'present')
const { any: anyTests } = fc.letrec<{ element: JsonValue; any: JsonValue }>((tie) => ({
  element: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    plainTests,
    tie('element').map((test) => ({ not: test })),
    tie('element').map((test) => ({ some: test })),
  ),
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    plainTests,
    presence,
    tie('any').map((test) => ({ not: test })),
    fc.tuple(fc.constantFrom('some', 'every', 'none'), tie('element')).map(([op, test]) => ({ [op]: test })),
    countTests.map((test) => ({ count: test })),
    fc.tuple(plainTests.filter(isMapping), presence).map(([test, not]) => ({ ...(test as object), not })),
  ),
}))

function isMapping(test: JsonValue): boolean {
  return typeof test === 'object' && test !== null && !Array.isArray(test)
}

const line = (fields: readonly string[], tests: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonObject> =>
  fc.tuple(fc.constantFrom(...fields), tests).map(([field, test]) => ({ [field]: test }))
const payloadFields = ['amount', 'note', 'to', 'to[0]', 'flag', 'meta.deep', 'meta'].map(
  (name) => `payload.${name}`,
)
const trustedTexts = ['agent.id', 'agent.tenant', 'task.workflow', 'task.label', 'task.subject']
const historyLists = ['agent.owners', 'task.tools', 'task.labels', 'agent.tools', 'agent.labels']
const listOf = (tests: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonValue> =>
  fc.oneof(
    fc.tuple(fc.constantFrom('some', 'every', 'none'), tests).map(([op, test]) => ({ [op]: test })),
    countTests.map((test) => ({ count: test })),
  )
const lines = fc.oneof(
  { weight: 6, arbitrary: line(payloadFields, anyTests) },
  line(trustedTexts, fc.oneof(textTests, presence)),
  line(historyLists, listOf(textTests)),
  line(['tool.name'], fc.constantFrom<JsonValue>('pay', { starts_with: 'p' })),
  line(
    ['tool.labels'],
    fc.constantFrom<JsonValue>({ some: 'money' }, { none: 'outbound' }, { contains: 'money' }),
  ),
  line(['tool.reversibility'], fc.oneof(presence, fc.constant('external'))),
  line(['time.weekday'], fc.constantFrom<JsonValue>('mon', ['sat', 'sun'], { not: 'mon' })),
  line(
    ['time.date'],
    fc.constantFrom<JsonValue>(
      '2026-11-16',
      { from: '2026-11-17' },
      { not: { until: '2026-11-20' } },
      { from: '2026-11-01', until: '2026-11-30' },
      { ends_with: '-21' },
    ),
  ),
  line(['time.day'], fc.constantFrom<JsonValue>(16, { at_least: 17 }, { under: 2 })),
  line(['time.hour'], fc.constantFrom<JsonValue>({ at_least: 12 }, { under: 12 })),
  line(['domain(payload.note)', 'host(payload.note)'], exactly(hosts)),
  line(['path(payload.note)'], exactly(paths)),
  line(['domain(payload.to)'], listOf(exactly(hosts))),
  line(['sql_verbs(payload.note)'], listOf(exactly(verbs))),
  line(['sql_functions(payload.note)'], listOf(exactly(functions))),
  line(['sql_tables(payload.note)'], listOf(exactly(tables))),
  line(['sql_has(payload.note, where)', 'sql_has(payload.note, limit)'], fc.boolean()),
  line(['origin(payload.note)'], exactly(origins)),
)
const rowMatch = fc.oneof(
  plainTests.map((test) => ({ '.a': test })),
  fc.tuple(plainTests, fc.oneof(textTests, presence)).map(([a, b]) => ({ '.a': a, '.b': b })),
  fc.tuple(plainTests, textTests).map(([a, b]) => ({ any: [{ '.a': a }, { not: { '.b': b } }] })),
)
const programs = fc.constantFrom('ls', 'git', 'rm')
const commandMatch = fc.oneof(
  programs.map((program) => ({ '.program': program })),
  fc.tuple(programs, fc.constantFrom('-x', '-y')).map(([program, option]) => ({
    '.program': program,
    '.options': { none: { not: option } },
  })),
  fc.constant({ '.writes': { count: 0 } }),
)
const entryLines = fc.oneof(
  line(
    ['payload.rows'],
    fc.oneof(
      listOf(rowMatch),
      fc.tuple(rowMatch, numbers).map(([where, over]) => ({ count: { where, over } })),
    ),
  ),
  line(['shell_commands(payload.note)'], listOf(commandMatch)),
)
const { match } = fc.letrec<{ match: JsonObject }>((tie) => ({
  match: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 4, arbitrary: lines },
    entryLines,
    fc.tuple(lines, lines).map(([one, other]) => ({ ...one, ...other })),
    tie('match').map((inner) => ({ not: inner })),
    fc
      .tuple(fc.constantFrom('any', 'all'), fc.array(tie('match'), { minLength: 1, maxLength: 3 }))
      .map(([kind, items]) => ({ [kind]: items })),
  ),
}))

const rule = fc
  .record({
    verdict: fc.oneof({ weight: 2, arbitrary: fc.constant('allow' as const) }, fc.constantFrom(...VERDICTS)),
    when: fc.option(match, { nil: undefined, freq: 8 }),
    unless: fc.option(match, { nil: undefined }),
    risk: fc.option(fc.constantFrom(...RISKS), { nil: undefined }),
    reviewers: fc.option(
      fc.constantFrom(
        { group: 'fraud-desk' },
        { group: 'security', expires: '5m' },
        { group: 'security', interactive: true },
      ),
      {
        nil: undefined,
      },
    ),
    from: fc.option(fc.constantFrom('2026-10-01', '2026-11-17'), { nil: undefined, freq: 4 }),
    until: fc.option(fc.constantFrom('2026-11-20', '2027-01-31'), { nil: undefined }),
    shadow: fc.nat(4).map((n) => n === 0),
    asks: fc.boolean(),
  })
  .map(({ verdict, shadow, asks, ...rest }) => ({
    ...Object.fromEntries(Object.entries(rest).filter(([, part]) => part !== undefined)),
    [verdict]: 'Reason.',
    ...(shadow && { mode: 'shadow' }),
    ...(asks && verdict === 'reject' && { unknown: 'review' }),
  }))

const meanings: fc.Arbitrary<JsonObject> = fc.record(
  {
    'payload.amount': fc.oneof(numbers, fc.constant('nothing')),
    'payload.note': fc.oneof(words, fc.constant('nothing')),
    'payload.rows[].b': fc.oneof(words, fc.constant('nothing')),
    'payload.to': fc.oneof(fc.array(words, { minLength: 1, maxLength: 2 }), fc.constant('nothing')),
  },
  { requiredKeys: [] },
)
const ruleFile = (prefix: string, head: object, size: fc.ArrayConstraints): fc.Arbitrary<string> =>
  fc.tuple(fc.array(rule, size), meanings).map(([rules, missing_means]) =>
    JSON.stringify({
      ...head,
      missing_means,
      rules: rules.map((one, n) => ({ id: `${prefix}${n}`, ...one })),
    }),
  )

/** Files of a bundle that passes `check` (warnings allowed). */
export const languageBundles: fc.Arbitrary<Files> = fc
  .record({
    pay: ruleFile('r', { tool: LANGUAGE_TOOL }, { minLength: 1, maxLength: 4 }),
    star: fc.option(ruleFile('s', { tools: ['*'] }, { minLength: 1, maxLength: 2 }), {
      nil: undefined,
      freq: 2,
    }),
    unmatched: fc.constantFrom('review', 'reject'),
    allowUpTo: fc.constantFrom(...RISKS),
    reversibility: fc.option(fc.constantFrom('external', 'read_only'), { nil: undefined }),
  })
  .map(({ pay, star, unmatched, allowUpTo, reversibility }) => ({
    'routing.yaml': ROUTING.replace('unmatched: reject', `unmatched: ${unmatched}`).replace(
      'allow_up_to: medium',
      `allow_up_to: ${allowUpTo}`,
    ),
    'directory.yaml': PEOPLE,
    'tools/pay.yaml': JSON.stringify({ ...CONTRACT, reversibility }),
    'rules/pay.yaml': pay,
    ...(star !== undefined && { 'rules/star.yaml': star }),
  }))

const texts = fc.oneof(
  words,
  fc.constantFrom(
    'e\u0301',
    STACK,
    'x@acme.com',
    'X <x@acme.com>',
    'https://acme.io/a',
    '/a/../b',
    'a/b',
    'select f(), s.f(1) from t',
    'select a from s.t, u where a = 1 limit 1',
    'delete from t where a = 1',
    'delete from t',
    'https://acme.io:8443/a',
    'select 1; drop table x',
    'ls -x | git',
    'rm a > b',
    'ls $(id)',
    '',
  ),
)
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  texts,
  fc.integer({ min: 0, max: 4 }),
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.oneof(texts, numbers, fc.constant(null)), { maxLength: 3 }),
  fc.constant({}),
)
const payload: fc.Arbitrary<JsonObject> = fc.record(
  {
    amount: fc.oneof(fc.integer({ min: 0, max: 4 }), value),
    note: fc.oneof(texts, value),
    to: fc.oneof(fc.array(texts, { maxLength: 3 }), value),
    flag: value,
    rows: fc.oneof(
      fc.array(fc.record({ a: value, b: texts }, { requiredKeys: [] }), { maxLength: 2 }),
      value,
    ),
    meta: fc.oneof(fc.record({ deep: value }, { requiredKeys: [] }), value),
  },
  { requiredKeys: [] },
)

/** Calls of the tool by an agent that the directory knows. */
const someWords = fc.uniqueArray(words, { maxLength: 2 })
export const languageCalls: fc.Arbitrary<Call> = fc
  .record(
    {
      payload,
      workflow: words,
      label: words,
      subject: words,
      owners: someWords,
      riskLevel: fc.constantFrom(...RISKS),
      at: fc.constantFrom(NOON, NOON + 5 * 86_400_000, Date.UTC(2027, 5, 1)),
      history: fc.record({
        taskTools: someWords,
        taskLabels: someWords,
        agentTools: someWords,
        agentLabels: someWords,
      }),
    },
    { requiredKeys: ['payload', 'at', 'history'] },
  )
  .map((given) => ({ tool: LANGUAGE_TOOL, tenant: 'acme', agent: 'bot', ...given }))
