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
  it('digests are equal for values that differ only in the order of their keys', () => {
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
  ])('%j differs from %j', (a, b) => {
    expect(digestOf(a)).not.toBe(digestOf(b))
  })

  it('digests treat -0 as 0 and 1.0 as 1, as RFC 8785 does', () => {
    expect(canonicalJson(-0)).toBe('0')
    expect(digestOf({ a: JSON.parse('1.0') as number })).toBe(digestOf({ a: 1 }))
  })

  it('digests omit undefined members at every depth', () => {
    for (const value of [
      { a: undefined, b: 1, c: 2 },
      { b: 1, c: 2, a: undefined },
      { c: 2, b: 1, a: undefined },
    ] as unknown as JsonValue[])
      expect(canonicalJson(value)).toBe('{"b":1,"c":2}')
  })

  it('digests refuse a value that JSON cannot express, and a list with a hole', () => {
    const hole: unknown[] = []
    hole[1] = 2
    for (const value of [undefined, hole, { b: 1, a: hole }] as unknown as JsonValue[])
      expect(() => canonicalJson(value)).toThrow(TypeError)
  })

  it('sha256 of the empty text has the published value', () => {
    expect(sha256('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  })

  it('the leaf hash follows RFC 6962: a zero byte, then the leaf', () => {
    expect(leafHash('')).toBe('6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d')
    expect(leafHash('L123456')).toBe(sha256(Buffer.concat([Buffer.of(0), Buffer.from('L123456')])))
  })
})
