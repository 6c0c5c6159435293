import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/contract/json.ts'
import { sampleOf } from '../../../src/policy/diff/sample.ts'
import { wholePart } from '../../../src/policy/diff/subschema.ts'
import { createPayloadChecks } from '../../../src/policy/schema/payload.ts'

/** Payloads that fit a contract: the first call that `add tool` prints, and examples of `diff`. */

const SCHEMAS: Record<string, JsonObject> = {
  'formats, choices and references': {
    type: 'object',
    required: ['id', 'kind', 'at', 'count', 'to', 'tags', 'ref'],
    properties: {
      id: { type: 'string', examples: ['o_17'] },
      kind: { enum: ['full', 'part'] },
      at: { type: 'string', format: 'date-time' },
      count: { type: 'integer', minimum: 5 },
      to: { type: 'object', required: ['city'], properties: { city: { type: 'string', minLength: 6 } } },
      tags: { type: 'array', items: { type: 'boolean' }, minItems: 2 },
      ref: { $ref: '#/$defs/Ref' },
    },
    $defs: { Ref: { oneOf: [{ const: 7 }, { type: 'null' }] } },
  },
  'parts that `allOf` joins': {
    type: 'object',
    allOf: [
      { required: ['customer'], properties: { customer: { type: 'string' } } },
      { $ref: '#/$defs/Total' },
    ],
    $defs: {
      Total: { required: ['total'], properties: { total: { type: 'integer', exclusiveMinimum: 5 } } },
    },
  },
  'bounds, multiples and patterns': {
    type: 'object',
    required: ['least', 'most', 'step', 'account'],
    properties: {
      least: { type: 'number', exclusiveMinimum: 5 },
      most: { type: 'integer', maximum: -3 },
      step: { type: 'integer', multipleOf: 7, minimum: 1 },
      account: { type: 'string', pattern: '^acct_[a-z0-9]{2,9}$' },
    },
  },
  'one of several shapes': {
    type: 'object',
    anyOf: [
      { required: ['card'], properties: { card: { type: 'string' } } },
      { required: ['iban'], properties: { iban: { type: 'string' } } },
    ],
  },
  'a schema that contains itself, optionally': {
    type: 'object',
    required: ['value'],
    properties: { value: { type: 'integer' }, next: { $ref: '#/$defs/Node' } },
    $defs: { Node: { type: 'object', properties: { next: { $ref: '#/$defs/Node' } } } },
  },
}

describe('a sample payload', () => {
  it.each(Object.entries(SCHEMAS))('fits %s', (_, schema) => {
    const sample = sampleOf([wholePart(schema)], 'object') as JsonObject
    expect(sample).toBeTypeOf('object')
    expect(createPayloadChecks().of(JSON.stringify(schema), schema)(sample)).toEqual([])
  })

  it('is missing for a schema that must contain itself, because no payload fits', () => {
    const schema: JsonObject = {
      type: 'object',
      required: ['next'],
      properties: { next: { $ref: '#/$defs/Node' } },
      $defs: { Node: { type: 'object', required: ['next'], properties: { next: { $ref: '#/$defs/Node' } } } },
    }
    expect(sampleOf([wholePart(schema)], 'object')).toBeUndefined()
  })
})
