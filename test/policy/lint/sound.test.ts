import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../../../src/contract/json.ts'
import { RISKS, VERDICTS } from '../../../src/domain/decision.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import type { CompiledSnapshot } from '../../../src/policy/evaluate/compile.ts'
import type { Diagnostic } from '../../../src/policy/report/diagnostics.ts'
import { bundle, NOON } from '../support.ts'
import { runs } from '../../runs.ts'

/**
 * The analysis is sound: its claims about a rule hold for every call. The test makes random bundles. It makes this many
 * random calls for each bundle with a claim. Their payloads fit the contract and are near the limits of the rules.
 */
const CALLS = runs(20_000)
const BUNDLES = runs(3_000)

const contract = (tool: string, amount: string): string => `tool: ${tool}
description: d
risk: low
labels: [${tool === 'pay' ? 'money' : 'money, outbound'}]
input_schema:
  type: object
  additionalProperties: false
  required: [size]
  properties:
    size: { type: integer, minimum: 1, maximum: 4 }
    amount: ${amount}
    share: { type: number }
    even: { type: integer, multipleOf: 2 }
    half: { type: number, multipleOf: 0.5, minimum: 1.2, maximum: 3.8 }
    note: { type: string }
    kind: { enum: [a, b, c], default: b }
    to: { type: array, maxItems: 3, items: { type: string } }
    flag: { type: [boolean, 'null'] }
    deep: { type: object, default: {}, properties: { level: { type: integer, default: 2 } } }
    any: true
`
const TOOLS = {
  'tools/pay.yaml': contract('pay', '{ type: integer, minimum: 0 }'),
  'tools/wire.yaml': contract('wire', '{ type: [integer, "null"], minimum: 0, maximum: 9 }'),
}

// ---- random rules ----

const small = fc.integer({ min: 2, max: 3 })
const text = fc.constantFrom('ab', 'abc', 'b', 'x')
const pattern = fc.constantFrom('a*', '*c', '*b*', 'a*c', 'ab')
const numberTest: fc.Arbitrary<JsonValue> = fc.oneof(
  small,
  ...['over', 'at_least', 'under', 'at_most'].map((op) => small.map((limit) => ({ [op]: limit }))),
  fc.record({ over: small, under: small }),
  small.map((limit) => ({ not: limit })),
)
const textTest: fc.Arbitrary<JsonValue> = fc.oneof(
  text,
  ...['starts_with', 'ends_with', 'contains', 'not'].map((op) => text.map((part) => ({ [op]: part }))),
  pattern.map((like) => ({ like })),
  fc.record({ starts_with: text, ends_with: text }),
  fc.constant({ matches: '^a' }),
)
const listTest: fc.Arbitrary<JsonValue> = fc.oneof(
  ...['some', 'every', 'none'].map((op) => textTest.map((inner) => ({ [op]: inner }))),
  text.map((member) => ({ contains: member })),
  fc.constantFrom({ count: { over: 1 } }, { count: 0 }, { count: { at_most: 2 } }),
)
const kindTest: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength: 1 }),
  fc.constantFrom('a', 'b').map((kind) => ({ not: kind })),
)
const presence = fc.constantFrom<JsonValue>('missing', 'present')
const line = fc
  .oneof(
    fc.tuple(fc.constantFrom('size', 'amount', 'share', 'even', 'half', 'deep.level'), numberTest),
    fc.tuple(fc.constantFrom('note', 'any'), textTest),
    fc.tuple(fc.constant('to'), listTest),
    fc.tuple(fc.constant('kind'), kindTest),
    fc.tuple(fc.constant('flag'), fc.boolean()),
    fc.tuple(fc.constantFrom('amount', 'note', 'to', 'kind', 'size', 'deep.level'), presence),
  )
  .map(([field, test]): JsonObject => ({ [`payload.${field}`]: test }))
