import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import type { Scalar } from '../language/compiled-test.ts'
import { payloadName } from '../language/fields.ts'
import type { Fact } from '../language/facts.ts'
import { listOf, refTarget } from '../schema/part.ts'

/** The possible values of a field, as far as a contract defines them. */
export interface Shape {
  readonly kinds: readonly Kind[]
  /** All strings and numbers that the field can equal. */
  readonly values?: readonly Scalar[]
  /** True when the field can be null. */
  readonly nullable?: true
  /** The shape of a list's elements. */
  readonly item?: Shape
  /** The members of an object in a list, which a match about entries reads. */
  readonly entry?: EntryShape
  readonly description?: string
}

export interface EntryShape {
  /** Equal for equal members. */
  readonly key: string
  /** The entry itself first. Names begin with a dot. */
  paths(): readonly PayloadPath[]
}

export type Kind = 'text' | 'number' | 'boolean' | 'list' | 'object'

const KINDS: readonly Kind[] = ['text', 'number', 'boolean', 'list', 'object']
export const ANYTHING: Shape = { kinds: KINDS, nullable: true }
export const TEXT: Shape = { kinds: ['text'] }
export const TEXTS: Shape = { kinds: ['list'], item: TEXT }
/** The results of `sql_has` for one text, or for a list of texts. */
export const TRUTHS: Shape = { kinds: ['boolean', 'list'] }

/** Returns the shape of a fact. */
export function shapeOfFact({ schema, doc }: Fact): Shape {
  return { ...shapeOf({}, schema), description: doc }
}

/** A step that represents any index of a list. No member name can equal it. */
export const ANY_INDEX = '[\0]'

/** One payload path of a contract. */
export interface PayloadPath {
  /** The path as a rule writes it, with ANY_INDEX for each list index. */
  readonly name: string
  readonly shape: Shape
  /** True when undeclared paths may exist below this path. */
  readonly open: boolean
}

const MAX_PATHS = 400
const MAX_PATH_DEPTH = 8

interface Walk {
  readonly root: JsonObject
  readonly paths: PayloadPath[]
}

/** Returns the payload paths of an input_schema, `payload` itself first. */
export function payloadPaths(schema: JsonObject): readonly PayloadPath[] {
  const walk: Walk = { root: schema, paths: [] }
  collect(walk, { name: 'payload', schema, depth: 0 })
  return walk.paths
}

/** Returns the shape of one object in a list. */
export function entryShape(root: JsonObject, schema: JsonValue): Shape {
  const paths = (): readonly PayloadPath[] => {
    const walk: Walk = { root, paths: [] }
    collect(walk, { name: '', schema, depth: 0 })
    return walk.paths.map((path) => (path.name.startsWith('[') ? { ...path, name: `.${path.name}` } : path))
  }
  const own = JSON.stringify(schema)
  // A reference means something else in each contract.
  const key = own.includes('"$ref"') ? `${own} ${JSON.stringify(root)}` : own
  return { ...shapeOf(root, schema), entry: { key, paths } }
}

function collect(
  walk: Walk,
  {
    name,
    schema,
    depth,
  }: { readonly name: string; readonly schema: JsonValue | undefined; readonly depth: number },
): void {
  const parts = partsOf(walk.root, schema)
  const deepest = depth === MAX_PATH_DEPTH || walk.paths.length >= MAX_PATHS
  walk.paths.push({
    name,
    shape: shapeOf(walk.root, schema),
    open: deepest || parts.some(isOpen) || parts.length === 0,
  })
  if (deepest) return
  const properties = new Map<string, JsonValue>()
  for (const part of parts)
    for (const [key, value] of Object.entries(asObject(part['properties']) ?? {}))
      if (key !== '' && !properties.has(key)) properties.set(key, value)
  for (const [key, value] of properties)
    collect(walk, {
      name: `${name}${payloadName([key]).slice('payload'.length)}`,
      schema: value,
      depth: depth + 1,
    })
  const items = parts.map((part) => part['items']).find((one) => one !== undefined && one !== false)
  if (items !== undefined) collect(walk, { name: `${name}${ANY_INDEX}`, schema: items, depth: depth + 1 })
}

