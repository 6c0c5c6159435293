import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { isObject } from './schema.ts'

/** The deepest level that a sample describes. */
const DEEPEST = 8

/**
 * Returns a sample payload for the schema, from its constants, defaults, examples and first choices. The sample may not
 * fit, for example because it ignores patterns.
 */
export function sampleOf(schema: JsonObject): JsonObject {
  const sample = sampleAt(schema, schema, 0)
  return isObject(sample) ? sample : {}
}

function sampleAt(schema: JsonValue | undefined, root: JsonObject, depth: number): JsonValue {
  if (!isObject(schema) || depth > DEEPEST) return {}
  const { $ref, allOf } = schema
  if (typeof $ref === 'string') return sampleAt(referred(root, $ref), root, depth + 1)
  const [chosen] = [schema['examples'], schema['enum']].flatMap((list) =>
    Array.isArray(list) ? list.slice(0, 1) : [],
  )
  const given = schema['const'] ?? schema['default'] ?? (chosen as JsonValue | undefined)
  if (given !== undefined) return given
  const [branch] = [schema['oneOf'], schema['anyOf']].flatMap((list) =>
    Array.isArray(list) ? list.slice(0, 1) : [],
  )
  if (branch !== undefined)
    return sampleAt({ ...without(schema), ...(branch as JsonObject) }, root, depth + 1)
  if (Array.isArray(allOf))
    return sampleAt(
      Object.assign({}, without(schema), ...(allOf as JsonObject[])) as JsonObject,
      root,
      depth + 1,
    )
  return ofType(schema, root, depth)
}

const without = (schema: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => !['oneOf', 'anyOf', 'allOf'].includes(key)))

function referred(root: JsonObject, $ref: string): JsonValue | undefined {
  let place: JsonValue | undefined = root
  for (const part of $ref
    .replace(/^#\/?/, '')
    .split('/')
    .filter((one) => one !== ''))
    place = isObject(place)
      ? place[decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')]
      : undefined
  return place
}

function ofType(schema: JsonObject, root: JsonObject, depth: number): JsonValue {
  const { type, properties, required, items, minItems } = schema
  const kind = Array.isArray(type) ? type.find((one) => one !== 'null') : type
  switch (kind) {
    case 'string':
      return textFor(schema)
    case 'integer':
    case 'number':
      return typeof schema['minimum'] === 'number' ? Math.max(1, schema['minimum']) : 1
    case 'boolean':
      return false
    case 'null':
      return null
    case 'array':
      return Array.from({ length: typeof minItems === 'number' ? Math.min(minItems, 3) : 1 }, () =>
        sampleAt(items, root, depth + 1),
      )
    default: {
      const names = Array.isArray(required) ? (required as string[]) : []
      const known = isObject(properties) ? properties : {}
      return Object.fromEntries(names.map((name) => [name, sampleAt(known[name], root, depth + 1)]))
    }
  }
}

const TEXTS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  time: '12:00:00Z',
  email: 'someone@example.com',
  uri: 'https://example.com/',
  uuid: '6f1c2b9a-1d0e-4b7e-9a53-0c8d4f0e2a11',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  hostname: 'example.com',
}

function textFor({ format, minLength, maxLength }: JsonObject): string {
  const text = (typeof format === 'string' ? TEXTS[format] : undefined) ?? 'text'
  const padded = typeof minLength === 'number' && minLength <= 1_000 ? text.padEnd(minLength, 'x') : text
  return typeof maxLength === 'number' ? padded.slice(0, maxLength) : padded
}