const fact = fc.oneof(
  fc.constantFrom<JsonObject>(
    { 'tool.labels': { some: 'outbound' } },
    { 'tool.name': 'pay' },
    { 'task.workflow': 'w' },
    { 'domain(payload.note)': { not: 'acme.com' } },
    { 'domain(payload.to)': { every: 'acme.com' } },
    { 'path(payload.note)': { starts_with: '/a' } },
    { 'sql_verbs(payload.note)': { count: { over: 1 } } },
    { 'sql_verbs(payload.to)': { count: { at_least: 1 } } },
    { 'sql_verbs(payload.to)': { count: { over: 1, under: 3 } } },
    { 'sql_verbs(payload.to)': { count: 0 } },
  ),
)
const leaf = fc.oneof({ weight: 5, arbitrary: line }, fact)
const match: fc.Arbitrary<JsonObject> = fc.oneof(
  leaf,
  fc.array(leaf, { minLength: 2, maxLength: 3 }).map((all) => ({ all })),
  fc.array(leaf, { minLength: 2, maxLength: 3 }).map((any) => ({ any })),
  leaf.map((not) => ({ not })),
)
const rule = fc.record(
  {
    verdict: fc.constantFrom(...VERDICTS),
    when: match,
    unless: match,
    risk: fc.constantFrom(...RISKS),
    mode: fc.constant('shadow'),
  },
  { requiredKeys: ['verdict'] },
)
const means = fc.record(
  {
    'payload.amount': fc.constantFrom(0, 3, 'nothing'),
    'payload.note': fc.constantFrom('ab', 'nothing'),
    'payload.to': fc.constantFrom<JsonValue>([], ['ab']),
  },
  { requiredKeys: [] },
)
const anyFile = fc.record({
  head: fc.constantFrom<JsonObject>({ tool: 'pay' }, { tools: ['*'] }, { tools: ['pay', 'wire'] }),
  means,
  rules: fc.array(rule, { minLength: 1, maxLength: 4 }),
})
/** Rules about the same two fields, of which many cover each other. */
const closeLine = fc.oneof(fc.tuple(fc.constant('size'), numberTest), fc.tuple(fc.constant('note'), textTest))
const closeFile = fc.record({
  head: fc.constantFrom<JsonObject>({ tool: 'pay' }, { tools: ['*'] }),
  means: fc.constant({ 'payload.note': 'ab' }),
  rules: fc.array(
    fc.record(
      {
        verdict: fc.constantFrom(...VERDICTS),
        when: closeLine.map(([field, test]): JsonObject => ({ [`payload.${field}`]: test })),
      },
      { requiredKeys: ['verdict'] },
    ),
    { minLength: 3, maxLength: 5 },
  ),
})
interface RandomFile {
  readonly head: JsonObject
  readonly means: object
  readonly rules: readonly { readonly verdict: string }[]
}
const file: fc.Arbitrary<RandomFile> = fc.oneof({ weight: 2, arbitrary: anyFile }, closeFile)

const fileJson = ({ head, means: missing_means, rules }: RandomFile, name: string): string =>
  JSON.stringify({
    ...head,
    missing_means,
    rules: rules.map(({ verdict, ...rest }, n) => ({ id: `${name}${n}`, [verdict]: 'Reason.', ...rest })),
  })

// ---- random calls: a generator of its own, since there are millions ----

type Random = (below: number) => number
function randomFrom(seed: number): Random {
  let state = seed | 1
  return (below) => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9
    return ((state ^ (state >>> 13)) >>> 0) % below
  }
}
const TEXTS = [
  'ab',
  'abc',
  'b',
  'x',
  '',
  'abx',
  'xc',
  'a1c',
  'ac',
  'z',
  'p@acme.com',
  'p@b.io',
  '/a/b',
  '/x',
  'no/way',
  'drop x; drop x',
]
function payloadOf(random: Random): JsonObject {
  const one = <T>(all: readonly T[]): T => all[random(all.length)] as T
  const makers: Readonly<Record<string, () => JsonValue>> = {
    amount: () => one([0, 1, 2, 3, 4, 9, null]),
    share: () => one([-1, 1.5, 2, 2.5, 3, 3.5]),
    even: () => one([-2, 0, 2, 4]),
    half: () => one([1.5, 2, 2.5, 3, 3.5]),
    note: () => one(TEXTS),
    kind: () => one(['a', 'b', 'c']),
    to: () => Array.from({ length: random(4) }, () => one(TEXTS)),
    flag: () => one([true, false, null]),
    deep: () => one<JsonValue>([{}, { level: 1 }, { level: 2 }, { level: 3 }]),
    any: () => one<JsonValue>([1, 'ab', 'b', null, [], ['ab'], {}, true]),
  }
  const payload: Record<string, JsonValue> = { size: 1 + random(4) }
  for (const [name, make] of Object.entries(makers)) if (random(4) > 0) payload[name] = make()
  return payload
}

