import { describe, expect, it } from 'vitest'
import { importMcp } from '../../../src/policy/import/mcp.ts'
import { contradictionsOf } from '../../../src/policy/schema/contradictions.ts'
import { contract, runCases, runFine, schema, type Case } from '../cases.ts'
import { growth, LINEAR } from '../../growth.ts'

const STANDS_IN = 'a default replaces a missing field, so the field must be able to hold it'

const CASES: readonly Case[] = [
  [
    'a default of another type',
    schema('flag: { type: boolean, default: "false" }'),
    `tools/pay.yaml:15:37 bad-schema: the \`default\` is text, but the \`type\` is boolean | ${STANDS_IN}`,
  ],
  [
    'a default that is null and may not be',
    schema('flag: { type: [string, integer], default: null }'),
    'tools/pay.yaml:15:47 bad-schema: the `default` is null, but the `type` is string or integer',
  ],
  [
    'a broken number as the default of a whole one',
    schema('flag: { type: integer, default: 0.5 }'),
    'tools/pay.yaml:15:37 bad-schema: the `default` is a number, but the `type` is integer',
  ],
  [
    'a default that is not listed',
    schema('flag: { enum: [usd, eur], default: euro }'),
    'tools/pay.yaml:15:40 bad-schema: the `default` is not among the values of `enum`',
  ],
  [
    'a default that is not the const',
    schema('flag: { const: { a: [1] }, default: { a: [2] } }'),
    'tools/pay.yaml:15:41 bad-schema: the `default` is not what `const` says',
  ],
  [
    'a default below the minimum',
    schema('flag: { type: integer, minimum: 1, default: 0 }'),
    'tools/pay.yaml:15:49 bad-schema: the `default` is 0, but `minimum` is 1',
  ],
  [
    'a default at an end that is not within',
    schema('flag: { exclusiveMaximum: 5, default: 5 }'),
    'tools/pay.yaml:15:43 bad-schema: the `default` is 5, but `exclusiveMaximum` is 5',
  ],
  [
    'a default that is too short',
    schema('flag: { type: string, minLength: 2, default: é }'),
    'tools/pay.yaml:15:50 bad-schema: the `default` has 1 character, but `minLength` is 2',
  ],
  [
    'a default with too many entries',
    schema('flag: { type: array, maxItems: 1, default: [a, b] }'),
    'tools/pay.yaml:15:48 bad-schema: the `default` has 2 entries, but `maxItems` is 1',
  ],
  [
    'a default with too few fields',
    schema('flag: { type: object, minProperties: 1, default: {} }'),
    'tools/pay.yaml:15:54 bad-schema: the `default` has 0 fields, but `minProperties` is 1',
  ],
  [
    'a default that is no multiple',
    schema('flag: { type: number, multipleOf: 0.01, default: 19.999 }'),
    'tools/pay.yaml:15:54 bad-schema: the `default` is 19.999, which is no multiple of 0.01',
  ],
  [
    'a default of another format',
    schema('flag: { type: string, format: email, default: nobody }'),
    'tools/pay.yaml:15:51 bad-schema: the `default` is not a valid email',
  ],
  [
    'a default that the pattern refuses',
    schema("flag: { type: string, pattern: '^ch_', default: x }"),
    'tools/pay.yaml:15:53 bad-schema: the `default` does not match the `pattern`',
  ],
  [
    'a default deep inside',
    schema('flag: { type: array, items: { anyOf: [{ type: integer, default: x }, true] } }'),
    'tools/pay.yaml:15:69 bad-schema: the `default` is text, but the `type` is integer',
  ],
  [
    'lengths that exclude each other',
    schema('flag: { type: string, minLength: 5, maxLength: 3 }'),
    'tools/pay.yaml:15:38 bad-schema: no text fits: `minLength` is 5 and `maxLength` 3',
  ],
  [
    'bounds that exclude each other',
    schema('flag: { type: number, minimum: 5, maximum: 4.5 }'),
    'tools/pay.yaml:15:36 bad-schema: no number fits: `minimum` is 5 and `maximum` 4.5',
  ],
  [
    'open bounds that leave nothing between them',
    schema('flag: { exclusiveMinimum: 5, maximum: 5 }'),
    'tools/pay.yaml:15:31 bad-schema: no number fits: `exclusiveMinimum` is 5 and `maximum` 5',
  ],
  [
    'sizes of a list that exclude each other',
    schema('flag: { type: array, minItems: 2, maxItems: 1 }'),
    'tools/pay.yaml:15:36 bad-schema: no list fits: `minItems` is 2 and `maxItems` 1',
  ],
  [
    'counts that exclude each other',
    schema('flag: { contains: { const: a }, minContains: 2, maxContains: 1 }'),
    'tools/pay.yaml:15:50 bad-schema: no list fits: `minContains` is 2 and `maxContains` 1',
  ],
  [
    'sizes of an object that exclude each other',
    schema('flag: { type: object, minProperties: 2, maxProperties: 1 }'),
    'tools/pay.yaml:15:42 bad-schema: no object fits: `minProperties` is 2 and `maxProperties` 1',
  ],
  [
    'a required field that is misspelt, and so forbidden',
    contract('  properties:', '  required: [amount, ammount]\n  properties:'),
    'tools/pay.yaml:10:22 bad-schema: `ammount` is required, but `additionalProperties: false` refuses it | did you mean `amount`?',
  ],
  [
    'a required field of an object that has none',
    schema('flag: { type: object, additionalProperties: false, required: [x] }'),
    'tools/pay.yaml:15:67 bad-schema: `x` is required, but `additionalProperties: false` refuses it | declare it under `properties`',
  ],
  [
    'a required field that must not be there',
    schema('flag: { required: [x], properties: { x: false } }'),
    'tools/pay.yaml:15:24 bad-schema: `x` is required, but `properties` says it is never there',
  ],
]

