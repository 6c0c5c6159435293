import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import { compilePattern } from '../language/patterns.ts'
import { listOf, propertyNames, sameValueParts } from './part.ts'

/** The schemas for one member or element of a value, according to one schema. */
export interface Child {
  /** The member or element must fit all of these schemas. */
  readonly schemas: readonly JsonValue[]
  /** True when the member or element may be missing. */
  readonly optional: boolean
}

/** Descends one step into a value, using only this schema's own keywords. */
export function childOf(root: JsonObject, schema: JsonObject, step: string | number): Child {
  return typeof step === 'string' ? propertyOf(root, schema, step) : itemOf(schema, step)
}

function propertyOf(root: JsonObject, schema: JsonObject, name: string): Child {
  const { properties, required } = schema
  const optional = !listOf(required).includes(name)
  const schemas: JsonValue[] = []
  if (isObject(properties) && Object.hasOwn(properties, name)) schemas.push(properties[name] ?? true)
  schemas.push(...patternsFor(schema, name))
  if (schemas.length === 0) schemas.push(schema['additionalProperties'] ?? unevaluated(root, schema, name))
  return { schemas, optional }
}

function patternsFor(schema: JsonObject, name: string): readonly JsonValue[] {
  const patterns = schema['patternProperties']
  if (!isObject(patterns)) return []
  return Object.entries(patterns).flatMap(([pattern, child]) => {
    const compiled = compilePattern(pattern)
    return compiled.ok && compiled.pattern.test(name) && child !== undefined ? [child] : []
  })
}

/** Returns false when `unevaluatedProperties: false` refuses a name that no schema for the same value declares. */
function unevaluated(root: JsonObject, schema: JsonObject, name: string): JsonValue {
  if (schema['unevaluatedProperties'] !== false) return true
  return sameValueParts(root, schema).some(
    (part) =>
      propertyNames(part).includes(name) ||
      part['patternProperties'] !== undefined ||
      part['additionalProperties'] !== undefined ||
      (part !== schema && part['unevaluatedProperties'] !== undefined),
  )
}

function itemOf(schema: JsonObject, index: number): Child {
  const { prefixItems, items, minItems, maxItems } = schema
  const beyond = typeof maxItems === 'number' && index >= maxItems
  return {
    schemas: [beyond ? false : (listOf(prefixItems)[index] ?? items ?? true)],
    optional: !(typeof minItems === 'number' && index < minItems),
  }
}
