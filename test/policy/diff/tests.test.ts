import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../../src/contract/json.ts'
import { VERDICTS } from '../../../src/domain/decision.ts'
import type { Bundle } from '../../../src/policy/diff/side.ts'
import { analyzeTool, diffTool } from '../../../src/policy/diff/tool.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import type { Call, Outcome } from '../../../src/policy/language/snapshot.ts'
import { bundle, call } from '../support.ts'
import { IS_LONG, runs } from '../../runs.ts'
import { holds } from './cells.ts'

/**
 * Every kind of test, field and function of the language, one line to a rule or two. Random calls come close to their
 * limits.
 */
const RUNS = runs(1_000)
/** A seed under which few runs meet what the tally asks for. */
const SEEDED = IS_LONG ? {} : { seed: 3 }
const CALLS = 30

const PARTS = ['ab', 'a', 'b', 'acme.com', '.io', '/x', 'x', 'select', 'drop', ' ', '@', 'https://', 'é', '*']
const part = fc.constantFrom('ab', 'a', 'b', 'acme', 'x/')
const textTest = fc.oneof(
  fc.record({ starts_with: part }),
  fc.record({ ends_with: part }),
  fc.record({ contains: part }),
  fc.record({ like: fc.constantFrom('a*', '*a*b*', 'x/*', '*b', 'a*a') }),
  fc.record({
    matches: fc.constantFrom('^a+$', '\\bab\\b', '[^a-c]', '(?i)acme$', '^(a|b){2}$', '^.b', '\\d'),
  }),
  fc.record({ is: fc.constantFrom('a', 'ab', 'x/ab', 'acme.com') }),
  fc.record({ not: fc.constantFrom('a', ['ab', 'b']) }),
)
const listTest = fc.oneof(
  fc.record({ some: textTest }),
  fc.record({ every: textTest }),
  fc.record({ none: textTest }),
  fc.record({ contains: part }),
  fc.record({
    count: fc.oneof(fc.record({ over: fc.nat(3) }), fc.record({ at_most: fc.nat(3) }), fc.nat(3)),
  }),
)
const numberTest = fc.oneof(
  fc.record({ over: fc.constantFrom(0, 1.5, 2) }),
  fc.record({ under: fc.constantFrom(0, 1, 2.25), at_least: fc.constantFrom(-1, 0) }),
  fc.record({ is: fc.constantFrom(0, 1, 1.5) }),
)
const presence = fc.constantFrom('missing', 'present')
const verbs = fc.constantFrom('select', 'drop', ['select', 'update'])
const verbsTest = fc.oneof(
  fc.record({ some: verbs }),
  fc.record({ every: verbs }),
  fc.record({ none: verbs }),
)
const called = fc.constantFrom('f', 'g', ['f', 's.f'])
const calledTest = fc.oneof(
  fc.record({ some: called }),
  fc.record({ every: called }),
  fc.record({ none: called }),
  fc.record({ some: fc.record({ not: called }) }),
)
const verbCount = fc
  .integer({ min: 1, max: 3 })
  .chain((n) => fc.constantFrom({ count: { over: n } }, { count: { at_most: n } }, { count: n }))
