import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../../../src/contract/json.ts'
import type { Bundle } from '../../../src/policy/diff/side.ts'
import { analyzeTool } from '../../../src/policy/diff/tool.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import { printExplanation } from '../../../src/policy/evaluate/explain.ts'
import { runs } from '../../runs.ts'
import { bundle, call, rules, snapshotOf } from '../support.ts'

const LINE = {
  type: 'object',
  properties: {
    sku: { type: 'string' },
    cents: { type: 'integer' },
    kind: { enum: ['x', 'y'], default: 'x' },
    parts: { type: 'array', items: { type: 'object', properties: { size: { type: 'integer' } } } },
  },
}
const contractOf = (line: object, more: object = {}): string =>
  JSON.stringify({
    tool: 'pay',
    description: 'd',
    risk: 'low',
    input_schema: { type: 'object', properties: { lines: { type: 'array', items: line } } },
    ...more,
  })

const filesOf = (when: JsonValue, { line = LINE as object, head = {}, tool = {} } = {}) =>
  bundle({
    'tools/pay.yaml': contractOf(line, tool),
    'rules/pay.yaml': JSON.stringify({ tool: 'pay', ...head, rules: [{ id: 'one', allow: 'R.', when }] }),
  })

/** The truth of a match for a call: an allow rule fires on true, and a reject rule also on unknown. */
async function truthsOf(
  when: JsonObject,
  payloads: readonly JsonObject[],
  more: Parameters<typeof filesOf>[1] = {},
): Promise<readonly string[]> {
  const snapshot = await snapshotOf(filesOf(when, more))
  return Promise.all(
    payloads.map(async (payload) => {
      const { rules } = await snapshot.explain(call(payload))
      return rules[0]?.conditions.answer ?? 'none'
    }),
  )
}

type Truth = 'yes' | 'no' | 'cannot tell'
const UNSURE: Truth = 'cannot tell'
const not = (one: Truth): Truth => (one === UNSURE ? one : one === 'yes' ? 'no' : 'yes')
const all = (them: readonly Truth[]): Truth =>
  them.includes('no') ? 'no' : them.includes(UNSURE) ? UNSURE : 'yes'

/** The language of entries, written a second time from the reference. */
function judge(test: JsonValue, value: JsonValue | undefined): Truth {
  if (test === 'missing') return value === null ? UNSURE : value === undefined ? 'yes' : 'no'
  if (typeof test !== 'object' || test === null)
    return typeof value === typeof test ? (value === test ? 'yes' : 'no') : UNSURE
  return all(Object.entries(test as JsonObject).map(([key, inner]) => judgeLine(key, inner, value)))
}

function judgeLine(key: string, inner: JsonValue, value: JsonValue | undefined): Truth {
  if (key === 'any') return not(all((inner as JsonValue[]).map((one) => not(judge(one, value)))))
  if (key === 'not') return not(judge(inner, value))
  if (key.startsWith('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return UNSURE
    const own = (value as JsonObject)[key.slice(1)]
    return judge(inner, own === undefined && key === '.kind' && inner !== 'missing' ? 'x' : own)
  }
  if (key === 'over') return typeof value === 'number' ? (value > (inner as number) ? 'yes' : 'no') : UNSURE
  if (!Array.isArray(value)) return UNSURE
  const entries = value as readonly JsonValue[]
  if (key === 'every') return entries.length === 0 ? UNSURE : all(entries.map((one) => judge(inner, one)))
  const some = not(all(entries.map((one) => not(judge(inner, one)))))
  if (key === 'some') return some
  if (key === 'none') return not(some)
  const { where, over } = inner as { where: JsonValue; over: number }
  const truths = entries.map((one) => judge(where, one))
  const least = truths.filter((one) => one === 'yes').length
  const most = truths.filter((one) => one !== 'no').length
  return least > over ? 'yes' : most > over ? UNSURE : 'no'
}

const cents = fc.integer({ min: 0, max: 3 })
const memberLine: fc.Arbitrary<JsonObject> = fc.oneof(
  cents.map((over) => ({ '.cents': { over } })),
  fc.constantFrom('a', 'b', 'missing').map((sku) => ({ '.sku': sku })),
  fc.constantFrom('x', 'y', 'missing').map((kind) => ({ '.kind': kind })),
  fc
    .tuple(fc.constantFrom('some', 'none', 'every'), cents)
    .map(([op, over]) => ({ '.parts': { [op]: { '.size': { over } } } })),
)
const { entry } = fc.letrec<{ entry: JsonObject }>((tie) => ({
  entry: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    memberLine,
    fc.tuple(memberLine, memberLine).map(([one, other]) => ({ ...one, ...other })),
    tie('entry').map((inner) => ({ not: inner })),
    fc.array(tie('entry'), { minLength: 1, maxLength: 2 }).map((any) => ({ any })),
  ),
}))
const test: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.tuple(fc.constantFrom('some', 'every', 'none'), entry).map(([op, one]) => ({ [op]: one })),
  fc.tuple(entry, fc.integer({ min: 0, max: 2 })).map(([where, over]) => ({ count: { where, over } })),
)
const part = fc.record({ size: cents }, { requiredKeys: [] })
const line: fc.Arbitrary<JsonValue> = fc.record(
  {
    sku: fc.constantFrom('a', 'b', 'c'),
    cents,
    kind: fc.constantFrom('x', 'y'),
    parts: fc.array(part, { maxLength: 2 }),
  },
  { requiredKeys: [] },
)
const anyLine = fc.oneof({ weight: 6, arbitrary: line }, fc.constantFrom<JsonValue>(null, 1, 'a', [[]]))

