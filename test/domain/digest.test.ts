import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../src/contract/json.ts'
import { canonicalJson, digestOf, leafHash, sha256 } from '../../src/domain/digest.ts'
import { runs } from '../runs.ts'

const shuffled = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map(shuffled)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value as Record<string, JsonValue>).toReversed()
  return Object.fromEntries(entries.map(([key, one]) => [key, shuffled(one)]))
}

describe('digests', () => {
  it('are equal for values that differ in the order of their keys only', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const one = value as JsonValue
        expect(digestOf(shuffled(one))).toBe(digestOf(one))
        expect(digestOf(JSON.parse(canonicalJson(one)) as JsonValue)).toBe(digestOf(one))
      }),
      { numRuns: runs(2_000) },
    )
  })

  it.each<[JsonValue, JsonValue]>([
    [{ a: 1 }, { a: '1' }],
    [{ a: null }, {}],
    [
      [1, 2],
      [2, 1],
    ],
    [{ a: [] }, { a: {} }],
    ['\u00e9', 'e\u0301'],
    [0, false],
    ['', null],
  ])('%j is not %j', (a, b) => {
    expect(digestOf(a)).not.toBe(digestOf(b))
  })

  it('take -0 for 0 and 1.0 for 1, as RFC 8785 does', () => {
    expect(canonicalJson(-0)).toBe('0')
    expect(digestOf({ a: JSON.parse('1.0') as number })).toBe(digestOf({ a: 1 }))
  })

  it('leave out members that are undefined, wherever they stand', () => {
    for (const value of [
      { a: undefined, b: 1, c: 2 },
      { b: 1, c: 2, a: undefined },
      { c: 2, b: 1, a: undefined },
    ] as unknown as JsonValue[])
      expect(canonicalJson(value)).toBe('{"b":1,"c":2}')
  })

  it('refuse what is no JSON value, and a list with a hole', () => {
    const hole: unknown[] = []
    hole[1] = 2
    for (const value of [undefined, hole, { b: 1, a: hole }] as unknown as JsonValue[])
      expect(() => canonicalJson(value)).toThrow(TypeError)
  })

  it('sha256 of the empty text is the published one', () => {
    expect(sha256('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  })

  it('the leaf hash is that of RFC 6962: a zero byte, then the leaf', () => {
    expect(leafHash('')).toBe('6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d')
    expect(leafHash('L123456')).toBe(sha256(Buffer.concat([Buffer.of(0), Buffer.from('L123456')])))
  })
})
