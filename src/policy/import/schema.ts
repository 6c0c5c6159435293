import { type JsonObject, type JsonValue, isObject, pointerNames, pointerStep } from '../../contract/json.ts'
import { toNfc } from '../../domain/normal-form.ts'
import { compilePattern } from '../language/patterns.ts'
import { BOUNDING, SCHEMA_KEYWORDS, type KeywordKind } from '../schema/check.ts'
import { misfitOfDefault } from '../schema/contradictions.ts'
import { SCHEMA_FORMATS } from '../schema/formats.ts'
import { showForeign, showHidden } from '../text/text.ts'

/**
 * A note about a position in a foreign description (JSON Pointer), such as a dropped condition, which makes the
 * contract laxer.
 */
export interface ImportNote {
  readonly pointer: string
  readonly message: string
  /** The tool that gets no contract for this reason. */
  readonly leftOut?: string
}

export interface SchemaImport {
  /** The value that `#` refers to in a `$ref`. */
  readonly root: JsonValue
  /** The position of `root` in the document (JSON Pointer). */
  readonly rootPointer: string
  readonly notes: ImportNote[]
  /** Imported definitions, by their new names. */
  readonly defs: Map<string, JsonValue>
  /** The new names of definitions, by reference. */
  readonly names: Map<string, string>
  /** The new names, each with the last number that was appended to it. */
  readonly taken: Map<string, number>
  /** The targets of references, in order of appearance. */
  readonly referred: Referred[]
  readonly losses: Losses
}

interface Referred {
  readonly name: string
  readonly schema: JsonValue
  readonly pointer: string
}

/** The imported schemas that accept more than their originals. */
export interface Losses {
  /** The positions of lost conditions (JSON Pointers). */
  readonly pointers: string[]
  /** Imported schemas that lost a condition, directly or in a subschema. The target of a `$ref` is not a subschema. */
  readonly schemas: WeakSet<object>
  /** Imported `properties` and similar maps that lost a name. */
  readonly maps: WeakSet<object>
  /** The original position of each imported schema (JSON Pointer). */
  readonly places: WeakMap<object, string>
}

export function createSchemaImport(
  { root, rootPointer }: Pick<SchemaImport, 'root' | 'rootPointer'>,
  notes: ImportNote[],
): SchemaImport {
  const losses = { pointers: [], schemas: new WeakSet(), maps: new WeakSet(), places: new WeakMap() }
  const maps = { defs: new Map(), names: new Map(), taken: new Map() }
  return { root, rootPointer, notes, ...maps, referred: [], losses }
}

/** Imports the targets of all references, and of references in those targets. */
export function importReferred(task: SchemaImport): void {
  for (const { name, schema, pointer } of task.referred)
    task.defs.set(name, importSchema(task, schema, pointer))
}

/** Returns a schema of MCP, JSON Schema or OpenAPI 3 in the form that contracts use. `pointer` is its position. */
export function importSchema(task: SchemaImport, schema: JsonValue | undefined, pointer: string): JsonValue {
  if (typeof schema === 'boolean') return schema
  const { pointers, schemas, places } = task.losses
  const before = pointers.length
  const imported = isObject(schema) ? importKeywords(task, schema, pointer) : {}
  if (!isObject(schema)) lose(task, pointer, 'is no schema, so anything is accepted there')
  places.set(imported, pointer)
  if (pointers.length > before) schemas.add(imported)
  return imported
}

function importKeywords(task: SchemaImport, schema: JsonObject, pointer: string): JsonObject {
  const entries = Object.entries(modern(schema)).flatMap(([key, value]): [string, JsonValue][] => {
    const at = `${pointer}${pointerStep(key)}`
    const kind = SCHEMA_KEYWORDS.get(key)
    // Definitions are imported when a reference leads to them, regardless of their position in the document.
    if (key === '$schema' || key === '$defs' || key === 'definitions') return []
    if (key === '$ref') return importRef(task, value, at)
    const imported = kind && importKeyword(task, kind, { value, at })
    if (kind === undefined) drop(task, at, `\`${show(key)}\` is not a keyword of contracts`)
    if (imported !== undefined) return [[key, imported]]
    if (!ANNOTATIONS.has(key) && !key.startsWith('x-')) task.losses.pointers.push(at)
    return []
  })
  const imported = Object.fromEntries(entries)
  if (isUnboundedInteger(imported)) task.notes.push({ pointer, message: UNBOUNDED })
  return withoutMisfit(task, imported, pointer)
}

const UNBOUNDED =
  'an integer without bounds: calls with a value beyond 2^53-1 are refused. Give it a `maximum`, or make it text'

/** Returns true when `countersign check` would report `unbounded-integer`. */
function isUnboundedInteger({ type, ...schema }: JsonObject): boolean {
  const isInteger = Array.isArray(type) ? type.includes('integer') : type === 'integer'
  return isInteger && !BOUNDING.some((keyword) => Object.hasOwn(schema, keyword))
}

