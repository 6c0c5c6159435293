import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../src/contract/json.ts'
import { canonicalJson as serverJson, digestOf, leafHash } from '../../src/domain/digest.ts'
import { actionHash, canonicalJson, frozenCopy, sha256 } from '../../packages/sdk/src/canonical-json.ts'
import type { Json } from '../../packages/sdk/src/types.ts'
import { runs } from '../runs.ts'

/** Keys and strings with everything that sorting and quoting can get wrong. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.constantFrom(
    '',
    '10',
    '9',
    'é',
    'e\u0301',
    '\ufb33',
    '\u{1f600}',
    '"',
    '\\',
    '\u007f',
    '\u2028',
    '__proto__',
  ),
)
const json = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    text,
    fc.array(tie('value'), { maxLength: 6 }),
    fc
      .uniqueArray(fc.tuple(text, tie('value')), { selector: ([key]) => key, maxLength: 40 })
      .map((members) => Object.fromEntries(members) as Json),
  ),
})).value

describe('the canonical form (RFC 8785)', () => {
  it('is the same for the SDK, the gateway and `canonicalize`, byte for byte', () => {
    fc.assert(
      fc.property(json, (value) => {
        const wanted = canonicalize(value)
        expect(canonicalJson(value)).toBe(wanted)
        expect(serverJson(value as JsonValue)).toBe(wanted)
      }),
      { numRuns: runs(2_000) },
    )
  })

  it('does not depend on the order of members, even of many', () => {
    const keys = Array.from({ length: 100 }, (_, i) => `k${(i * 37) % 100}`)
    const forward = Object.fromEntries(keys.map((key) => [key, key]))
    const backward = Object.fromEntries(keys.toReversed().map((key) => [key, key]))
    for (const form of [canonicalJson, serverJson]) expect(form(forward)).toBe(form(backward))
    expect(serverJson(forward)).toBe(canonicalize(forward))
  })

  it('refuses values that JSON cannot hold', () => {
    const impossible = [Number.NaN, Number.POSITIVE_INFINITY, '\ud800', { a: '\udfff' }, [1n], () => 1]
    for (const value of impossible) {
      expect(() => canonicalJson(value as Json)).toThrow(TypeError)
      expect(() => serverJson(value as JsonValue)).toThrow(TypeError)
    }
    expect(() => canonicalJson({ at: new Date(0) } as unknown as Json)).toThrow(TypeError)
  })

  it('refuses an object in many places, which would never end', () => {
    let value: Json = 1
    for (let i = 0; i < 100; i++) value = { a: value, b: [value] }
    expect(() => canonicalJson(value)).toThrow(/more than 1000000 values/)
  })

  it('refuses a list with a hole, which is neither empty nor complete', () => {
    const one: unknown[] = []
    const three: unknown[] = [1]
    one.length = 1
    three[2] = 3
    for (const [value, place] of [
      [one, '/0'],
      [three, '/1'],
      [{ a: [one] }, '/a/0/0'],
    ])
      expect(() => canonicalJson(value as Json)).toThrow(
        `JSON cannot hold a hole in a list, at ${place as string}`,
      )
  })

  it('names the value that JSON cannot hold, and its place', () => {
    const list: unknown[] = []
    list.push({ list })
    const cases: [unknown, string][] = [
      [{ to: [{ 'a/b~': undefined }] }, 'a value of type undefined, at /to/0/a~1b~0'],
      [{ at: new Map() }, 'an object that is no plain one, at /at'],
      [{ n: 1n }, 'a value of type bigint, at /n'],
      [[1, Number.NaN], 'the number NaN, at /1'],
      [list, 'an object that is nested too deeply, or in itself'],
    ]
    for (const [value, what] of cases) {
      expect(() => canonicalJson(value as Json)).toThrow(new TypeError(`JSON cannot hold ${what}`))
    }
  })

  it('has the same hash on both sides', async () => {
    await fc.assert(
      fc.asyncProperty(json, async (value) => {
        expect(await sha256(canonicalJson(value))).toBe(digestOf(value as JsonValue))
      }),
      { numRuns: 100 },
    )
    expect(leafHash('')).toBe('6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d')
  })
})

describe('an action', () => {
  const action = { task_id: 't', tool_name: 'x', payload: { a: 1 }, nonce: 'n' }

  it('has a hash that changes with every part of its envelope', async () => {
    const hashes = await Promise.all(
      [
        action,
        { ...action, task_id: 'u' },
        { ...action, tool_name: 'y' },
        { ...action, payload: { a: 2 } },
        { ...action, nonce: 'm' },
      ].map(actionHash),
    )
    expect(new Set(hashes).size).toBe(hashes.length)
    expect(hashes.every((hash) => /^[0-9a-f]{64}$/.test(hash))).toBe(true)
  })

  it('is a frozen copy, so that later changes by the caller do not run', () => {
    const original = { list: [{ deep: 1 }] }
    const copy = frozenCopy(original)
    ;(original.list[0] as { deep: number }).deep = 2
    expect(copy).toEqual({ list: [{ deep: 1 }] })
    expect(() => ((copy.list[0] as { deep: number }).deep = 3)).toThrow(TypeError)
  })
})
