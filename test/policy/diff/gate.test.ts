import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../../../src/contract/json.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import { diffBundles, type BundleDiff } from '../../../src/policy/diff/diff.ts'
import { changes, loosens } from '../../../src/policy/diff/gate.ts'
import { resultOf } from '../../../src/policy/diff/judge.ts'
import { printMarkdown } from '../../../src/policy/diff/markdown.ts'
import type { Direction } from '../../../src/policy/check/change.ts'
import { compareResults } from '../../../src/policy/diff/outcome.ts'
import { printDiff } from '../../../src/policy/diff/print.ts'
import { createSide, type Bundle } from '../../../src/policy/diff/side.ts'
import type { Call } from '../../../src/policy/language/snapshot.ts'
import { IS_LONG, runs } from '../../runs.ts'
import { LANGUAGE_TOOL, languageBundles, languageCalls } from '../random-language.ts'
import { bundle, call, type Files } from '../support.ts'

async function load(files: Files): Promise<Bundle> {
  const prepared = await prepareBundle(Object.entries(files).map(([path, text]) => ({ path, text })))
  if (!prepared.ok) throw new Error(JSON.stringify(prepared.diagnostics.map(({ message }) => message)))
  return prepared
}

interface Query {
  readonly when?: JsonObject
  readonly unless?: JsonObject
  readonly tests?: readonly JsonObject[]
  readonly schema?: JsonObject
  readonly more?: readonly JsonObject[]
  readonly routing?: readonly [string, string]
}

/** A bundle whose rule `ok` allows a query. */
function withQuery({ when = {}, unless, tests = [], schema = {}, more = [], routing }: Query): Files {
  const contract = {
    tool: 'pay',
    description: 'd',
    risk: 'low',
    input_schema: {
      type: 'object',
      additionalProperties: false,
      required: ['q'],
      properties: { q: { type: 'string' }, n: { type: 'integer' }, ...schema },
    },
  }
  const ok = { id: 'ok', allow: 'x', when, ...(unless && { unless }) }
  const files = bundle({
    'tools/pay.yaml': JSON.stringify(contract),
    'rules/pay.yaml': JSON.stringify({ tool: 'pay', rules: [ok, ...more], tests }),
  })
  return routing ? { ...files, 'routing.yaml': String(files['routing.yaml']).replace(...routing) } : files
}

const between = async (before: Query, after: Query): Promise<BundleDiff> =>
  diffBundles(await load(withQuery(before)), await load(withQuery(after)))

const gates = (diff: BundleDiff): object => ({ loosens: loosens(diff), changes: changes(diff) })
const unsureIn = ({ tools }: BundleDiff): readonly string[] =>
  tools.flatMap(({ unsure }) => unsure.map(({ kind, part }) => `${kind} ${part}`))

const tables = (...names: string[]): JsonObject => ({ 'sql_tables(payload.q)': { every: names } })
const WHERE = { 'sql_has(payload.q, where)': true }
/** Text that no search for examples finds together with a table. */
const PREFIX = { 'payload.q': { starts_with: 'select /* audited */' } }

