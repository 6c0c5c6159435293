import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../../../src/contract/json.ts'
import { canonicalJson } from '../../../src/domain/digest.ts'
import { maskPayload } from '../../../src/policy/evaluate/mask.ts'
import { growth, LINEAR } from '../../growth.ts'
import { runs } from '../../runs.ts'

const tag = (value: JsonValue): string => `<${canonicalJson(value)}>`
const mask = (payload: JsonObject, sensitive?: readonly string[]) => maskPayload(payload, sensitive, tag)

describe('masking', () => {
  it('replaces the values of sensitive fields everywhere, and reports their places', () => {
    const payload = { to: 'x', card: { number: '4', cvc: 123 }, people: [{ mail: 'a' }, { mail: 'b' }] }
    expect(mask(payload, ['payload.card.number', 'payload.people[1].mail', 'payload.not.there'])).toEqual({
      payload: {
        to: 'x',
        card: { number: '<"4">', cvc: 123 },
        people: [{ mail: 'a' }, { mail: '<"b">' }],
      },
      masked: ['/card/number', '/people/1/mail'],
    })
    expect(mask(payload, ['payload.card', 'payload.card.cvc'])).toEqual({
      payload: { ...payload, card: '<{"cvc":123,"number":"4"}>' },
      masked: ['/card'],
    })
  })

  it('takes linear time for payloads with many sensitive members', () => {
    const many = (size: number) => Object.fromEntries(Array.from({ length: size }, (_, i) => [`m${i}`, i]))
    expect(mask(many(10_000)).masked).toHaveLength(10_000)
    expect(growth((size) => mask(many(size)), 1_000)).toBeLessThan(LINEAR)
  })

  it('replaces everything when the sensitive fields are unknown', () => {
    expect(mask({ a: 1, 'b/c~': [2] })).toEqual({
      payload: { a: '<1>', 'b/c~': '<[2]>' },
      masked: ['/a', '/b~1c~0'],
    })
  })

  it('leaves everything else unchanged, members with names of inherited properties included', () => {
    const payload = JSON.parse('{"__proto__":{"x":1},"constructor":2,"a":{"__proto__":3}}') as JsonObject
    const shown = mask(payload, ['payload.a.b']).payload
    expect(canonicalJson(shown)).toBe(canonicalJson(payload))
    expect(canonicalJson(mask(payload, ['payload.__proto__.x']).payload)).toBe(
      '{"__proto__":{"x":"<1>"},"a":{"__proto__":3},"constructor":2}',
    )
  })

  it('is undone by putting the values back', () => {
    const key = fc.constantFrom('a', 'b', '__proto__', 'toString')
    const value = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 3 },
        fc.integer(),
        fc.string(),
        fc.constant(null),
        fc.array(tie('node'), { maxLength: 3 }),
        fc.dictionary(key, tie('node')),
      ),
    })).node
    const path = fc.array(fc.oneof(key, fc.nat(2)), { minLength: 1, maxLength: 3 })
    const field = path.map(
      (steps) => `payload${steps.map((one) => (typeof one === 'number' ? `[${one}]` : `.${one}`)).join('')}`,
    )
    fc.assert(
      fc.property(fc.dictionary(key, value), fc.array(field, { maxLength: 3 }), (object, fields) => {
        const payload = JSON.parse(JSON.stringify(object)) as JsonObject
        const before = canonicalJson(payload)
        const { payload: shown, masked } = mask(payload, fields)
        expect(canonicalJson(payload)).toBe(before)
        const restored = masked.reduce<JsonValue>((whole, pointer) => restore(whole, pointer), shown)
        expect(canonicalJson(restored)).toBe(before)
      }),
      { numRuns: runs(3_000) },
    )
  })
})

/** Reads the value back from the tag, which is its JSON here. */
function restore(whole: JsonValue, pointer: string): JsonValue {
  const steps = pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const go = (value: JsonValue, depth: number): JsonValue => {
    if (depth === steps.length) return JSON.parse((value as string).slice(1, -1)) as JsonValue
    const entries = Object.entries(value as JsonObject).map(([key, child]) => [
      key,
      key === steps[depth] ? go(child as JsonValue, depth + 1) : child,
    ])
    return Array.isArray(value)
      ? (entries.map(([, child]) => child) as JsonValue)
      : (Object.fromEntries(entries) as JsonValue)
  }
  return go(whole, 0)
}
