import { canonicalJson, pointerStep } from './canonical-json.ts'
import type { Json } from './types.ts'

/** A value that violates the schema. */
export interface SchemaError {
  /** The place of the value, by RFC 6901. */
  readonly pointer: string
  readonly message: string
}

type Schema = Record<string, unknown>
type Check = (value: Json, schema: Schema, pointer: string) => SchemaError[]

/**
 * Checks arguments against a tool's input_schema before a round trip (docs/agent-api.md, step 3). The check knows the
 * most common keywords, and the gateway checks all keywords.
 */
export function schemaErrors(value: Json, schema: Schema | boolean, pointer = ''): SchemaError[] {
  if (typeof schema === 'boolean') return []
  return CHECKS.flatMap((check) => check(value, schema, pointer))
}

const CHECKS: readonly Check[] = [checkType, checkEnum, checkNumber, checkString, checkList, checkObject]

function checkType(value: Json, schema: Schema, pointer: string): SchemaError[] {
  const { type } = schema
  if (type === undefined) return []
  const wanted = [type].flat() as string[]
  return wanted.some((one) => isOf(value, one))
    ? []
    : [{ pointer, message: `must be ${wanted.join(' or ')}` }]
}

function isOf(value: Json, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'null') return value === null
  if (type === 'object') return isObject(value)
  return typeof value === type
}

function checkEnum(value: Json, schema: Schema, pointer: string): SchemaError[] {
  const allowed = 'const' in schema ? [schema['const'] as Json] : (schema['enum'] as Json[] | undefined)
  // compared without the order of members, which may differ between a copied payload and the contract
  if (allowed === undefined || allowed.some((one) => canonicalJson(one) === canonicalJson(value))) return []
  return [{ pointer, message: `must be one of ${allowed.map((one) => JSON.stringify(one)).join(', ')}` }]
}

function checkNumber(value: Json, schema: Schema, pointer: string): SchemaError[] {
  if (typeof value !== 'number') return []
  const { minimum = -Infinity, maximum = Infinity } = schema as { minimum?: number; maximum?: number }
  if (value < minimum) return [{ pointer, message: `must be at least ${minimum}` }]
  return value > maximum ? [{ pointer, message: `must be at most ${maximum}` }] : []
}

/** Leaves `pattern` to the gateway, which matches it in linear time. */
function checkString(value: Json, schema: Schema, pointer: string): SchemaError[] {
  if (typeof value !== 'string') return []
  const { minLength = 0, maxLength = Infinity } = schema as { minLength?: number; maxLength?: number }
  const length = Array.from(value).length
  if (length < minLength) return [{ pointer, message: `must have at least ${minLength} characters` }]
  return length > maxLength ? [{ pointer, message: `must have at most ${maxLength} characters` }] : []
}

function checkList(value: Json, schema: Schema, pointer: string): SchemaError[] {
  if (!Array.isArray(value)) return []
  const list = value as readonly Json[]
  const { minItems = 0, maxItems = Infinity } = schema as { minItems?: number; maxItems?: number }
  if (list.length < minItems) return [{ pointer, message: `must have at least ${minItems} items` }]
  if (list.length > maxItems) return [{ pointer, message: `must have at most ${maxItems} items` }]
  const { items, prefixItems = [] } = schema as { items?: Schema | boolean; prefixItems?: unknown[] }
  if (items === undefined) return []
  return list.flatMap((item, i) =>
    i < prefixItems.length ? [] : schemaErrors(item, items, `${pointer}/${i}`),
  )
}

function checkObject(value: Json, schema: Schema, pointer: string): SchemaError[] {
  if (!isObject(value)) return []
  const {
    required = [],
    properties = {},
    additionalProperties,
  } = schema as {
    required?: string[]
    properties?: Record<string, Schema>
    additionalProperties?: boolean | Schema
  }
  const missing = required.filter((key) => !Object.hasOwn(value, key))
  const members = Object.entries(value).flatMap(([key, member]) => {
    const place = pointer + pointerStep(key)
    if (Object.hasOwn(properties, key))
      return schemaErrors(member, properties[key] as Schema | boolean, place)
    if ('patternProperties' in schema) return []
    if (additionalProperties === false) return [{ pointer: place, message: 'is not in the contract' }]
    return typeof additionalProperties === 'object' ? schemaErrors(member, additionalProperties, place) : []
  })
  return [...missing.map((key) => ({ pointer: `${pointer}/${key}`, message: 'is required' })), ...members]
}

function isObject(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
