import { RE2JS } from 're2js'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { JsonObject } from '../../../src/contract/json.ts'
import { createPayloadChecks } from '../../../src/policy/schema/payload.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import type { ToolContract } from '../../../src/policy/language/snapshot.ts'
import { bundle, call, CONTRACT, diagnose, snapshotOf } from '../support.ts'
import { growth, LINEAR } from '../../growth.ts'

const problems = (schema: JsonObject, payload: JsonObject) => createPayloadChecks().of('r', schema)(payload)
const property = (schema: JsonObject): JsonObject => ({
  type: 'object',
  additionalProperties: false,
  required: ['x'],
  properties: { x: schema },
})

describe('checking a payload', () => {
  it('compiles every schema that the check of a contract accepts', () => {
    expect(problems(property({ if: { const: 1 } }), { x: 1 })).toEqual([])
    const twice = { ...property({ type: 'integer' }), patternProperties: { '^x': { minimum: 2 } } }
    expect(problems(twice, { x: 1 })).toEqual([{ pointer: '/x', message: 'must be at least 2' }])
  })

  it('compiles a part once, however many references lead to it', () => {
    const compile = vi.spyOn(RE2JS, 'compile')
    onTestFinished(() => compile.mockRestore())
    const names = Array.from({ length: 60 }, (_, n) => `p${n}`)
    const schema: JsonObject = {
      type: 'object',
      $defs: { code: { type: 'string', pattern: '^ch_[0-9]+$' } },
      properties: Object.fromEntries(names.map((name) => [name, { $ref: '#/$defs/code' }])),
    }
    expect(problems(schema, { p0: 'ch_1', p59: 'x' })).toMatchObject([{ pointer: '/p59' }])
    expect(compile).toHaveBeenCalledTimes(1)
  })

  const cases: readonly (readonly [string, JsonObject, JsonObject, readonly string[]])[] = [
    ['a missing field', property({ type: 'string' }), {}, ['/x is required and missing']],
    [
      'an unknown field',
      property({ type: 'string' }),
      { x: '', 'y/z': 1 },
      ['/y~1z is not a field of this tool'],
    ],
    ['a wrong type', property({ type: 'integer' }), { x: '5' }, ['/x must be a whole number']],
    ['a list for a value', property({ type: 'integer' }), { x: [5] }, ['/x must be a whole number']],
    ['a value outside the enum', property({ enum: ['a', 'b'] }), { x: 'secret' }, ['/x must be one of a, b']],
    ['a number out of range', property({ minimum: 1, type: 'number' }), { x: 0 }, ['/x must be at least 1']],
    [
      'a pattern',
      property({ type: 'string', pattern: '^a+$' }),
      { x: 'secret' },
      ['/x must match the pattern ^a+$'],
    ],
    [
      'a format',
      property({ type: 'string', format: 'email' }),
      { x: 'secret' },
      ['/x must be a valid email'],
    ],
    [
      'too long a text',
      property({ type: 'string', maxLength: 1 }),
      { x: 'secret' },
      ['/x must have at most 1 character'],
    ],
    [
      'more decimals than a step has',
      property({ type: 'number', multipleOf: 0.01 }),
      { x: 19.999 },
      ['/x must be a multiple of 0.01'],
    ],
    ['a price of whole cents', property({ type: 'number', multipleOf: 0.01 }), { x: 19.99 }, []],
    [
      'no branch that fits',
      property({ anyOf: [{ type: 'string' }, { type: 'boolean' }] }),
      { x: 5 },
      ['/x fits none of the allowed shapes'],
    ],
    [
      'an item twice',
      property({ type: 'array', uniqueItems: true }),
      {
        x: [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
      },
      ['/x must not hold the same item twice'],
    ],
  ]
  for (const [title, schema, payload, expected] of cases) {
    it(`names the field and the expected form for ${title}, never a value`, () => {
      const found = problems(schema, payload)
      expect(found.map((one) => `${one.pointer} ${one.message}`)).toEqual(expected)
      expect(JSON.stringify(found)).not.toContain('secret')
    })
  }

  it('reports at most 20 problems', () => {
    const payload = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`k${n}`, n]))
    expect(problems({ type: 'object', additionalProperties: false }, payload)).toHaveLength(20)
  })

  it('never coerces, removes or fills in', () => {
    const schema = {
      type: 'object',
      properties: { n: { type: 'integer', default: 5 }, s: { type: 'string' } },
    }
    const payload = { s: 'x', extra: [1] }
    const before = structuredClone(payload)
    expect(problems(schema, payload)).toEqual([])
    expect(payload).toEqual(before)
    expect(problems(schema, { n: '5' })).toHaveLength(1)
  })

  it('stays linear on hostile text and on many items', () => {
    const text = property({ type: 'string', pattern: '^(a+)+$' })
    const items = property({ type: 'array', uniqueItems: true })
    expect(growth((length) => problems(text, { x: `${'a'.repeat(length)}!` }), 10_000)).toBeLessThan(LINEAR)
    const list = (length: number) => Array.from({ length }, (_, n) => ({ n }))
    expect(growth((length) => problems(items, { x: list(length) }), 5_000)).toBeLessThan(LINEAR)
  })

  it('compiles equal schemas once, even after one of their contracts is removed', () => {
    const checks = createPayloadChecks()
    const one = checks.of('r1', property({ type: 'integer' }))
    expect(checks.of('r2', property({ type: 'integer' }))).toBe(one)
    const other = checks.of('r3', property({ type: 'string' }))
    expect(other).not.toBe(one)
    checks.keep(new Set(['r2']))
    expect(checks.of('r1', property({ type: 'integer' }))).toBe(one)
    expect(checks.of('r3', property({ type: 'string' }))).not.toBe(other)
    expect(checks.of('r3', property({ type: 'string' }))({ x: 1 })).toHaveLength(1)
  })

  it('forgets the contracts of a replaced bundle', async () => {
    const checks = createPayloadChecks()
    const load = async (longest: number): Promise<ToolContract | undefined> => {
      const contract = CONTRACT.replace(
        'note: { type: string }',
        `note: { type: string, maxLength: ${longest} }`,
      )
      const texts = Object.entries(bundle({ 'tools/pay.yaml': contract }))
      const loaded = await prepareBundle(
        texts.map(([path, text]) => ({ path, text })),
        { checks },
      )
      return loaded.ok ? loaded.snapshot.tools.get('pay') : undefined
    }
    const { revision, inputSchema } = (await load(10)) as ToolContract
    const before = checks.of(revision, inputSchema)
    await load(10)
    expect(checks.of(revision, inputSchema)).toBe(before)
    await load(20)
    expect(checks.of(revision, inputSchema)).not.toBe(before)
  })

  it('compiles an unchanged contract once, and forgets a changed contract', async () => {
    const checks = createPayloadChecks()
    const one = checks.of('r1', { type: 'object' })
    expect(checks.of('r1', { type: 'object' })).toBe(one)
    checks.keep(new Set(['r2']))
    expect(checks.of('r1', { type: 'object' })).not.toBe(one)
    const snapshot = await snapshotOf(bundle())
    expect(snapshot.checkPayload('pay', { amount: 'x' })).toEqual([
      { pointer: '/amount', message: 'must be a whole number or null' },
    ])
    expect(snapshot.checkPayload('unknown', {})).toEqual([])
    expect((await snapshot.decide(call({ amount: 1 }))).verdict).toBe('allow')
  })
})