/** Keywords that do not affect which values fit. */
const ANNOTATIONS = new Set(
  (
    'title description $comment default example examples deprecated readOnly writeOnly ' +
    'discriminator xml externalDocs contentMediaType contentEncoding contentSchema $id $anchor'
  ).split(' '),
)

/**
 * Drops a default that does not fit, such as null for a string. Rules would read that default in place of a missing
 * field.
 */
function withoutMisfit(task: SchemaImport, schema: JsonObject, pointer: string): JsonObject {
  const misfit = misfitOfDefault(schema)
  if (misfit === undefined) return schema
  drop(task, `${pointer}/default`, misfit)
  const { default: _, ...rest } = schema
  return rest
}

/** Translates keywords of OpenAPI 3.0 to JSON Schema, and a choice of constants to `enum`. */
function modern({ nullable, exclusiveMinimum, exclusiveMaximum, ...given }: JsonObject): JsonObject {
  const schema = withEnum(given)
  const result: Record<string, JsonValue> = { ...schema }
  if (nullable === true && typeof schema['type'] === 'string') result['type'] = [schema['type'], 'null']
  for (const [name, limit, plain] of [
    ['exclusiveMinimum', exclusiveMinimum, 'minimum'],
    ['exclusiveMaximum', exclusiveMaximum, 'maximum'],
  ] as const) {
    if (typeof limit !== 'boolean') {
      if (limit !== undefined) result[name] = limit
    } else if (limit && schema[plain] !== undefined) {
      result[name] = schema[plain]
      delete result[plain]
    }
  }
  if (nullable === true && Array.isArray(schema['enum']) && !schema['enum'].includes(null))
    result['enum'] = [...(schema['enum'] as readonly JsonValue[]), null]
  return result
}

/** Turns a choice of constants into `enum`. */
function withEnum(schema: JsonObject): JsonObject {
  if (schema['enum'] !== undefined) return schema
  for (const keyword of ['oneOf', 'anyOf'] as const) {
    const branches = schema[keyword]
    const values = Array.isArray(branches) ? (branches as readonly JsonValue[]).map(constantIn) : [undefined]
    if (values.length === 0 || values.includes(undefined)) continue
    const { [keyword]: _, ...rest } = schema
    return { ...rest, enum: uniqueOf(values as JsonValue[]) }
  }
  return schema
}

/** Returns the constant that a schema requires; undefined for a schema with other conditions. */
function constantIn(branch: JsonValue): JsonValue | undefined {
  if (!isObject(branch)) return undefined
  const { const: constant, enum: values, type, ...rest } = branch
  const only = Array.isArray(values) && values.length === 1 ? (values as readonly JsonValue[])[0] : undefined
  const value = constant ?? only
  const isPlain = Object.keys(rest).every((key) => ANNOTATIONS.has(key) || key.startsWith('x-'))
  const fits = type === undefined || (typeof type === 'string' && isOfType(value, type))
  return isPlain && fits && !('const' in branch && 'enum' in branch) ? value : undefined
}

function isOfType(value: JsonValue | undefined, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value)
  return type === 'null' ? value === null : typeof value === type
}

function uniqueOf(values: readonly JsonValue[]): JsonValue[] {
  const seen = new Map(values.map((value) => [JSON.stringify(value), value]))
  return [...seen.values()]
}

interface Keyword {
  readonly value: JsonValue
  readonly at: string
}

/** Returns the value in the form that contracts use; undefined, with a note, when contracts cannot contain it. */
function importKeyword(task: SchemaImport, kind: KeywordKind, { value, at }: Keyword): JsonValue | undefined {
  if (kind === 'schema') return importSchema(task, value, at)
  if (kind === 'schemas') {
    if (!Array.isArray(value) || value.length === 0) return dropped(task, at, 'must be a list of schemas')
    return value.map((one: JsonValue, index) => importSchema(task, one, `${at}/${index}`))
  }
  if (kind === 'schemaMap') {
    if (!isObject(value)) return dropped(task, at, 'must be a mapping of schemas')
    return importMap(task, value, at)
  }
  const problem = PROBLEMS[kind](value)
  if (problem !== undefined) return dropped(task, at, problem)
  if (!isSound(value)) {
    if (kind === 'text' && typeof value === 'string') return readable(value)
    return dropped(
      task,
      at,
      'holds hidden characters, text that is not in normal form C, or a number that is not exact',
    )
  }
  return value
}

function importMap(task: SchemaImport, schemas: JsonObject, at: string): JsonObject {
  const before = task.losses.pointers.length
  const sound = Object.entries(schemas).filter(([key]) => {
    if (!isSound(key)) lose(task, `${at}${pointerStep(key)}`, 'has a name that contracts cannot hold')
    return isSound(key)
  })
  const isWhole = task.losses.pointers.length === before
  const imported = Object.fromEntries(
    sound.map(([key, one]) => [key, importSchema(task, one, `${at}${pointerStep(key)}`)]),
  )
  if (!isWhole) task.losses.maps.add(imported)
  return imported
}

type LeafKind = Exclude<KeywordKind, 'schema' | 'schemas' | 'schemaMap'>
const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string']
const isText = (value: JsonValue): value is string => typeof value === 'string'
const areTexts = (value: JsonValue): boolean => Array.isArray(value) && value.every(isText)
const unless = (holds: boolean, problem: string): string | undefined => (holds ? undefined : problem)

