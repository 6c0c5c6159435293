import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { openApiDocument } from '../src/contract/operations/openapi.ts'

const packageFile = new URL('../package.json', import.meta.url)
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }

describe('the published schemas', () => {
  it('the published schemas match the declarations in src (npm run schemas writes them)', async () => {
    const text = `${JSON.stringify(openApiDocument(version), null, 2)}\n`
    await expect(text).toMatchFileSnapshot('../schemas/openapi.json')
  })
})

interface Document {
  readonly tags: readonly { name: string }[]
  readonly paths: Record<string, Record<string, { operationId: string; tags: string[] }>>
  readonly webhooks: Document['paths']
  readonly components: { readonly schemas: Record<string, { description?: string }> }
}

const written = JSON.parse(JSON.stringify(openApiDocument(version))) as Document

/** Every object of a document, with its place. */
function partsOf(value: unknown, place = ''): [string, Record<string, unknown>][] {
  if (value === null || typeof value !== 'object') return []
  const below = Object.entries(value).flatMap(([key, member]) => partsOf(member, `${place}/${key}`))
  return Array.isArray(value) ? below : [[place, value as Record<string, unknown>], ...below]
}

describe('the OpenAPI document', () => {
  it('defines each named schema once, and lets derived schemas refer to it', () => {
    const said = (schema: object): string => JSON.stringify({ ...schema, description: undefined })
    const { schemas } = written.components
    const named = new Set(Object.values(schemas).map(said))
    const twice = partsOf(schemas)
      .filter(([place, part]) => place.split('/').length > 2 && named.has(said(part)))
      .map(([place]) => place)
    expect(twice).toEqual([])
    expect(schemas['ThreadList']).toMatchObject({
      properties: { threads: { items: { $ref: '#/components/schemas/ThreadSummary' } } },
    })
  })

  it('has valid references, unique operation names, and a purpose for each plane', () => {
    const references = partsOf(written).flatMap(([, part]) => ('$ref' in part ? [String(part['$ref'])] : []))
    const known = Object.keys(written.components.schemas).map((name) => `#/components/schemas/${name}`)
    expect(references.filter((one) => !known.includes(one))).toEqual([])
    const operations = [written.paths, written.webhooks].flatMap((all) =>
      Object.values(all).flatMap((methods) => Object.values(methods)),
    )
    const ids = operations.map(({ operationId }) => operationId)
    expect(ids).toEqual([...new Set(ids)])
    expect([...new Set(operations.flatMap(({ tags }) => tags))].sort()).toEqual(
      written.tags.map(({ name }) => name).sort(),
    )
  })

  it('contains only valid JSON Schemas, because the gateway compiles them unchecked', () => {
    const { components } = JSON.parse(JSON.stringify(openApiDocument(version))) as {
      components: { schemas: Record<string, object> }
    }
    const ajv = new Ajv2020({ strict: false })
    const invalid = Object.entries(components.schemas).filter(([, schema]) => !ajv.validateSchema(schema))
    expect(invalid.map(([name]) => name)).toEqual([])
    expect(Object.keys(components.schemas)).toContain('DecisionRequest')
  })
})