/** Returns all schemas that may apply to one value: the schema, the target of its `$ref`, and its branches. */
function partsOf(
  root: JsonObject,
  schema: JsonValue | undefined,
  followed: readonly JsonValue[] = [],
): readonly JsonObject[] {
  const here = asObject(schema)
  if (!here || followed.includes(here)) return []
  const seen = [...followed, here]
  const branches = ['allOf', 'anyOf', 'oneOf'].flatMap((keyword) => listOf(here[keyword]))
  const conditional = [here['then'], here['else']]
  return [
    here,
    ...[refTarget(root, here), ...branches, ...conditional].flatMap((one) => partsOf(root, one, seen)),
  ]
}

const BRANCHES = ['$ref', 'allOf', 'anyOf', 'oneOf', 'if']

/**
 * Returns true when undeclared members or entries may exist. A schema that has only branches does not count as open.
 */
function isOpen(part: JsonObject): boolean {
  const { type } = part
  const says = (name: string): boolean => type === name || (Array.isArray(type) && type.includes(name))
  if (part['patternProperties'] !== undefined || part['prefixItems'] !== undefined) return true
  if (type === undefined && BRANCHES.some((keyword) => keyword in part)) return false
  const closed = part['additionalProperties'] === false || part['unevaluatedProperties'] === false
  if (says('object') || 'properties' in part) return !closed
  if (says('array') || 'items' in part) return !('items' in part)
  return type === undefined && !('enum' in part) && !('const' in part)
}

function shapeOf(root: JsonObject, schema: JsonValue | undefined, depth = 0): Shape {
  const parts = partsOf(root, schema)
  const kinds = new Set(parts.flatMap(kindsOf))
  const texts = parts.map(({ description }) => description).find((one) => typeof one === 'string')
  const shape = { kinds: kinds.size === 0 ? KINDS : KINDS.filter((kind) => kinds.has(kind)) }
  const values = valuesOf(parts)
  const items = parts.map((part) => part['items']).find((one) => one !== undefined)
  return {
    ...shape,
    ...(values && { values }),
    ...((kinds.size === 0 || parts.some(permitsNull)) && { nullable: true as const }),
    ...(items !== undefined && depth < MAX_PATH_DEPTH && { item: itemOf(root, items, depth + 1) }),
    ...(typeof texts === 'string' && { description: texts }),
  }
}

function itemOf(root: JsonObject, schema: JsonValue, depth: number): Shape {
  const shape = shapeOf(root, schema, depth)
  return shape.kinds.includes('object') ? entryShape(root, schema) : shape
}

function permitsNull({ type, enum: listed, const: only }: JsonObject): boolean {
  return type === 'null' || only === null || listOf(type).includes('null') || listOf(listed).includes(null)
}

const KIND_OF_TYPE: Readonly<Record<string, Kind>> = {
  string: 'text',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  array: 'list',
  object: 'object',
}

function kindsOf(part: JsonObject): readonly Kind[] {
  const { type } = part
  const names = typeof type === 'string' ? [type] : listOf(type)
  if (names.length > 0)
    return names.flatMap((name) => (typeof name === 'string' ? (KIND_OF_TYPE[name] ?? []) : []))
  const values = valuesOf([part])
  if (values) return values.map((value) => (typeof value === 'string' ? 'text' : (typeof value as Kind)))
  // `properties` without a type permits values of other kinds.
  return []
}

/** Returns the scalars of `enum` and `const`; undefined unless every part has one of these keywords. */
function valuesOf(parts: readonly JsonObject[]): readonly Scalar[] | undefined {
  const named = parts.filter((part) => 'enum' in part || 'const' in part)
  if (named.length === 0 || (named.length < parts.length && parts.length > 1)) return undefined
  const values = named.flatMap((part) => ('const' in part ? [part['const']] : listOf(part['enum'])))
  return [...new Set(values.filter((value) => value !== null && typeof value !== 'object'))] as Scalar[]
}

function asObject(value: JsonValue | undefined): JsonObject | undefined {
  return isObject(value) ? value : undefined
}