/** The checks for values, one for each kind of keyword. Each returns the problem of a value, or undefined. */
const PROBLEMS: Readonly<Record<LeafKind, (value: JsonValue) => string | undefined>> = {
  any: () => undefined,
  values: (value) => unless(Array.isArray(value), 'must be a list'),
  enum: (value) => unless(Array.isArray(value) && value.length > 0, 'must be a list of values'),
  boolean: (value) => unless(typeof value === 'boolean', 'must be true or false'),
  text: (value) => unless(isText(value), 'must be text'),
  texts: (value) => unless(areTexts(value), 'must be a list of texts'),
  textsMap: (value) =>
    unless(isObject(value) && Object.values(value).every(areTexts), 'must map names to lists of texts'),
  count: (value) => unless(Number.isInteger(value) && Number(value) >= 0, 'must be a whole number'),
  number: (value) => unless(typeof value === 'number', 'must be a number'),
  type: (value) =>
    unless(
      (isText(value) ? [value] : areTexts(value) ? (value as readonly string[]) : ['']).every((one) =>
        TYPES.includes(one),
      ),
      'must name types',
    ),
  format: (value) =>
    unless(
      SCHEMA_FORMATS.some((one) => one === value),
      `\`${show(value)}\` is not a format of contracts`,
    ),
  pattern: (value) => {
    const compiled = isText(value) ? compilePattern(value) : { ok: false, problem: 'no text' }
    return compiled.ok ? undefined : `cannot be used: ${'problem' in compiled ? compiled.problem : ''}`
  },
  ref: (value) => unless(isText(value), 'must be text'),
}

/**
 * Turns a reference inside the document into a reference to a definition in the contract. Drops any other reference.
 */
function importRef(task: SchemaImport, ref: JsonValue, at: string): [string, JsonValue][] {
  const schema = typeof ref === 'string' ? follow(task.root, ref) : undefined
  if (typeof ref !== 'string' || schema === undefined)
    return lose(task, at, `\`${show(ref)}\` leads nowhere in this document`)
  const name = task.names.get(ref) ?? uniqueName(task, ref)
  if (!task.names.has(ref)) {
    task.names.set(ref, name)
    // The target is imported later, without recursion, because a chain of references may be deeper than the stack.
    task.referred.push({ name, schema, pointer: `${task.rootPointer}${ref.slice(1)}` })
  }
  return [['$ref', `#/$defs/${name}`]]
}

function uniqueName(task: SchemaImport, ref: string): string {
  const last = ref === '#' ? 'root' : (ref.split('/').at(-1) ?? '')
  const base = last.replaceAll(/[^A-Za-z0-9_.-]/g, '_') || 'schema'
  let name = base
  let number = task.taken.get(base) ?? 0
  while (task.taken.has(name)) name = `${base}_${++number}`
  task.taken.set(base, number)
  task.taken.set(name, 1)
  return name
}

/** Returns the target of a local reference, `#` or `#/components/schemas/Pet`, plain or percent-encoded (RFC 6901). */
export function follow(root: JsonValue, ref: string): JsonValue | undefined {
  if (ref === '#') return root
  if (!ref.startsWith('#/')) return undefined
  const pointer = ref.slice(1)
  return leadTo(root, pointer) ?? leadTo(root, withoutPercent(pointer))
}

function leadTo(root: JsonValue, pointer: string): JsonValue | undefined {
  let here: JsonValue | undefined = root
  for (const key of pointerNames(pointer)) {
    here = isObject(here)
      ? Object.hasOwn(here, key)
        ? here[key]
        : undefined
      : Array.isArray(here)
        ? (here as readonly JsonValue[])[Number(key)]
        : undefined
  }
  return here
}

/** Returns true for data that a policy file can contain unchanged. */
function isSound(value: JsonValue): boolean {
  if (typeof value === 'string') return readable(value) === value
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER
  if (Array.isArray(value)) return value.every((one: JsonValue) => isSound(one))
  return (
    !isObject(value) ||
    Object.entries(value).every(([key, one]) => key !== '__proto__' && isSound(key) && isSound(one))
  )
}

/**
 * Returns the text in NFC, with hidden characters by code point, so that a description cannot hide characters from its
 * reader. In text without a normal form, shows all characters beyond ASCII by code point.
 */
export function readable(text: string): string {
  return showHidden(toNfc(text) ?? showForeign(text))
}

function drop(task: SchemaImport, pointer: string, message: string): [] {
  task.notes.push({ pointer, message: `dropped: ${message}` })
  return []
}

/** Drops a condition, and records that more values fit now. */
function lose(task: SchemaImport, pointer: string, message: string): [] {
  task.losses.pointers.push(pointer)
  return drop(task, pointer, message)
}

function dropped(task: SchemaImport, pointer: string, message: string): undefined {
  drop(task, pointer, message)
}

function show(value: JsonValue): string {
  return showHidden(typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 80)
}

export function withoutPercent(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