describe('a rule whose tests the examples cannot reach', () => {
  it('that got more values may loosen, and names the two lines', async () => {
    const diff = await between(
      { when: { ...PREFIX, ...tables('t') } },
      { when: { ...PREFIX, ...tables('t', 'secrets') } },
    )
    expect(diff.tools[0]?.changes).toEqual([])
    expect(printDiff(diff))
      .toBe(`pay MAY LOOSEN rule ok: it differs, and no example has a looser decision by it
    - sql_tables(payload.q) every is t
    + sql_tables(payload.q) every is one of t, secrets
pay: not complete: not every kind of payload.q has an example
0 loosened, 0 tightened, 1 may loosen; sampled: ${diff.cells} cells`)
    expect(printMarkdown(diff)).toContain(`### Not shown by any example

- \`pay MAY LOOSEN rule ok: it differs, and no example has a looser decision by it\`
  - before: \`sql_tables(payload.q) every is t\`
  - after: \`sql_tables(payload.q) every is one of t, secrets\``)
    expect(gates(diff)).toEqual({ loosens: true, changes: true })
  })

  it('that got fewer values may tighten, which is a change and no loosening', async () => {
    const diff = await between(
      { when: { ...PREFIX, ...tables('t', 'secrets') } },
      { when: { ...PREFIX, ...tables('t') } },
    )
    expect(unsureIn(diff)).toEqual(['may tighten rule ok'])
    expect(gates(diff)).toEqual({ loosens: false, changes: true })
  })

  it('that got other values cannot tell', async () => {
    const diff = await between(
      { when: { ...PREFIX, ...tables('t') } },
      { when: { ...PREFIX, ...tables('u') } },
    )
    expect(unsureIn(diff)).toEqual(['cannot tell rule ok'])
    expect(printDiff(diff)).toMatch(/^pay CANNOT TELL rule ok: .*\n.*every is t\n.*every is u\n/)
    expect(printDiff(diff)).toContain('0 loosened, 0 tightened, 1 cannot tell; sampled')
    expect(gates(diff)).toEqual({ loosens: true, changes: true })
  })

  it('that tightens in an example cannot tell, because it may also loosen', async () => {
    const diff = await between(
      { when: { ...WHERE, ...tables('t') } },
      { when: { ...WHERE, ...tables('t', 'u') }, unless: PREFIX },
    )
    expect(unsureIn(diff)).toEqual([])
    expect(loosens(diff)).toBe(true)
    const hidden = await between(
      { when: { any: [{ ...PREFIX, ...tables('t') }, { 'payload.n': { at_most: 5 } }] } },
      { when: { any: [{ ...PREFIX, ...tables('t', 'u') }, { 'payload.n': { at_most: 4 } }] } },
    )
    expect(hidden.tools[0]?.changes.map(({ direction }) => direction)).toEqual(
      hidden.tools[0]?.changes.map((): Direction => 'tightens'),
    )
    expect(unsureIn(hidden)).toEqual(['cannot tell rule ok'])
    expect(loosens(hidden)).toBe(true)
  })

  it('about shell lines may loosen or cannot tell, and is never no change', async () => {
    const line = (entry: JsonObject): JsonObject => ({ 'shell_commands(payload.q)': { every: entry } })
    const git = (...options: string[]): JsonObject => ({
      '.program': ['git', 'ls'],
      '.options': { none: { not: { matches: options } } },
    })
    const grown = await between({ when: line(git('^-p$')) }, { when: line(git('^-p$', '^-yy+$')) })
    expect(unsureIn(grown)).toEqual(['may loosen rule ok'])
    const other = await between({ when: line(git('^-p$')) }, { when: line(git('^-yy+$')) })
    expect(unsureIn(other)).toEqual(['cannot tell rule ok'])
    expect(gates(grown)).toEqual({ loosens: true, changes: true })
    const many = Array.from({ length: 60 }, (_, i) => `p${i}`)
    const longer = await between(
      { when: line({ '.text': many }) },
      { when: line({ '.text': [...many, 'a b'] }) },
    )
    expect(printDiff(longer)).toMatch(/\+ .*every \(\.text is a b\)/)
    const program = await between(
      { when: line({ '.program': 'ls' }) },
      { when: line({ '.program': ['ls', 'rm'] }) },
    )
    expect(program.tools[0]?.changes.map(({ direction }) => direction)).toContain('loosens')
  })

  it('that only moves a threshold to stricter values has an example', async () => {
    const diff = await between(
      { when: { ...WHERE, ...tables('t'), 'payload.n': { at_most: 5 } } },
      { when: { ...WHERE, ...tables('t'), 'payload.n': { at_most: 4 } } },
    )
    expect(unsureIn(diff)).toEqual([])
    expect(gates(diff)).toEqual({ loosens: false, changes: true })
  })

  it('is no part of a difference when only its words or the order of its values differ', async () => {
    const diff = await between(
      { when: { ...PREFIX, ...tables('t', 'u') } },
      { when: { ...tables('u', 't'), ...PREFIX } },
    )
    expect(gates(diff)).toEqual({ loosens: false, changes: false })
    expect(printDiff(diff)).toContain('no change of any decision')
  })

  it('may loosen when a rule that allows is added, and may tighten when it is removed or in shadow', async () => {
    const more = { id: 'more', allow: 'x', when: { ...PREFIX, ...tables('t') } }
    const plain = { when: { 'payload.n': 1 } }
    const added = await between(plain, { ...plain, more: [more] })
    expect(unsureIn(added)).toEqual(['may loosen rule more'])
    expect(added.tools[0]?.unsure[0]).toMatchObject({
      before: 'nothing',
      after: expect.stringMatching(/^allow when /),
    })
    expect(unsureIn(await between({ ...plain, more: [more] }, plain))).toEqual(['may tighten rule more'])
    const shadow = { ...more, mode: 'shadow' }
    const hidden = await between({ ...plain, more: [more] }, { ...plain, more: [shadow] })
    expect(unsureIn(hidden)).toEqual(['may tighten rule more'])
  })

  it('does not hide what the routing and the contract change', async () => {
    const when = { ...PREFIX, ...tables('t') }
    const routing = ['allow_up_to: medium', 'allow_up_to: high'] as const
    expect(unsureIn(await between({ when }, { when, routing }))).toEqual(['may loosen routing'])
    const wider = await between(
      {
        when: { 'sql_tables(payload.q)': { every: ['t'] } },
        schema: { q: { type: 'string', maxLength: 9 } },
      },
      {
        when: { 'sql_tables(payload.q)': { every: ['t'] } },
        schema: { q: { type: 'string', maxLength: 90 } },
      },
    )
    expect(gates(wider)).toEqual({ loosens: true, changes: true })
  })
})