describe('a contract that contradicts itself', () => runCases(CASES))

describe('a contradiction of a contract', () => {
  runFine(
    [
      ['a default that fits', schema('flag: { type: [integer, "null"], minimum: 1, default: 1 }')],
      ['a default that is null and may be', schema('flag: { type: [integer, "null"], default: null }')],
      ['a whole number as the default of a number', schema('flag: { type: number, default: 2 }')],
      ['a default that is listed', schema('flag: { enum: [[1, { a: b }], x], default: [1, { a: b }] }')],
      ['a default that a branch describes', schema('flag: { anyOf: [{ type: string }], default: 5 }')],
      ['a text beside bounds of numbers', schema('flag: { minimum: 5, default: x }')],
      ['a default at a bound', schema('flag: { minimum: 5, maximum: 5, minLength: 2, default: 5 }')],
      ['a default of characters beyond 16 bits', schema('flag: { type: string, maxLength: 1, default: 🙂 }')],
      ['a pattern found in the middle', schema('flag: { type: string, pattern: b+, default: abc }')],
      ['a range of one', schema('flag: { type: string, minLength: 3, maxLength: 3 }')],
      ['counts that count nothing', schema('flag: { type: array, minContains: 2, maxContains: 1 }')],
      ['a field called like a keyword', schema('default: { type: string }\n    minimum: { type: integer }')],
      ['a required field of an open object', schema('flag: { type: object, required: [x] }')],
      [
        'a required field that a pattern may name',
        schema('flag: { additionalProperties: false, required: [x_1], patternProperties: { ^x_: true } }'),
      ],
      [
        'a required field that another part declares',
        schema('flag: { required: [x], allOf: [{ properties: { x: true }, additionalProperties: false }] }'),
      ],
    ],
    ['bad-schema'],
  )

  it('a contradiction of a bound and a default at once is two findings', () => {
    expect(contradictionsOf({ minimum: 5, maximum: 4, default: 3 }).map(({ keyword }) => keyword)).toEqual([
      'minimum',
      'default',
    ])
  })

  it('is found in time linear in a schema of thousands of fields', () => {
    const look = (count: number): void => {
      const names = Array.from({ length: count }, (_, n) => `f${n}`)
      const properties = Object.fromEntries(names.map((name) => [`${name}x`, true]))
      const found = contradictionsOf({ required: names, properties, additionalProperties: false })
      expect(found).toHaveLength(count)
    }
    expect(growth(look, 4_000)).toBeLessThan(LINEAR)
  })
})

describe('an imported contract', () => {
  it('omits a default that its field cannot contain, and reports this', () => {
    const inputSchema = {
      type: 'object',
      properties: {
        note: { type: 'string', default: null },
        size: { type: 'integer', default: 5 },
      },
    }
    const result = importMcp({ tools: [{ name: 'a', inputSchema }] }, { prefix: '' })
    expect(result?.notes).toContainEqual({
      pointer: '/tools/0/inputSchema/properties/note/default',
      message: 'dropped: the `default` is null, but the `type` is string',
    })
    expect(result?.files[0]?.text).toContain('default: 5')
    expect(result?.files[0]?.text).not.toContain('default: null')
  })
})
