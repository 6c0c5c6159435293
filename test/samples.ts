import { readFileSync } from 'node:fs'

/**
 * The operations of schemas/openapi.json, and bodies that fit them. Tests that walk all endpoints read them here, and
 * not from a list by hand.
 */

export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
  readonly minItems?: number
  readonly additionalProperties?: boolean | Schema
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly schema: Schema
}

export interface Endpoint {
  readonly id: string
  readonly plane: 'agent' | 'review' | 'admin' | 'public'
  readonly method: string
  readonly path: string
  readonly parameters: readonly Parameter[]
  readonly body: Schema | undefined
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}
interface OperationObject {
  readonly operationId: string
  readonly tags: readonly Endpoint['plane'][]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}

const { paths, components } = JSON.parse(
  readFileSync(new URL('../schemas/openapi.json', import.meta.url), 'utf8'),
) as Document

export const ENDPOINTS: readonly Endpoint[] = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    id: operation.operationId,
    plane: operation.tags[0] ?? 'public',
    method: method.toUpperCase(),
    path,
    parameters: operation.parameters ?? [],
    body: operation.requestBody?.content['application/json']?.schema,
  })),
)

export function resolved(schema: Schema): Schema {
  const name = /^#\/components\/schemas\/(\w+)$/.exec(schema.$ref ?? '')?.[1]
  if (name === undefined) return schema
  const found = components.schemas[name]
  if (found === undefined) throw new Error(`openapi.json has no schema ${name}`)
  return resolved(found)
}

export const component = (name: string): Schema => resolved({ $ref: `#/components/schemas/${name}` })

/** Values of members whose form the schema alone does not give. */
export type Named = Readonly<Record<string, unknown>>

/** A value that fits the schema: every member that is required, and those that `named` has. */
export function sampleOf(schema: Schema, named: Named, all = false): unknown {
  const { type, enum: listed, const: only, properties = {}, required = [], ...rest } = resolved(schema)
  if (only !== undefined) return only
  if (listed !== undefined) return listed[0]
  if (rest.anyOf !== undefined) return sampleOf(rest.anyOf[0] as Schema, named, all)
  if (type === 'object') {
    const members = Object.entries(properties).filter(
      ([name]) => all || required.includes(name) || name in named,
    )
    return Object.fromEntries(
      members.map(([name, member]) => [name, name in named ? named[name] : sampleOf(member, named, all)]),
    )
  }
  if (type === 'array') return rest.items === undefined ? [] : [sampleOf(rest.items, named, all)]
  if (type === 'integer' || type === 'number') return rest.minimum ?? 1
  if (type === 'boolean') return true
  if (rest.format === 'date-time') return '2026-03-02T12:00:00Z'
  return rest.pattern === '^[0-9a-f]{64}$' ? 'a'.repeat(64) : 'a'
}

/** Places of the texts in a body that fits, each as the path to it, in free objects too. */
export function textPlaces(schema: Schema, way: readonly string[] = []): (readonly string[])[] {
  const { type, enum: listed, properties, items } = resolved(schema)
  if (listed !== undefined) return []
  if (type === 'string') return [way]
  if (type === 'array') return items === undefined ? [] : textPlaces(items, [...way, '0'])
  if (type !== 'object') return []
  const members = Object.entries(properties ?? {})
  return members.flatMap(([name, member]) => textPlaces(member, [...way, name]))
}