// ---- the claims, and whether they hold ----

type Claims = ReadonlyMap<string, ReadonlySet<string>>
function claimsOf(diagnostics: readonly Diagnostic[]): Claims {
  const claims = new Map<string, Set<string>>()
  for (const { code, message } of diagnostics) {
    const id = /\brule `([^`]+)`/.exec(message)?.[1]
    if (id !== undefined) claims.set(code, new Set([...(claims.get(code) ?? []), id]))
  }
  return claims
}
const KINDS = ['never-fires', 'always-fires', 'always-beaten', 'contradiction']

async function refute(snapshot: CompiledSnapshot, claims: Claims, seed: number): Promise<string | undefined> {
  const random = randomFrom(seed)
  const has = (code: string, id: string): boolean => claims.get(code)?.has(id) === true
  for (let n = 0; n < CALLS; n++) {
    const tool = random(2) === 0 ? 'pay' : 'wire'
    const payload = payloadOf(random)
    if (snapshot.checkPayload(tool, payload).length > 0) continue
    const workflow = random(2) === 0 ? {} : { workflow: random(2) === 0 ? 'w' : 'v' }
    const outcome = await snapshot.judge({
      tool,
      payload,
      tenant: 'acme',
      agent: 'bot',
      at: NOON,
      ...workflow,
    })
    const shown = `for ${tool} ${JSON.stringify(payload)}`
    for (const { id, unknown } of outcome.fired) {
      if (has('never-fires', id)) return `${id} fires ${shown}`
      if (has('contradiction', id) && !unknown) return `${id} is true ${shown}`
    }
    for (const id of outcome.by) if (has('always-beaten', id)) return `${id} decides ${shown}`
    for (const id of claims.get('always-fires') ?? []) {
      const applies = tool === 'pay' || !id.startsWith('p')
      if (applies && !outcome.fired.some((one) => one.id === id)) return `${id} rests ${shown}`
    }
  }
  return undefined
}

describe('the analysis', () => {
  it('is never refuted by a call', async () => {
    const claimed = new Map<string, number>()
    let loaded = 0
    await fc.assert(
      fc.asyncProperty(fc.array(file, { minLength: 1, maxLength: 2 }), fc.nat(), async (files, seed) => {
        const texts = bundle({
          ...TOOLS,
          'rules/pay.yaml': undefined,
          // Ids that begin with p are of the tool `pay` alone.
          ...Object.fromEntries(
            files.map((one, n) => [
              `rules/f${n}.yaml`,
              fileJson(one, `${'tool' in one.head ? 'p' : 's'}${n}`),
            ]),
          ),
        })
        const prepared = await prepareBundle(
          Object.entries(texts).map(([path, body]) => ({ path, text: body })),
        )
        if (!prepared.ok) return
        loaded++
        const claims = claimsOf(prepared.ir.head.diagnostics)
        const kinds = KINDS.filter((kind) => claims.has(kind))
        for (const kind of kinds) claimed.set(kind, (claimed.get(kind) ?? 0) + (claims.get(kind)?.size ?? 0))
        if (kinds.length > 0) expect(await refute(prepared.snapshot, claims, seed)).toBeUndefined()
      }),
      { numRuns: BUNDLES },
    )
    // Or nothing would be tested here.
    expect(loaded).toBeGreaterThan(BUNDLES / 2)
    for (const kind of KINDS) expect(claimed.get(kind) ?? 0, kind).toBeGreaterThan(runs(25))
  }, 600_000)
})
