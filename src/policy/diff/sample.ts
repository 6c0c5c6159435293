import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { listOf } from '../schema/part.ts'
import { lengthMachine } from './machines.ts'
import { patternMachine } from './pattern-machine.ts'
import { FORMAT_SAMPLES } from './strings.ts'
import { compileFits, keyword, numberKeyword, partBelow, partIn, requiredOf, type Part } from './subschema.ts'
import { searchTexts } from './texts.ts'

/** The maximum nesting depth for which a contract gets a sample. */
const MAX_DEPTH = 8

/** Returns the first plain value that fits all parts, of the given JSON type if any; undefined when no value fits. */
export function sampleOf(
  parts: readonly Part[],
  type?: 'array' | 'object',
  depth: number = 0,
): JsonValue | undefined {
  if (depth > MAX_DEPTH) return undefined
  const fitting = parts.map(compileFits)
  for (const value of candidates(parts.flatMap(branchesOf), type, depth)) {
    if (fitting.every((fit) => fit(value))) return value
  }
  return undefined
}

/** The most combinations of branches that are tried. */
const MOST_BRANCHES = 16

/** Returns the part with its `allOf` joined, once for each choice of `oneOf` and `anyOf`. */
function branchesOf(part: Part): readonly Part[] {
  if (typeof part.schema === 'boolean') return [part]
  const { allOf, oneOf, anyOf, ...own } = part.schema
  let joined: readonly JsonObject[] = [own]
  for (const one of listOf(allOf)) joined = joined.map((schema) => join(schema, resolved(part, one)))
  for (const choices of [listOf(oneOf), listOf(anyOf)])
    if (choices.length > 0)
      joined = joined.flatMap((schema) => choices.map((one) => join(schema, resolved(part, one))))
  return joined.slice(0, MOST_BRANCHES).map((schema) => ({ ...part, schema }))
}

function resolved({ root }: Part, schema: JsonValue): JsonObject {
  const { schema: target } = partIn(root, schema)
  return typeof target === 'boolean' ? {} : target
}

/** Joins two schemas to a stricter schema. If both have another keyword, the later value counts. */
function join(one: JsonObject, other: JsonObject): JsonObject {
  const required = [...new Set([...listOf(one['required']), ...listOf(other['required'])])]
  const properties = { ...(one['properties'] as JsonObject), ...(other['properties'] as JsonObject) }
  return { ...one, ...other, required, properties }
}

/** Yields values lazily, because most are never read. */
function* candidates(
  parts: readonly Part[],
  type: 'array' | 'object' | undefined,
  depth: number,
): Generator<JsonValue> {
  if (type === undefined) for (const part of parts) yield* plainSamples(part)
  for (const part of parts) {
    if (type !== 'object') yield listSample(part, depth)
    if (type !== 'array') yield objectSample(part, depth)
  }
}

function* plainSamples(part: Part): Generator<JsonValue> {
  for (const name of ['const', 'default']) {
    const value = keyword(part, name)
    if (value !== undefined) yield value
  }
  for (const name of ['enum', 'examples']) {
    const values = keyword(part, name)
    if (Array.isArray(values)) yield* values as readonly JsonValue[]
  }
  yield* ['x', 'example', 0, 1, true, false, null]
  yield* ['minimum', 'maximum', 'multipleOf'].flatMap((name) => numberKeyword(part, name))
  yield* numberKeyword(part, 'exclusiveMinimum').map((bound) => bound + 1)
  yield* numberKeyword(part, 'exclusiveMaximum').map((bound) => bound - 1)
  yield* numberKeyword(part, 'minLength').map((length) => 'x'.repeat(length))
  yield* FORMAT_SAMPLES
  const pattern = keyword(part, 'pattern')
  if (typeof pattern === 'string') yield* matching(pattern, Math.max(1, ...numberKeyword(part, 'minLength')))
}

/** Returns strings, including some of the shortest that match the pattern. */
function matching(pattern: string, length: number): readonly string[] {
  const machine = patternMachine(pattern)
  return machine === undefined ? [] : searchTexts([machine, lengthMachine(Math.min(length, 64))]).texts
}

function listSample(part: Part, depth: number): JsonValue {
  const length = Math.max(0, ...numberKeyword(part, 'minItems'))
  if (length === 0) return []
  const item = sampleOf([partBelow(part, 0)], undefined, depth + 1)
  return item === undefined ? [] : Array.from({ length: Math.min(length, 1_000) }, () => item)
}

function objectSample(part: Part, depth: number): JsonObject {
  const members = requiredOf(part).flatMap((key): [string, JsonValue][] => {
    const value = sampleOf([partBelow(part, key)], undefined, depth + 1)
    return value === undefined ? [] : [[key, value]]
  })
  return Object.fromEntries(members)
}
