import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { JsonValue } from '../../../src/contract/json.ts'
import type { Outcome } from '../../../src/policy/language/snapshot.ts'
import type { Bundle } from '../../../src/policy/diff/side.ts'
import { analyzeTool } from '../../../src/policy/diff/tool.ts'
import {
  cutsOf,
  OPERATORS,
  WRITTEN_NAMES,
  type Operator,
  type OperatorName,
  type Test,
} from '../../../src/policy/language/operators.ts'
import { describeTest } from '../../../src/policy/language/words.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import { runs } from '../../runs.ts'
import { holds } from '../diff/cells.ts'
import { bundle, call, diagnose, rules } from '../support.ts'

const rowOf = (name: OperatorName): Operator<'number' | 'texts'> =>
  OPERATORS[name] as Operator<'number' | 'texts'>

/** An operator that takes texts gets the texts of this list that it does not refuse. */
const TEXTS = [
  'a',
  'b',
  'ab',
  'a*',
  '*b',
  '10.0.0.0/8',
  '10.1.0.0/16',
  '2001:db8::/32',
  '2026-12-20',
  '2027-02-28',
]
const VALUE_TEXTS = [
  '',
  'a',
  'ba',
  'aXb',
  '10.0.0.1',
  '10.1.2.3',
  '11.0.0.0',
  '2001:db8::1',
  '::1',
  'e\u0301',
  '2026-12-19',
  '2026-12-20',
  '2027-02-28',
  '2027-02-30',
  '2027-2-28',
]
const LISTS: readonly JsonValue[] = [[], ['a'], ['b', 'a'], [1], ['10.1.2.3', null], ['a', 'a', 'a']]
const VALUES: readonly JsonValue[] = [...VALUE_TEXTS, ...LISTS, 0, 1, 2, 2.5, true, false, null, {}]

/** Operands as a rule file has them. */
function operandsOf(name: OperatorName): fc.Arbitrary<JsonValue> {
  const row = rowOf(name)
  const texts = TEXTS.filter((text) => row.refuses?.(text, name) === undefined)
  const words = fc.uniqueArray(fc.constantFrom(...texts), { minLength: 1, maxLength: 2 })
  const extremes = [-1, 0.5, Number.MAX_SAFE_INTEGER].filter((n) => row.refuses?.(n, name) === undefined)
  const numbers = fc.integer({ min: 0, max: 3 })
  if (row.operand === 'number') return fc.oneof(numbers, fc.constantFrom(...extremes, 1))
  if (row.operand === 'texts' || row.operand === 'scalars') return words
  const tests = words.map((starts_with) => ({ starts_with }))
  if (row.operand !== 'length test') return fc.oneof(fc.constantFrom('a', 'b'), tests)
  const bounds = numbers.map((over) => ({ over }))
  return fc.oneof(numbers, bounds)
}

/** The operators whose operand holds the literals that they compare with. */
const WITH_LITERALS = WRITTEN_NAMES.filter((name) =>
  ['number', 'texts', 'scalars'].includes(rowOf(name).operand),
)

const PAIRS_OF: Partial<Record<OperatorName, readonly string[]>> = {
  in_network: ['10.1.0.0/16', '10.2.0.0/16'],
  from: ['2026-12-20', '2027-01-31'],
  until: ['2026-12-20', '2027-01-31'],
}

/** Two texts, none of which is an example of any other test. */
const pairOf = (name: OperatorName): readonly string[] => PAIRS_OF[name] ?? ['quite', 'other']

const values: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom(...VALUES),
  fc.string({ unit: fc.constantFrom('a', 'b', '1', '0', '.', ':'), maxLength: 6 }),
  fc.array(fc.constantFrom('a', 'b', 'ab'), { maxLength: 3 }),
)

const CONTRACT = 'tool: pay\ndescription: d\nrisk: low\ninput_schema: { type: object }\n'

async function bundleWith(test: JsonValue): Promise<Bundle> {
  const rule = { id: 'one', allow: 'Reason.', when: { 'payload.x': test } }
  const files = bundle({
    'tools/pay.yaml': CONTRACT,
    'rules/pay.yaml': JSON.stringify({ tool: 'pay', rules: [rule] }),
  })
  const prepared = await prepareBundle(Object.entries(files).map(([path, text]) => ({ path, text })))
  if (!prepared.ok) throw new Error(JSON.stringify(prepared.diagnostics))
  return prepared
}

function testIn({ ir }: Bundle): Test {
  const when = ir.ruleFiles[0]?.rules[0]?.when
  if (when?.kind !== 'leaf') throw new Error('the rule has no single test')
  return when.test
}

const isOpaque = (made: Bundle): boolean => cutsOf(testIn(made)).opaque === true

const keyOf = ({ verdict, risk }: Outcome): string => `${verdict}/${risk}`