describe('a match about the entries of a list', () => {
  it('means what the reference says, for random matches and payloads', async () => {
    await fc.assert(
      fc.asyncProperty(
        test,
        fc.array(fc.array(anyLine, { maxLength: 3 }), { minLength: 8 }),
        async (lines, all) => {
          const payloads = all.map((one) => ({ lines: one }))
          const found = await truthsOf({ 'payload.lines': lines }, payloads)
          expect(found).toEqual(all.map((one) => judge(lines, one)))
        },
      ),
      { numRuns: runs(2_000) },
    )
  })

  const hazard = { 'payload.lines': { some: { '.sku': { starts_with: 'X-' }, '.cents': { over: 100 } } } }

  it('is about one entry, not about members of several', async () => {
    const apart = {
      lines: [
        { sku: 'X-1', cents: 1 },
        { sku: 'A', cents: 500 },
      ],
    }
    const both = {
      lines: [
        { sku: 'A', cents: 1 },
        { sku: 'X-1', cents: 101 },
      ],
    }
    expect(await truthsOf(hazard, [apart, both, { lines: [] }, { lines: ['x'] }])).toEqual([
      'no',
      'yes',
      'no',
      'cannot tell',
    ])
  })

  it('takes `missing_means` for a member of every entry, also of null, and per test', async () => {
    const when = { 'payload.lines': { some: { '.cents': { over: 100 } } } }
    const payloads = [{ lines: [{}] }, { lines: [{ cents: null }] }]
    const meaning = (value: JsonValue) => ({ head: { missing_means: { 'payload.lines[].cents': value } } })
    expect(await truthsOf(when, payloads)).toEqual(['cannot tell', 'cannot tell'])
    expect(await truthsOf(when, payloads, meaning('nothing'))).toEqual(['no', 'no'])
    expect(await truthsOf(when, payloads, meaning(101))).toEqual(['yes', 'yes'])
    const deep = { 'payload.lines': { some: { '.parts': { some: { '.size': { over: 1 } } } } } }
    const head = { missing_means: { 'payload.lines[].parts[].size': 2 } }
    expect(await truthsOf(deep, [{ lines: [{ parts: [{}] }] }], { head })).toEqual(['yes'])
  })

  it('names the entry and the member that decided, and hides only a sensitive one', async () => {
    const lines = [
      { sku: 'A', cents: 500 },
      { sku: 'X-9', cents: 101, parts: [{ size: 9 }] },
    ]
    const when = {
      'payload.lines': {
        some: { '.sku': { starts_with: 'X-' }, '.cents': { over: 100 }, '.parts': { some: { '.size': 9 } } },
      },
    }
    const made = call({ lines })
    const reasons = async (tool: object) => {
      const snapshot = await snapshotOf(filesOf(when, { tool }))
      const { fired } = await snapshot.decide(made)
      return { because: snapshot.withReasons(made, fired)[0]?.because, snapshot }
    }
    const { because, snapshot } = await reasons({})
    expect(because).toEqual([
      { field: 'payload.lines[1].sku', value: 'X-9' },
      { field: 'payload.lines[1].cents', value: 101 },
      { field: 'payload.lines[1].parts[0].size', value: 9 },
    ])
    const text = printExplanation(await snapshot.explain(made))
    expect(text).toContain('payload.lines some (.sku starts_with X- and .cents over 100')
    expect(text).toContain('\n                payload.lines[1].cents 101\n')
    const hidden = await reasons({ sensitive: ['payload.lines[1].sku'] })
    expect(hidden.because?.slice(0, 2)).toEqual([
      { field: 'payload.lines[1].sku', hidden: true },
      { field: 'payload.lines[1].cents', value: 101 },
    ])
  })
})