describe('an example for more of the differences', () => {
  it('is the payload of an inline test of either bundle', async () => {
    const q = 'select /* audited */ a from secrets'
    const [before, after] = [
      { when: { ...PREFIX, ...tables('t') } },
      { when: { ...PREFIX, ...tables('t', 'secrets') } },
    ]
    const ran = await between(before, { ...after, tests: [{ allow: 'x', payload: { q } }] })
    expect(ran.tools[0]?.changes[0]).toMatchObject({
      direction: 'loosens',
      example: { call: { payload: { q } } },
    })
    expect(unsureIn(ran)).toEqual([])
    const rejected = await between({ ...before, tests: [{ reject: 'x', payload: { q } }] }, after)
    expect(rejected.tools[0]?.changes[0]).toMatchObject({ direction: 'loosens' })
  })

  it('combines functions, tables and clauses of one statement', async () => {
    const unless = (...names: string[]): JsonObject => ({
      'sql_functions(payload.q)': { some: { not: names } },
    })
    const diff = await between(
      { when: { ...WHERE, ...tables('orders') }, unless: unless('count') },
      { when: { ...WHERE, ...tables('orders') }, unless: unless('count', 'pg_sleep') },
    )
    expect(diff.tools[0]?.changes[0]).toMatchObject({ direction: 'loosens', after: 'allow/low' })
    expect(diff.tools[0]?.changes[0]?.example.call.payload['q']).toBe(
      'select pg_sleep() from orders where a = 1',
    )
  })
})

/** A call that tells the bundles apart in each direction. */
async function directionsOf(bundles: readonly [Bundle, Bundle], calls: readonly Call[], tool: string) {
  const sides = [createSide(bundles[0], tool), createSide(bundles[1], tool)] as const
  const found = new Map<Direction, Call>()
  for (const one of calls) {
    const direction = compareResults(await resultOf(sides[0], one), await resultOf(sides[1], one))
    if (direction !== undefined) found.set(direction, one)
  }
  return found
}

/** Checks that the gate fails whenever a drawn call loosens, and reports a change whenever one differs. */
async function holdsGate(
  files: readonly [Files, Files],
  calls: readonly Call[],
  tool: string,
): Promise<boolean> {
  const bundles = [await load(files[0]), await load(files[1])] as const
  const directions = await directionsOf(bundles, calls, tool)
  if (directions.size === 0) return false
  const diff = await diffBundles(...bundles)
  expect({ apart: directions.values().next().value, changes: changes(diff) }).toMatchObject({ changes: true })
  const looser = directions.get('loosens')
  if (looser) expect({ looser, loosens: loosens(diff) }).toMatchObject({ loosens: true })
  return diff.tools.some(({ doubts }) => doubts.length > 0)
}

const SOME = ['t', 'u', 's.t', 'secrets']
const FUNCTIONS = ['count', 'sum', 'pg_sleep']
const listTest = (names: readonly string[]): fc.Arbitrary<JsonValue> =>
  fc
    .tuple(fc.constantFrom('some', 'every', 'none'), fc.subarray([...names], { minLength: 1 }), fc.boolean())
    .map(([op, chosen, negated]) => ({ [op]: negated ? { not: chosen } : chosen }))
