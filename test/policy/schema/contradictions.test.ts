import { describe, expect, it } from 'vitest'
import { importMcp } from '../../../src/policy/import/mcp.ts'
import { contradictionsOf } from '../../../src/policy/schema/contradictions.ts'
import { runFine, schema } from '../cases.ts'
import { growth, LINEAR } from '../../growth.ts'

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