it('explains the command of a line that decided', async () => {
  const when = { 'shell_commands(payload.note)': { some: { '.program': 'rm' } } }
  const snapshot = await snapshotOf(
    bundle({ 'rules/pay.yaml': rules(`  - ${JSON.stringify({ id: 'a', reject: 'R.', when })}\n`) }),
  )
  const text = printExplanation(await snapshot.explain(call({ note: 'ls | rm -r x > y' })))
  expect(text).toContain('("ls | rm -r x > y" gives [ls, rm -r x > y])')
  expect(text).toContain('payload.note gives "rm -r x > y"\n')
})

async function bundleWith(when: JsonValue): Promise<Bundle> {
  const texts = Object.entries(filesOf(when)).map(([path, text]) => ({ path, text }))
  const prepared = await prepareBundle(texts)
  if (!prepared.ok) throw new Error(JSON.stringify(prepared.diagnostics))
  return prepared
}

describe('the difference of two bundles about entries', () => {
  it('is never "no change" when calls tell them apart', async () => {
    await fc.assert(
      fc.asyncProperty(
        test,
        test,
        fc.array(fc.array(line, { maxLength: 3 }), { minLength: 30, maxLength: 30 }),
        async (one, other, payloads) => {
          const [before, after] = [
            await bundleWith({ 'payload.lines': one }),
            await bundleWith({ 'payload.lines': other }),
          ]
          const { found, unsure } = await analyzeTool([before, after], 'pay')
          if (found.length + unsure.length > 0) return
          for (const lines of payloads) {
            const made = call({ lines })
            const [old, current] = [await before.snapshot.judge(made), await after.snapshot.judge(made)]
            expect(current.verdict).toBe(old.verdict)
          }
        },
      ),
      { numRuns: runs(1_000) },
    )
  })

  it('finds a moved threshold among eight matches over four members, and is complete', async () => {
    const matchOf = (n: number, over: number) => ({
      'payload.lines': {
        [n % 2 === 0 ? 'some' : 'none']: {
          '.a': { over },
          '.b': { under: 7 * n },
          '.c': { starts_with: `k${n}` },
          '.d': 'xyz'[n % 3],
        },
      },
    })
    const integer = { type: 'integer' }
    const properties = { a: integer, b: integer, c: { type: 'string' }, d: { enum: ['x', 'y', 'z'] } }
    const item = { type: 'object', additionalProperties: false, required: ['a', 'b', 'c', 'd'], properties }
    const tools = JSON.stringify({
      tool: 'pay',
      description: 'd',
      risk: 'low',
      input_schema: {
        type: 'object',
        required: ['lines'],
        additionalProperties: false,
        properties: { lines: { type: 'array', items: item } },
      },
    })
    const of = async (moved: number): Promise<Bundle> => {
      const matches = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => matchOf(n, n === 3 ? moved : 10 * n))
      const rules = matches.map((when, n) => ({
        id: `r${n}`,
        review: 'R.',
        risk: ['medium', 'high', 'critical'][n % 3],
        when,
      }))
      const text = JSON.stringify({ tool: 'pay', rules: [{ id: 'ok', allow: 'A.' }, ...rules] })
      const files = Object.entries(bundle({ 'tools/pay.yaml': tools, 'rules/pay.yaml': text }))
      const prepared = await prepareBundle(files.map(([path, own]) => ({ path, text: own })))
      if (!prepared.ok) throw new Error(JSON.stringify(prepared.diagnostics))
      return prepared
    }
    const { found, doubts } = await analyzeTool([await of(30), await of(35)], 'pay')
    expect(doubts).toEqual([])
    expect(found.map(({ change }) => [change.direction, change.example.afterBy])).toContainEqual([
      'tightens',
      ['r3'],
    ])
  })
})