const line: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  ...Object.entries({
    'payload.note': fc.oneof(textTest, presence),
    'payload.other': textTest,
    'payload.flag': fc.constantFrom(true, false, 'missing'),
    'payload.n': fc.oneof(numberTest, presence),
    'payload.list': fc.oneof(listTest, presence),
    'payload.list[0]': fc.oneof(textTest, presence),
    'payload.list[1]': fc.record({ is: part }),
    'payload.deep': presence,
    'payload.deep.in': fc.oneof(textTest, presence),
    'payload.deep.n': numberTest,
    'domain(payload.mail)': fc.oneof(
      fc.record({ is: fc.constant('acme.com') }),
      fc.record({ ends_with: fc.constant('.io') }),
    ),
    'domain(payload.list)': fc.oneof(
      fc.record({ some: fc.record({ not: fc.constant('acme.com') }) }),
      fc.record({ every: fc.constant('acme.com') }),
    ),
    'host(payload.url)': fc.oneof(
      fc.record({ is: fc.constant('acme.com') }),
      fc.record({ ends_with: fc.constant('.io') }),
    ),
    'path(payload.file)': fc.oneof(
      fc.record({ is: fc.constant('/x') }),
      fc.record({ starts_with: fc.constant('/x/') }),
    ),
    'sql_verbs(payload.sql)': fc.oneof(verbsTest, verbCount),
    'sql_functions(payload.sql)': fc.oneof(calledTest, verbCount),
    'sql_functions(payload.list)': calledTest,
    'origin(payload.url)': fc.oneof(
      fc.record({ is: fc.constantFrom('https://acme.com', 'https://acme.com:8443') }),
      fc.record({ ends_with: fc.constant('.io') }),
    ),
    'sql_verbs(payload.list)': fc.oneof({ weight: 4, arbitrary: verbsTest }, verbCount),
    'agent.id': fc.oneof(fc.record({ is: fc.constantFrom('bot', 'ab') }), textTest),
    'agent.owners': verbsTest,
    'task.workflow': fc.oneof(textTest, presence),
    'tool.labels': fc.record({ some: fc.constantFrom('money', ['money', 'x']) }),
    'time.date': fc.oneof(
      fc.record({ is: fc.constantFrom('2026-11-16', ['2026-11-14', '2026-11-18']) }),
      fc.record({ from: fc.constantFrom('2026-11-15', '2026-11-17') }),
      fc.record({ from: fc.constant('2026-11-14'), until: fc.constantFrom('2026-11-15', '2026-11-17') }),
      fc.record({ not: fc.record({ until: fc.constant('2026-11-16') }) }),
      fc.record({ ends_with: fc.constant('-16') }),
    ),
    'time.day': fc.oneof(
      fc.record({ at_least: fc.constantFrom(15, 17) }),
      fc.record({ is: fc.constant(16) }),
    ),
    'time.weekday': fc.constantFrom('mon', ['sat', 'sun']),
    'time.hour': fc.record({ at_least: fc.constantFrom(9, 12), under: fc.constantFrom(13, 18) }),
  }).map(([field, test]) => fc.record({ [field]: test as fc.Arbitrary<unknown> })),
)
const rule = fc.record({
  verdict: fc.constantFrom(...VERDICTS),
  when: fc.option(line),
  unless: fc.option(line),
  from: fc.nat(6).map((n) => (n === 0 ? '2026-11-15' : null)),
  until: fc.nat(6).map((n) => (n === 0 ? '2026-11-16' : null)),
})
type Rule = typeof rule extends fc.Arbitrary<infer T> ? T : never

const CONTRACT = `tool: pay
description: d
risk: low
labels: [money]
input_schema:
  type: object
  additionalProperties: false
  properties:
    note: { type: string }
    other: { type: [string, number] }
    flag: { type: boolean, default: false }
    n: { type: number, maximum: 10 }
    list: { type: array, items: { type: string } }
    deep: { type: object, properties: { in: { type: string }, n: { type: number } } }
    mail: { type: string }
    url: { type: string }
    file: { type: string }
    sql: { type: string }
`
const ruleJson = ({ verdict, when, unless, from, until }: Rule, n: number): object => ({
  id: `r${n}`,
  [verdict]: 'Because.',
  ...(when && { when }),
  ...(unless && { unless }),
  ...(from && { from }),
  ...(until && { until }),
})
const bundleOf = async (rules: readonly Rule[]): Promise<Bundle> => {
  const text = JSON.stringify({ tool: 'pay', rules: rules.map(ruleJson) })
  const files = Object.entries(bundle({ 'tools/pay.yaml': CONTRACT, 'rules/pay.yaml': text }))
  const prepared = await prepareBundle(files.map(([path, content]) => ({ path, text: content })))
  if (!prepared.ok) throw new Error(JSON.stringify(prepared.diagnostics))
  return prepared
}