const line: fc.Arbitrary<JsonObject> = fc.oneof(
  listTest(SOME).map((test) => ({ 'sql_tables(payload.q)': test })),
  listTest(FUNCTIONS).map((test) => ({ 'sql_functions(payload.q)': test })),
  fc
    .tuple(fc.constantFrom('where', 'limit'), fc.boolean())
    .map(([clause, is]) => ({ [`sql_has(payload.q, ${clause})`]: is })),
  fc.constant(PREFIX),
  fc.nat(3).map((at_most) => ({ 'payload.n': { at_most } })),
)
const match = fc.array(line, { minLength: 1, maxLength: 3 }).map((all) => ({ all }))
const queryRule = fc.record({
  verdict: fc.constantFrom('allow', 'allow', 'review', 'reject'),
  when: match,
  unless: fc.option(match, { nil: undefined }),
})
const queryRules = fc.array(queryRule, { minLength: 1, maxLength: 3 })
const queries: fc.Arbitrary<Call> = fc
  .record({
    functions: fc.subarray(FUNCTIONS),
    from: fc.subarray(SOME),
    clause: fc.constantFrom('', ' where a = 1', ' limit 1', ' where a = 1 limit 1'),
    note: fc.constantFrom('', '/* audited */ '),
    n: fc.nat(4),
  })
  .map(({ functions, from, clause, note, n }) => {
    const columns = ['a', ...functions.map((name) => `${name}(a)`)].join(', ')
    const q = `select ${note}${columns}${from.length > 0 ? ` from ${from.join(', ')}${clause}` : ''}`
    return call({ q, n })
  })
const filesOf = (
  rules: readonly { verdict: string; when: JsonObject; unless?: JsonObject | undefined }[],
): Files => {
  const files = withQuery({})
  const written = rules.map(({ verdict, when, unless }, n) => ({
    id: `r${n}`,
    [verdict]: 'x',
    when,
    ...(unless && { unless }),
  }))
  return { ...files, 'rules/pay.yaml': JSON.stringify({ tool: 'pay', rules: written }) }
}

/** Two bundles, of which the second replaces, adds or removes a rule. */
const queryPairs = fc
  .tuple(queryRules, queryRule, fc.nat(2))
  .map(
    ([rules, other, at]) =>
      [filesOf(rules), filesOf(rules.map((one, n) => (n === at ? other : one)))] as const,
  )
const languagePairs = fc.tuple(languageBundles, languageBundles, fc.nat(3)).map(([before, other, at]) => {
  const [one, two] = [before, other].map(
    (files) => JSON.parse(String(files['rules/pay.yaml'])) as { rules: JsonObject[] },
  )
  const rules = one?.rules.map((rule, n) => (n === at ? { ...two?.rules[0], id: `r${n}` } : rule))
  return [before, { ...before, 'rules/pay.yaml': JSON.stringify({ ...one, rules }) }] as const
})

const RUNS = runs(400)
/** In the soak, 400 pairs with 250 calls: 100,000 calls. */
const CALLS = IS_LONG ? 250 : 60
const SEEDED = IS_LONG ? {} : { seed: 58 }

describe('two random bundles that decide drawn calls differently', () => {
  it('fail the gate: with queries that no search for examples covers', async () => {
    let sampled = 0
    const drawn = fc.array(queries, { minLength: CALLS, maxLength: CALLS })
    await fc.assert(
      fc.asyncProperty(queryPairs, drawn, async (files, calls) => {
        if (await holdsGate(files, calls, 'pay')) sampled++
      }),
      { numRuns: RUNS, ...SEEDED },
    )
    expect(sampled).toBeGreaterThan(RUNS / 5)
  }, 400_000)

  it('fail the gate: with the whole language', async () => {
    let sampled = 0
    const drawn = fc.array(languageCalls, { minLength: CALLS, maxLength: CALLS })
    await fc.assert(
      fc.asyncProperty(languagePairs, drawn, async (files, calls) => {
        if (await holdsGate(files, calls, LANGUAGE_TOOL)) sampled++
      }),
      { numRuns: RUNS, ...SEEDED },
    )
    expect(sampled).toBeGreaterThan(RUNS / 20)
  }, 400_000)
})

describe('a level that may be decided in a chat', () => {
  const chat = (keys: string): Query => ({
    when: tables('a'),
    routing: ['expires: 8h }', `expires: 8h${keys} }`],
  })

  it('loosens, and a shorter time since the console was used tightens', async () => {
    const [none, within, always] = [chat(''), chat(', chat: { signed_in_within: 15m }'), chat(', chat: true')]
    const made = await between(none, always)
    expect(gates(made)).toEqual({ loosens: true, changes: true })
    expect(printDiff(made)).toContain('LOOSENS level low: may be decided in a chat')
    expect(printMarkdown(made)).toContain('- `level low: may be decided in a chat`')
    const shorter = await between(always, within)
    expect(gates(shorter)).toEqual({ loosens: false, changes: true })
    expect(shorter.routing).toEqual([
      {
        direction: 'tightens',
        text: 'level low: may be decided in a chat by those who used the console within 15m',
      },
    ])
    expect(gates(await between(within, none))).toEqual({ loosens: false, changes: true })
  })
})
