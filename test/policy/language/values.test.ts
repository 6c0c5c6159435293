import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../../../src/contract/json.ts'
import { MISSING, UNREADABLE, walk, type Reading } from '../../../src/policy/language/reading.ts'
import { createPayloadChecks } from '../../../src/policy/schema/payload.ts'
import { schemaValues } from '../../../src/policy/schema/values.ts'
import { fitsLength, inRange, type Values } from '../../../src/policy/schema/possible.ts'
import { runs } from '../../runs.ts'

/** The type check and the analysis rest on a law: every value of a valid payload is among the values of its path. */
const number = fc.integer({ min: -2, max: 4 })
const text = fc.constantFrom('a', 'b', 'abc', '')
const scalar = fc.oneof(number, text, fc.boolean(), fc.constant(null), fc.constantFrom(1.5, 0.25))
const value: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('x', 'y'), tie('value')),
  ),
})).value

const schema: fc.Arbitrary<JsonValue> = fc.letrec<{ schema: JsonValue; some: JsonValue[] }>((tie) => ({
  some: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.oneof({ weight: 8, arbitrary: fc.constant(true) }, fc.constant(false)),
    fc
      .record(
        {
          type: fc.uniqueArray(
            fc.constantFrom('null', 'object', 'boolean', 'number', 'integer', 'string', 'array'),
            { minLength: 1, maxLength: 5 },
          ),
          enum: fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }),
          const: value,
          minimum: number,
          exclusiveMaximum: number,
          multipleOf: fc.constantFrom(0.5, 2, 3),
          maxLength: fc.nat(2),
          pattern: fc.constant('^a'),
          minItems: fc.nat(2),
          maxItems: fc.nat(2),
          prefixItems: tie('some'),
          items: tie('schema'),
          properties: fc.dictionary(fc.constantFrom('x', 'y'), tie('schema')),
          patternProperties: fc.dictionary(fc.constantFrom('x', 'z'), tie('schema')),
          required: fc.uniqueArray(fc.constantFrom('x', 'y')),
          additionalProperties: tie('schema'),
          unevaluatedProperties: fc.constant(false),
          allOf: tie('some'),
          anyOf: tie('some'),
          oneOf: tie('some'),
          not: tie('schema'),
          else: tie('schema'),
          $ref: fc.constantFrom('#/$defs/one', '#/$defs/two'),
        },
        { requiredKeys: [] },
      )
      .map((made) => (made.else === undefined ? made : { ...made, if: false })) as fc.Arbitrary<JsonValue>,
  ),
})).schema

const PATHS: readonly (readonly (string | number)[])[] = [
  ['x'],
  ['y'],
  ['x', 'x'],
  ['x', 0],
  ['x', 1, 'y'],
  ['y', 0, 0],
]

function holds(values: Values, reading: Reading): boolean {
  if (reading === MISSING) return values.missing
  if (reading === UNREADABLE) return values.null || values.blocked
  if (typeof reading === 'boolean') return values.booleans.includes(reading)
  if (typeof reading === 'number')
    return (
      values.numbers !== undefined &&
      inRange(values.numbers, reading) &&
      (values.numbers.among?.includes(reading) ?? true)
    )
  if (typeof reading === 'string') {
    const { texts } = values
    return (
      texts !== undefined &&
      fitsLength(texts, reading) &&
      texts.forms.every((form) => form.fits(reading)) &&
      (texts.among?.includes(reading) ?? true)
    )
  }
  if (!Array.isArray(reading)) return values.objects
  const { lists } = values
  const items = reading as readonly JsonValue[]
  if (!lists || items.length < lists.min || items.length > lists.max) return false
  const element = lists.element()
  return items.every((item) => holds(element, item ?? UNREADABLE))
}

describe('the values of a path', () => {
  it('the values of a path include every value that a valid payload can have there', () => {
    let valid = 0
    fc.assert(
      fc.property(
        fc.record({ x: schema, y: schema, one: schema }),
        fc.array(fc.record({ x: value, y: value }, { requiredKeys: [] }), { minLength: 40, maxLength: 40 }),
        fc.uniqueArray(fc.constantFrom('x', 'y')),
        ({ x, y, one }, payloads, required) => {
          const $defs: JsonObject = {
            one,
            two: { type: ['string', 'array', 'object'], items: { type: 'integer' } },
          }
          const root: JsonObject = { type: 'object', properties: { x, y }, required, $defs }
          if (/"#\/\$defs\/one"/.test(JSON.stringify(one))) return
          const check = createPayloadChecks().of('revision', root)
          for (const payload of payloads as readonly JsonObject[]) {
            if (check(payload).length > 0) continue
            valid++
            for (const path of PATHS) {
              if (!holds(schemaValues(root, path), walk(payload, path)))
                expect.fail(`${JSON.stringify(payload)} at ${path.join()} of ${JSON.stringify(root)}`)
            }
          }
        },
      ),
      { numRuns: runs(300) },
    )
    expect(valid).toBeGreaterThan(runs(200))
  })
})