describe('a schema', () => {
  const withSchema = (schema: string) =>
    diagnose(
      bundle({
        'tools/pay.yaml': CONTRACT.slice(0, CONTRACT.indexOf('input_schema')) + `input_schema: ${schema}\n`,
        'rules/pay.yaml': 'tool: pay\nrules: [{ id: a, allow: A. }]\n',
      }),
    )

  it('may refer to itself, once for each part of a payload', async () => {
    const tree =
      '{ type: object, properties: { t: { $ref: "#/$defs/t" } }, $defs: { t: { type: object, properties: { l: { $ref: "#/$defs/t" }, r: { $ref: "#/$defs/t" } } } } }'
    expect(await withSchema(tree)).toEqual([])
    const bomb =
      '{ type: object, properties: { t: { $ref: "#/$defs/t" } }, $defs: { t: { anyOf: [{ properties: { a: { $ref: "#/$defs/t" } } }, { properties: { a: { $ref: "#/$defs/t" } } }] } } }'
    expect((await withSchema(bomb)).map((one) => one.code)).toEqual(['bad-schema'])
  })

  it('may not refer to itself for the same part of a payload', async () => {
    const self = '{ $ref: "#/$defs/a" }'
    const others: readonly (readonly [string, string])[] = [
      [self, '{}'],
      ['{ $ref: "#/$defs/b" }', self],
      [`{ type: string, allOf: [${self}] }`, '{}'],
      ['{ anyOf: [{ type: string }, { not: { $ref: "#/$defs/b" } }] }', `{ if: ${self} }`],
    ]
    for (const [a, b] of others) {
      const found = await withSchema(
        `{ type: object, properties: { x: ${self} }, $defs: { a: ${a}, b: ${b} } }`,
      )
      expect(found.map((one) => `${one.code} ${one.message}`)).toEqual([
        'bad-schema this schema refers to itself for the same part of a payload: no payload can be checked',
      ])
    }
  })

  it('may not unfold into something huge', async () => {
    const defs = Array.from(
      { length: 20 },
      (_, n) => `d${n}: { allOf: [{ $ref: "#/$defs/d${n + 1}" }, { $ref: "#/$defs/d${n + 1}" }] }`,
    ).join(', ')
    const found = await withSchema(
      `{ type: object, allOf: [{ $ref: "#/$defs/d0" }], $defs: { ${defs}, d20: { type: object } } }`,
    )
    expect(found.map((one) => one.code)).toEqual(['bad-schema'])
  })

  it('may be JSON with tabs', async () => {
    const json = JSON.stringify(
      {
        tool: 'pay',
        description: 'd',
        risk: 'low',
        input_schema: {
          $schema: 'https://json-schema.org/draft/2020-12/schema',
          type: 'object',
          properties: { amount: { type: 'integer' } },
        },
      },
      null,
      '\t',
    )
    expect(await diagnose(bundle({ 'tools/pay.yaml': undefined, 'tools/pay.json': json }))).toEqual([])
  })
})
