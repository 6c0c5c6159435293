import fc from 'fast-check'
import { parse } from 'yaml'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/contract/json.ts'
import { importExample } from '../../../src/policy/import/example.ts'
import { importOpenApi } from '../../../src/policy/import/openapi.ts'
import { createPayloadChecks } from '../../../src/policy/schema/payload.ts'

const schemaFor = (example: JsonObject): JsonObject => {
  const [file] = importExample('a.tool', example, { prefix: '' }).files
  return (parse(file?.text ?? '') as { input_schema: JsonObject }).input_schema
}
const problems = (schema: JsonObject, payload: JsonObject) => createPayloadChecks().of('r', schema)(payload)

describe('importExample', () => {
  it('types each field, requires it, and refuses others', () => {
    expect(
      schemaFor({ id: 'o_17', count: 3, price: 1.5, urgent: true, tags: ['a'], to: { city: 'Bonn' } }),
    ).toEqual({
      type: 'object',
      additionalProperties: false,
      required: ['id', 'count', 'price', 'urgent', 'tags', 'to'],
      properties: {
        id: { type: 'string', maxLength: 1000 },
        count: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
        price: { type: 'number' },
        urgent: { type: 'boolean' },
        tags: { type: 'array', maxItems: 100, items: { type: 'string', maxLength: 1000 } },
        to: {
          type: 'object',
          additionalProperties: false,
          required: ['city'],
          properties: { city: { type: 'string', maxLength: 1000 } },
        },
      },
    })
  })

  it('accepts the example itself, for any payload', () => {
    const key = fc.stringMatching(/^[a-z]{1,6}$/)
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.string(),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(key, tie('value'), { maxKeys: 4 }),
      ),
    })).value
    fc.assert(
      fc.property(fc.dictionary(key, value, { maxKeys: 5 }), (example) => {
        const payload = JSON.parse(JSON.stringify(example)) as JsonObject
        expect(problems(schemaFor(payload), payload)).toEqual([])
      }),
      { numRuns: 200 },
    )
  })
})

describe('one operation of a document', () => {
  const operation = (operationId: string) => ({ operationId, responses: {} })
  const document = {
    openapi: '3.1.0',
    paths: { '/a': { get: operation('first'), post: operation('second') } },
  }

  it('is imported alone, under the given name', () => {
    const result = importOpenApi(document, { prefix: '', one: { name: 'second', as: 'shop.second' } })
    expect(result?.files.map(({ path, tool }) => [path, tool])).toEqual([
      ['tools/shop.second.yaml', 'shop.second'],
    ])
    expect(result?.files[0]?.text).toContain('tool: "shop.second"')
  })

  it('is not found in a document without it', () => {
    expect(importOpenApi(document, { prefix: '', one: { name: 'third', as: 'x' } })?.files).toEqual([])
  })
})
