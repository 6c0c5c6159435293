import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { compilePattern } from '../language/patterns.ts'
import { isSchema, propertyNames, sameValueParts } from './part.ts'

/** One step into a value, as one schema sees it. */
export interface Child {
  /** All must hold for the value at this step. */
  readonly schemas: readonly JsonValue[]
  /** True when the value may be missing. */
  readonly optional: boolean
}

/** Takes one step into a value, by the keywords of this schema itself. */
export function childOf(root: JsonObject, schema: JsonObject, step: string | number): Child {
  return typeof step === 'string' ? propertyOf(root, schema, step) : itemOf(schema, step)
}

function propertyOf(root: JsonObject, schema: JsonObject, name: string): Child {
  const { properties, required } = schema
  const optional = !(Array.isArray(required) && (required as readonly JsonValue[]).includes(name))
  const schemas: JsonValue[] = []
  if (isSchema(properties) && Object.hasOwn(properties, name)) schemas.push(properties[name] ?? true)
  schemas.push(...patternsFor(schema, name))
  if (schemas.length === 0) schemas.push(schema['additionalProperties'] ?? unevaluated(root, schema, name))
  return { schemas, optional }
}

function patternsFor(schema: JsonObject, name: string): readonly JsonValue[] {
  const patterns = schema['patternProperties']
  if (!isSchema(patterns)) return []
  return Object.entries(patterns).flatMap(([pattern, child]) => {
    const compiled = compilePattern(pattern)
    return compiled.ok && compiled.pattern.test(name) && child !== undefined ? [child] : []
  })
}

/** False when `unevaluatedProperties: false` refuses a name that no schema for the same value knows. */
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
  const prefix = Array.isArray(prefixItems) ? (prefixItems as readonly JsonValue[])[index] : undefined
  const beyond = typeof maxItems === 'number' && index >= maxItems
  return {
    schemas: [beyond ? false : (prefix ?? items ?? true)],
    optional: !(typeof minItems === 'number' && index < minItems),
  }
}
