import { describe, expect, it } from 'vitest'
import { diffBundles } from '../../../src/policy/diff/diff.ts'
import { printDiff } from '../../../src/policy/diff/print.ts'
import { analyzeTool, type Change } from '../../../src/policy/diff/tool.ts'
import type { Bundle } from '../../../src/policy/diff/side.ts'
import { printDiagnostics } from '../../../src/policy/report/diagnostics.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import { bundle, rules } from '../support.ts'

const contract = (schema: string): string => `tool: pay\ndescription: d\nrisk: low\ninput_schema: ${schema}\n`
const object = (properties: string, more = ''): string =>
  `{ type: object, additionalProperties: false, properties: ${properties}${more} }`
const allowWhen = (line: string): string =>
  rules(`  - id: pay-this\n    allow: Fine.\n    when: { ${line} }\n`)

async function load(schema: string, text: string): Promise<Bundle> {
  const files = bundle({ 'tools/pay.yaml': contract(schema), 'rules/pay.yaml': text })
  const prepared = await prepareBundle(
    Object.entries(files).map(([path, content]) => ({ path, text: content })),
  )
  if (!prepared.ok) throw new Error(printDiagnostics(prepared.diagnostics))
  return prepared
}

/** The change of verdict between "no rule allows" and a rule, under one contract. */
async function opened(
  schema: string,
  line: string,
): Promise<{ where: readonly string[]; doubts: readonly string[] }> {
  const none = rules('  - id: pay-this\n    allow: Fine.\n    mode: shadow\n')
  const { found, doubts } = await analyzeTool(
    [await load(schema, none), await load(schema, allowWhen(line))],
    'pay',
  )
  const isAllowed = ({ change }: { readonly change: Change }): boolean => change.after === 'allow/low'
  return { where: found.filter(isAllowed).flatMap(({ change }) => change.where), doubts }
}

describe('two contracts that differ in a length', () => {
  const names = (most: number): string =>
    object(`{ branch: { type: string, maxLength: ${most} } }`, ', required: [branch]')

  it.each([
    [10, 100],
    [200, 5_000],
  ])(
    'two contracts that differ in a length have an example for every test that one of them refuses: %s -> %s',
    async (least, most) => {
      const rule = allowWhen('payload.branch: { like: feature/* }')
      const { found, doubts } = await analyzeTool(
        [await load(names(least), rule), await load(names(most), rule)],
        'pay',
      )
      expect(doubts).toEqual([])
      const moves = found.map(({ change }) => `${change.direction} ${change.before} -> ${change.after}`)
      expect(moves).toContain('loosens invalid -> allow/low')
    },
  )

  it('two contracts that differ in a length are reported as incomplete when a function reads the text', async () => {
    const rule = allowWhen('path(payload.branch): { starts_with: /a/ }')
    const { found, doubts } = await analyzeTool(
      [await load(names(10), rule), await load(names(100), rule)],
      'pay',
    )
    expect(found.map(({ change }) => change.after)).toContain('allow/low')
    expect(doubts).toContain('not every kind of payload.branch has an example')
  })
})