/** Pairs of tests of one operator, and calls of an operator: as many of each pair. */
const PAIRS = 4
const CALLS = runs(50_000)

describe('an operator that refuses numbers', () => {
  const problem = { code: 'bad-value' as const, message: '`at_most` counts from 0', hint: 'write 0' }
  const refusing = (): void => {
    const row: Operator<'number'> = OPERATORS.at_most
    Object.assign(row, { refuses: (n: number) => (Number.isInteger(n) && n >= 0 ? undefined : problem) })
    onTestFinished(() => void Reflect.deleteProperty(row, 'refuses'))
  }
  const found = async (test: string): Promise<unknown> => {
    const text = rules(`  - { id: a, allow: A., when: { payload.amount: ${test} } }`)
    const all = await diagnose(bundle({ 'rules/pay.yaml': text }))
    return all
      .filter(({ severity }) => severity === 'error')
      .map(({ code, line, column, message }) => ({ code, line, column, message }))
  }

  it.each([
    ['{ at_most: -1 }', 60],
    ['{ at_most: 0.5 }', 60],
    ['{ not: { at_most: -1 } }', 67],
    ['{ at_least: 1, at_most: -1 }', 73],
  ])('%s is an error at the place of the number', async (test, column) => {
    refusing()
    expect(await found(test)).toEqual([{ code: 'bad-value', line: 3, column, message: problem.message }])
  })

  it('permits every other number, and other operators every number', async () => {
    refusing()
    expect(await found(`{ at_most: ${Number.MAX_SAFE_INTEGER} }`)).toEqual([])
    expect(await found('{ at_least: -1 }')).toEqual([])
  })
})

describe('every operator', () => {
  it.each(WRITTEN_NAMES)(
    `%s: ${CALLS} random calls differ nowhere that the comparison reports as equal`,
    async (name) => {
      const tests = operandsOf(name).map((operand): JsonValue => ({ [name]: operand }))
      const pairs = fc.sample(fc.tuple(tests, tests), { numRuns: PAIRS, seed: 11 })
      let compared = 0
      for (const [n, [before, after]] of pairs.entries()) {
        const bundles = [await bundleWith(before), await bundleWith(after)] as const
        const { found, dimensions, doubts } = await analyzeTool(bundles, 'pay')
        const isSame = JSON.stringify(before) === JSON.stringify(after)
        expect({ name, sampled: doubts.length > 0 }).toEqual({
          name,
          sampled: isOpaque(bundles[0]) && !isSame,
        })
        if (doubts.length > 0) continue
        const drawn = fc.sample(fc.option(values, { nil: undefined }), { numRuns: CALLS / PAIRS, seed: n })
        for (const x of drawn) {
          const at = call(x === undefined ? {} : { x })
          const [old, current] = [await bundles[0].snapshot.judge(at), await bundles[1].snapshot.judge(at)]
          const covering = found.filter(({ boxes }) => boxes.some((box) => holds(box, dimensions, at)))
          expect({ x, changed: covering.length > 0 }).toEqual({ x, changed: keyOf(old) !== keyOf(current) })
          compared++
        }
      }
      expect(compared > 0 || isOpaque(await bundleWith(pairs[0]?.[0] ?? null))).toBe(true)
    },
  )

  it.each(WITH_LITERALS)('%s: no claim rests on examples when its cuts are unknown', async (name) => {
    const cuts = vi.spyOn(rowOf(name), 'cuts').mockReturnValue({ opaque: true })
    onTestFinished(() => cuts.mockRestore())
    const [one, another] = rowOf(name).operand === 'number' ? [1, 2] : pairOf(name)
    const inList = rowOf(name).of === 'number' ? 'count' : 'some'
    for (const wrap of [(test: JsonValue) => test, (test: JsonValue) => ({ [inList]: test })]) {
      const bundles = [await bundleWith(wrap({ [name]: one })), await bundleWith(wrap({ [name]: another }))]
      const { doubts } = await analyzeTool(bundles as [Bundle, Bundle], 'pay')
      expect(doubts).toEqual(['not every kind of payload.x has an example'])
      const claims = bundles.flatMap(({ ir }) => ir.head.diagnostics.map(({ code }) => code))
      expect(claims.filter((code) => code !== 'untested-rule')).toEqual([])
    }
  })

  it.each(WRITTEN_NAMES)('%s checks, and has its own words', async (name) => {
    const [operand = null] = fc.sample(operandsOf(name), { numRuns: 1, seed: 3 })
    expect(describeTest(testIn(await bundleWith({ [name]: operand })))).toContain(name)
    const files = bundle({
      'rules/pay.yaml': `tool: pay\nrules: [{ id: a, allow: b, when: { payload.x: { ${name}x: 1 } } }]\n`,
    })
    const [problem] = (await diagnose(files)).filter(({ code }) => code === 'unknown-test')
    expect(problem?.hint).toContain(name)
  })
})