const text = fc.oneof(
  fc.array(fc.constantFrom(...PARTS), { maxLength: 4 }).map((parts) => parts.join('')),
  fc.constantFrom(
    'a@acme.com',
    'a@x.io',
    'https://acme.com/',
    'http://y.io',
    '/x/a',
    '/x',
    '/x/../y',
    'select a',
    'select f(a)',
    'select f(), g()',
    'select s.f(1), h()',
    'https://acme.com:8443/',
    'drop x; select y',
    'update t',
    'ab acme',
  ),
)
const payloads = fc.record(
  {
    note: text,
    other: fc.oneof(text, fc.constant(1)),
    flag: fc.boolean(),
    n: fc.constantFrom(-2, -1, -0.5, 0, 0.5, 1, 1.5, 1.75, 2, 2.1, 3, 10),
    list: fc.array(text, { maxLength: 5 }),
    deep: fc.record({ in: text, n: fc.integer({ min: -2, max: 3 }) }, { requiredKeys: [] }),
    mail: text,
    url: text,
    file: text,
    sql: text,
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Record<string, JsonValue>>
const HOUR_MS = 3_600_000
const calls: fc.Arbitrary<Call> = fc
  .record({
    payload: payloads,
    agent: fc.constantFrom('bot', 'ab', 'b', 'other'),
    workflow: fc.option(fc.constantFrom('a', 'ab', 'x/b', 'zz'), { nil: undefined }),
    owners: fc.uniqueArray(fc.constantFrom('select', 'drop', 'ann'), { maxLength: 2 }),
    hours: fc.integer({ min: -100, max: 100 }),
  })
  .map(({ payload, agent, owners, workflow, hours }) => {
    const base = call(payload)
    return {
      ...base,
      agent,
      owners,
      at: base.at + hours * HOUR_MS,
      ...(workflow !== undefined && { workflow }),
    }
  })

const key = ({ verdict, risk, requirement }: Outcome): string =>
  JSON.stringify([verdict, risk, requirement?.seats])

describe('the difference of rules with every kind of test', () => {
  it('a complete difference covers exactly the calls that changed', async () => {
    const tally = { complete: 0, differing: 0 }
    const rules = fc.array(rule, { minLength: 1, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(
        rules,
        rule,
        fc.array(calls, { minLength: CALLS, maxLength: CALLS }),
        async (one, added, drawn) => {
          const [before, after] = [await bundleOf(one), await bundleOf([...one.slice(1), added])]
          const { found, dimensions, doubts } = await analyzeTool([before, after], 'pay')
          if (doubts.length === 0) tally.complete++
          for (const at of drawn) {
            const changed = key(await before.snapshot.judge(at)) !== key(await after.snapshot.judge(at))
            const covering = found.filter(({ boxes }) => boxes.some((box) => holds(box, dimensions, at)))
            if (changed) tally.differing++
            if (!changed) expect(covering).toEqual([])
            else if (doubts.length === 0) expect(covering).toHaveLength(1)
          }
        },
      ),
      { ...SEEDED, numRuns: RUNS },
    )
    expect(tally.complete).toBeGreaterThan(RUNS * 0.7)
    expect(tally.differing).toBeGreaterThan(RUNS)
  }, 400_000)
})

describe('the difference of rules about the verbs of a list of texts', () => {
  const tool = (list: string): string =>
    `tool: pay\ndescription: d\nrisk: low\ninput_schema: { type: object, required: [list], properties: { list: ${list} } }\n`
  /** The changes between two allow rules, without the changes that appear only at a higher risk_level. */
  const changesOf = async (
    list: string,
    before: string,
    after: string,
  ): Promise<{ readonly doubts: number; readonly shown: readonly string[] }> => {
    const [old, current] = await Promise.all(
      [before, after].map(async (test) => {
        const rule = `tool: pay\nrules: [{ id: a, allow: A., when: { sql_verbs(payload.list): ${test} } }]\n`
        const files = Object.entries(bundle({ 'tools/pay.yaml': tool(list), 'rules/pay.yaml': rule }))
        const prepared = await prepareBundle(files.map(([path, content]) => ({ path, text: content })))
        if (!prepared.ok) throw new Error(JSON.stringify(prepared.diagnostics))
        return prepared
      }),
    )
    if (!old || !current) throw new Error('two bundles are meant')
    const { changes, doubts } = await diffTool([old, current], 'pay')
    const shown = changes.filter(({ raised }) => !raised)
    return {
      doubts: doubts.length,
      shown: shown.map((one) => `${one.direction} ${one.before} -> ${one.after} ${one.where.join(' or ')}`),
    }
  }

  it('finds a newly permitted verb', async () => {
    const texts = '{ type: array, items: { type: string } }'
    expect(await changesOf(texts, '{ every: select }', '{ every: [select, drop] }')).toEqual({
      doubts: 0,
      shown: [
        'loosens reject/low -> allow/low when sql_verbs(payload.list) not every is select and sql_verbs(payload.list) every is one of select, drop',
      ],
    })
  })

  it('finds a change in the number of verbs of one text, and reports itself as incomplete', async () => {
    const one = '{ type: array, maxItems: 1, items: { type: string } }'
    expect(await changesOf(one, '{ count: { at_most: 4 } }', '{ count: { at_most: 5 } }')).toEqual({
      doubts: 1,
      shown: [
        'loosens reject/low -> allow/low when sql_verbs(payload.list) not count at_most 4 and sql_verbs(payload.list) count at_most 5',
      ],
    })
  })
})