describe('values within the contract', () => {
  it('a multiple between two thresholds', async () => {
    const schema = object('{ n: { type: integer, multipleOf: 500 } }')
    const { where, doubts } = await opened(schema, 'payload.n: { over: 700, under: 1200 }')
    expect(where).toHaveLength(1)
    expect(doubts).toEqual([])
  })

  it('a list that must be longer than a test needs', async () => {
    const schema = object('{ to: { type: array, minItems: 3, items: { type: string } } }')
    const { where, doubts } = await opened(schema, 'payload.to: { every: a }')
    expect(where).toHaveLength(1)
    expect(doubts).toEqual([])
  })

  it('a text with a pattern, and texts that the pattern excludes', async () => {
    const schema = object('{ id: { type: string, pattern: "^ab?[0-9]+$" } }')
    expect((await opened(schema, 'payload.id: { starts_with: ab }')).where).toEqual([
      'when payload.id starts_with ab',
    ])
    const never = await opened(schema, 'payload.id: { starts_with: x }')
    expect(never).toEqual({ where: [], doubts: [] })
  })

  it('a text with a format: found, and reported as incomplete', async () => {
    const schema = object('{ mail: { type: string, format: email } }')
    const { where, doubts } = await opened(schema, 'payload.mail: { ends_with: "@acme.com" }')
    expect(where).toEqual(['when payload.mail ends_with @acme.com'])
    expect(doubts).toEqual(['not every kind of payload.mail has an example'])
  })

  it('fields that the contract couples: reported as incomplete', async () => {
    const schema = object('{ a: { type: integer }, b: { type: integer } }', ', dependentRequired: { a: [b] }')
    const { doubts } = await opened(schema, 'payload.a: { over: 3 }')
    expect(doubts).not.toEqual([])
  })

  it('fractions get ranges with open ends', async () => {
    const schema = object('{ n: { type: number } }')
    const { where } = await opened(schema, 'payload.n: { over: 1.5, at_most: 3 }')
    expect(where).toEqual(['when payload.n in {over 1.5..3}'])
  })
})

describe('contracts that differ', () => {
  const between = async (before: string, after: string, line = 'payload.n: { over: 3 }'): Promise<string> =>
    printDiff(await diffBundles(await load(before, allowWhen(line)), await load(after, allowWhen(line))))

  it('a field that only one of them has', async () => {
    const n = 'n: { type: integer }'
    expect(await between(object(`{ ${n} }`), object(`{ ${n}, memo: { type: string } }`)))
      .toMatchInlineSnapshot(`
      "pay LOOSENS invalid -> allow/low when payload.memo present and payload.n in {4..}
          e.g. {"memo":"","n":4}: by contract -> pay-this
      pay CHANGES invalid -> reject/low when payload.memo present and payload.n in {..3, missing}
          e.g. {"memo":"","n":2}: by contract -> unmatched
      pay: payload.memo added, optional
      pay: 6 more changes show only when the agent claims a higher risk_level (--format json lists all)
      4 loosened, 0 tightened, 4 changed otherwise; complete: 24 cells"
    `)
  })

  it('a bound moved', async () => {
    expect(
      await between(
        object('{ n: { type: integer, maximum: 9 } }'),
        object('{ n: { type: integer, maximum: 7 } }'),
      ),
    ).toMatchInlineSnapshot(`
      "pay TIGHTENS allow/low -> invalid when payload.n in {8..9}
          e.g. {"n":8}: by pay-this -> contract
      pay: payload.n: {"type":"integer","maximum":9} -> {"type":"integer","maximum":7}
      pay: 3 more changes show only when the agent claims a higher risk_level (--format json lists all)
      0 loosened, 4 tightened, 0 changed otherwise; complete: 16 cells"
    `)
  })

  it('a contract opened', async () => {
    const open = '{ type: object, properties: { n: { type: integer } } }'
    expect(await between(object('{ n: { type: integer } }'), open)).toMatchInlineSnapshot(`
      "pay LOOSENS invalid -> allow/low when payload.another_field present and payload.n in {4..}
          e.g. {"another_field":true,"n":4}: by contract -> pay-this
      pay CHANGES invalid -> reject/low when payload.another_field present and payload.n in {..3, missing}
          e.g. {"another_field":true,"n":2}: by contract -> unmatched
      pay: input_schema differs outside its properties
      pay: 6 more changes show only when the agent claims a higher risk_level (--format json lists all)
      4 loosened, 0 tightened, 4 changed otherwise; complete: 24 cells"
    `)
  })
})

