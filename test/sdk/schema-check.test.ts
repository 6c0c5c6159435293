import { describe, expect, it } from 'vitest'
import { schemaErrors } from '../../packages/sdk/src/schema-check.ts'
import type { Json } from '../../packages/sdk/src/types.ts'

const CASES: readonly [title: string, schema: Record<string, unknown>, good: Json[], bad: Json[]][] = [
  ['a type', { type: 'string' }, ['', 'x'], [1, null, [], {}]],
  ['several types', { type: ['integer', 'null'] }, [1, 1.0, null], [1.5, 'x', true]],
  ['an array type is no object', { type: 'object' }, [{}], [[], null]],
  ['const', { const: { a: 1 } }, [{ a: 1 }], [{ a: 2 }, 1]],
  ['enum', { enum: ['eur', 'usd'] }, ['eur'], ['EUR', null]],
  [
    'enum and const whatever the order of members',
    { enum: [{ b: [{ d: 1, c: 2 }], a: 2 }] },
    [{ a: 2, b: [{ c: 2, d: 1 }] }],
    [{ a: 1, b: [{ c: 2, d: 1 }] }],
  ],
  ['bounds', { minimum: 1, maximum: 3 }, [1, 3], [0.9, 3.1]],
  ['lengths in characters, not code units', { minLength: 2, maxLength: 2 }, ['😀😀'], ['😀', 'abc']],
  ['list lengths', { minItems: 1, maxItems: 2 }, [[1]], [[], [1, 2, 3]]],
  ['items', { items: { type: 'number' } }, [[], [1]], [['x']]],
  ['required members', { required: ['a'] }, [{ a: null }], [{}, { b: 1 }]],
  ['closed objects', { properties: { a: {} }, additionalProperties: false }, [{ a: 1 }], [{ b: 1 }]],
  ['other members', { additionalProperties: { type: 'number' } }, [{ x: 1 }], [{ x: 'y' }]],
  [
    'boolean subschemas are left to the gateway',
    { properties: { a: true, b: false }, items: false },
    [{ a: 1, b: 1 }, [1]],
    [],
  ],
  [
    'pattern properties are left to the gateway',
    { patternProperties: { '^x': {} }, additionalProperties: false },
    [{ x1: 1 }],
    [],
  ],
  [
    'items after a prefix',
    { prefixItems: [{ type: 'string' }], items: { type: 'number' } },
    [['a', 1]],
    [['a', 'b']],
  ],
  ['what it does not know it leaves to the gateway', { pattern: '^a', anyOf: [false] }, ['b', 1], []],
]

describe('the local check', () => {
  it.each(CASES)('knows %s', (_, schema, good, bad) => {
    for (const value of good) expect(schemaErrors(value, schema)).toEqual([])
    for (const value of bad) expect(schemaErrors(value, schema)).not.toEqual([])
  })

  it('points at the place by RFC 6901', () => {
    const schema = { properties: { 'a/b': { items: { properties: { '~': { type: 'string' } } } } } }
    expect(schemaErrors({ 'a/b': [{}, { '~': 1 }] }, schema)).toEqual([
      { pointer: '/a~1b/1/~0', message: 'must be string' },
    ])
  })

  it('does not accept inherited members', () => {
    expect(schemaErrors({}, { required: ['toString'] })).toEqual([
      { pointer: '/toString', message: 'is required' },
    ])
  })
})
