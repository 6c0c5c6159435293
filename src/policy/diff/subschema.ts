import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import { listOf, refTarget } from '../schema/part.ts'
import { createPayloadChecks } from '../schema/payload.ts'

/** The part of a contract's input_schema for one place of the payload: a schema, true (anything) or false (nothing). */
export interface Part {
  /** The whole contract, for local references. */
  readonly root: JsonObject
  readonly schema: JsonObject | boolean
  /** False when keywords of the contract that are not in the part affect the same place. */
  readonly exact: boolean
}

export function wholePart(root: JsonObject): Part {
  return partIn(root, root)
}

export function partIn(root: JsonObject, schema: JsonValue | undefined): Part {
  if (schema === false) return { root, schema, exact: true }
  if (!isObject(schema)) return { root, schema: true, exact: true }
  const { $ref, ...beside } = schema
  if (typeof $ref !== 'string') return { root, schema, exact: !hasAny(schema, COUPLING) }
  const target = refTarget(root, schema)
  const known = isObject(target) && !('$ref' in target)
  const whole = known ? { ...target, ...beside } : schema
  return { root, schema: whole, exact: known && !hasAny(whole, COUPLING) }
}

/** Keywords that make members depend on each other, or that constrain one value in several places. */
const COUPLING = ['allOf', 'anyOf', 'oneOf', 'not', 'if', '$ref', 'dependentRequired', 'dependentSchemas']
export const OBJECT_COUPLING = [
  'minProperties',
  'maxProperties',
  'propertyNames',
  'patternProperties',
  'unevaluatedProperties',
]
export const LIST_COUPLING = [
  'prefixItems',
  'uniqueItems',
  'contains',
  'minContains',
  'maxContains',
  'unevaluatedItems',
]

function hasAny(schema: JsonObject, keywords: readonly string[]): boolean {
  return keywords.some((keyword) => keyword in schema)
}

/** Returns the part below a key or an index. */
export function partBelow(part: Part, step: string | number): Part {
  const { root, schema } = part
  if (typeof schema === 'boolean') return part
  const coupling = typeof step === 'number' ? LIST_COUPLING : OBJECT_COUPLING
  const below = partIn(root, typeof step === 'number' ? itemSchema(schema, step) : memberSchema(schema, step))
  return { ...below, exact: below.exact && part.exact && !hasAny(schema, coupling) }
}

function itemSchema(schema: JsonObject, index: number): JsonValue | undefined {
  return listOf(schema['prefixItems'])[index] ?? schema['items']
}

function memberSchema(schema: JsonObject, key: string): JsonValue | undefined {
  const properties = schema['properties']
  if (isObject(properties) && Object.hasOwn(properties, key)) return properties[key]
  return schema['additionalProperties'] ?? (schema['unevaluatedProperties'] === false ? false : undefined)
}

export function requiredOf({ schema }: Part): readonly string[] {
  const required = typeof schema === 'boolean' ? undefined : schema['required']
  return Array.isArray(required) ? (required as readonly string[]) : []
}

export function propertiesOf({ schema }: Part): readonly string[] {
  const properties = typeof schema === 'boolean' ? undefined : schema['properties']
  return isObject(properties) ? Object.keys(properties) : []
}

/** Returns the value of a keyword; undefined for boolean schemas. */
export function keyword(part: Part, name: string): JsonValue | undefined {
  return typeof part.schema === 'boolean' ? undefined : part.schema[name]
}

/** Compiled parts by their text, because the same parts occur often. */
const CHECKS = createPayloadChecks()

/** Returns true when a value fits. Uses the checker that also checks call payloads. */
export type Fits = (value: JsonValue) => boolean

export function compileFits({ root, schema }: Part): Fits {
  if (typeof schema === 'boolean') return () => schema
  const definitions = Object.fromEntries(
    ['$defs', 'definitions'].flatMap((key) => (root[key] === undefined ? [] : [[key, root[key]]])),
  )
  const wrapped: JsonObject = { type: 'object', properties: { value: schema }, ...definitions }
  const check = CHECKS.of(JSON.stringify(wrapped), wrapped)
  return (value) => check({ value }).length === 0
}

export function numberKeyword(part: Part, name: string): readonly number[] {
  const value = keyword(part, name)
  return typeof value === 'number' ? [value] : []
}