describe('contracts that differ where no example shows it', () => {
  const s = 's: { type: string }'
  const definitions = (most: number): string => `, $defs: { short: { type: string, maxLength: ${most} } }`
  it.each([
    [
      'an object below a field',
      object(`{ ${s}, o: { type: object, properties: { in: { type: string } } } }`),
      object(`{ ${s}, o: { type: object, properties: { in: { enum: [x] }, n: { type: integer } } } }`),
    ],
    [
      'other members of an object',
      object(`{ ${s}, o: { type: object, additionalProperties: { type: string } } }`),
      object(`{ ${s}, o: { type: object, additionalProperties: { type: integer } } }`),
    ],
    [
      'a list that holds nothing twice',
      object(`{ ${s}, l: { type: array } }`),
      object(`{ ${s}, l: { type: array, uniqueItems: true } }`),
    ],
    [
      'a definition that a list refers to',
      object(`{ ${s}, l: { type: array, items: { $ref: "#/$defs/short" } } }`, definitions(9)),
      object(`{ ${s}, l: { type: array, items: { $ref: "#/$defs/short" } } }`, definitions(3)),
    ],
    ['how many fields there are', object(`{ ${s} }`), object(`{ ${s} }`, ', minProperties: 1')],
    [
      'fields that need one another',
      object(`{ ${s} }`),
      object(`{ ${s} }`, ', dependentRequired: { s: [t] }'),
    ],
    [
      'a definition that all of it refers to',
      object(`{ ${s} }`, `${definitions(9)}, propertyNames: { $ref: "#/$defs/short" }`),
      object(`{ ${s} }`, `${definitions(1)}, propertyNames: { $ref: "#/$defs/short" }`),
    ],
  ])('contracts that differ without an example are reported as incomplete: %s', async (_, before, after) => {
    const rule = allowWhen('payload.s: x')
    const { complete } = await diffBundles(await load(before, rule), await load(after, rule))
    expect(complete).toBe(false)
  })

  it.each([
    ['a', 'b'],
    ['b', 'a'],
  ])('contracts are complete when only annotations differ: %s -> %s', async (before, after) => {
    const described = (text: string): string =>
      object(
        `{ ${s}, description: { type: string, format: email, description: ${text} }, l: { type: array, items: { title: ${text} } } }`,
        `, title: ${text}, minProperties: 1`,
      )
    const rule = allowWhen('payload.s: x')
    const bundles = [await load(described(before), rule), await load(described(after), rule)] as const
    expect(await diffBundles(...bundles)).toMatchObject({
      complete: true,
      tools: [{ changes: [], doubts: [] }],
    })
  })
})

describe('too many kinds of calls', () => {
  it('too many kinds of calls are sampled, always in the same way, and the result says so', async () => {
    const names = (letter: string): string[] => Array.from({ length: 20 }, (_, i) => `${letter}${i + 10}`)
    const pairs = names('a').map((a, i) => `{ payload.${a}: true, payload.${names('b')[i]}: true }`)
    const fields = [...names('a'), ...names('b')].map((name) => `${name}: { type: boolean }`)
    const all = rules(`  - id: pay-pair\n    allow: Fine.\n    when: { any: [${pairs.join(', ')}] }\n`)
    const fewer = all.replace(`, ${pairs.at(-1)}`, '')
    const schema = object(`{ ${fields.join(', ')} }`)
    const bundles = [await load(schema, all), await load(schema, fewer)] as const
    const found = await diffBundles(...bundles)
    expect(found.complete).toBe(false)
    expect(found.tools[0]?.doubts).toEqual([
      expect.stringMatching(/^\d+ calls were drawn out of \d[\d.e+]* cells$/),
    ])
    expect(found.tools[0]?.changes.map(({ direction }) => direction)).toContain('tightens')
    expect(found.tools[0]?.changes.every(({ rough }) => rough)).toBe(true)
    expect(printDiff(found)).toContain('; sampled: ')
    expect(await diffBundles(...bundles)).toEqual(found)
  })
})
