import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { toNfc } from '../../domain/normal-form.ts'
import { compilePattern } from '../language/patterns.ts'
import { BOUNDING, SCHEMA_KEYWORDS, type KeywordKind } from '../schema/check.ts'
import { misfitOfDefault } from '../schema/contradictions.ts'
import { SCHEMA_FORMATS } from '../schema/formats.ts'
import { showForeign, showHidden } from '../language/text.ts'

/** Something of a foreign description that a contract cannot say, and where it stood (JSON Pointer). What is dropped makes the contract laxer. */
export interface ImportNote {
  readonly pointer: string
  readonly message: string
  /** The name of a tool that has no contract for this reason. */
  readonly leftOut?: string
}

export interface SchemaImport {
  /** What `#` is in a `$ref`, and where it stands in the document. */
  readonly root: JsonValue
  readonly rootPointer: string
  readonly notes: ImportNote[]
  /** Schemas that were referred to, by their new names. */
  readonly defs: Map<string, JsonValue>
  /** The new names, by the references. */
  readonly names: Map<string, string>
  /** The new names, and the last number that was put behind each. */
  readonly taken: Map<string, number>
  /** What was referred to, in the order in which it was met. */
  readonly referred: Referred[]
  readonly losses: Losses
}

interface Referred {
  readonly name: string
  readonly schema: JsonValue
  readonly pointer: string
}

/** Where imported schemas let through more than those they were made from. */
export interface Losses {
  /** Places of everything that was lost. */
  readonly pointers: string[]
  /** Imported schemas that have lost something, or a part of which has. References are not followed. */
  readonly schemas: WeakSet<object>
  /** Imported `properties` and the like that lack a name. */
  readonly maps: WeakSet<object>
  /** Where each imported schema stood. */
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

/** Imports what was referred to, and what that refers to. */
export function importReferred(task: SchemaImport): void {
  for (const { name, schema, pointer } of task.referred)
    task.defs.set(name, importSchema(task, schema, pointer))
}

/** A schema of MCP, JSON Schema or OpenAPI 3 as a contract may hold it. `pointer` says where it stands. */
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
    const at = `${pointer}/${escapePointer(key)}`
    const kind = SCHEMA_KEYWORDS.get(key)
    // References are followed from the root of the document, wherever it keeps what they name.
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

/** As `countersign check` warns of it (`unbounded-integer`). */
function isUnboundedInteger({ type, ...schema }: JsonObject): boolean {
  const isInteger = Array.isArray(type) ? type.includes('integer') : type === 'integer'
  return isInteger && !BOUNDING.some((keyword) => Object.hasOwn(schema, keyword))
}

/** What says nothing about which values fit. */
const ANNOTATIONS = new Set(
  (
    'title description $comment default example examples deprecated readOnly writeOnly ' +
    'discriminator xml externalDocs contentMediaType contentEncoding contentSchema $id $anchor'
  ).split(' '),
)

/** Descriptions in use say `default: null` of a text; as a default of a contract it would stand in for a missing field. */
function withoutMisfit(task: SchemaImport, schema: JsonObject, pointer: string): JsonObject {
  const misfit = misfitOfDefault(schema)
  if (misfit === undefined) return schema
  drop(task, `${pointer}/default`, misfit)
  const { default: _, ...rest } = schema
  return rest
}

/** What OpenAPI 3.0 says in its own way, and what a contract says shorter. */
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

/** A list of constants, each with its title: that is an enumeration. */
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

/** Undefined for a schema that is more than a constant. */
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

/** The value as contracts hold it; undefined, and noted, when they cannot. */
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
    if (!isSound(key)) lose(task, `${at}/${escapePointer(key)}`, 'has a name that contracts cannot hold')
    return isSound(key)
  })
  const isWhole = task.losses.pointers.length === before
  const imported = Object.fromEntries(
    sound.map(([key, one]) => [key, importSchema(task, one, `${at}/${escapePointer(key)}`)]),
  )
  if (!isWhole) task.losses.maps.add(imported)
  return imported
}

type LeafKind = Exclude<KeywordKind, 'schema' | 'schemas' | 'schemaMap'>
const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string']
const isText = (value: JsonValue): value is string => typeof value === 'string'
const areTexts = (value: JsonValue): boolean => Array.isArray(value) && value.every(isText)
const unless = (holds: boolean, problem: string): string | undefined => (holds ? undefined : problem)

/** What is wrong with a value, per kind of keyword. */
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

/** A reference inside the document becomes one to a definition of the contract; any other is dropped. */
function importRef(task: SchemaImport, ref: JsonValue, at: string): [string, JsonValue][] {
  const schema = typeof ref === 'string' ? follow(task.root, ref) : undefined
  if (typeof ref !== 'string' || schema === undefined)
    return lose(task, at, `\`${show(ref)}\` leads nowhere in this document`)
  const name = task.names.get(ref) ?? uniqueName(task, ref)
  if (!task.names.has(ref)) {
    task.names.set(ref, name)
    // Not at once: a document may lead from one to the next for longer than a stack is deep.
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

/** What a local reference (`#`, `#/components/schemas/Pet`) names. Percent-encoded is what RFC 6901 section 6 says it may be. */
export function follow(root: JsonValue, ref: string): JsonValue | undefined {
  if (ref === '#') return root
  if (!ref.startsWith('#/')) return undefined
  const pointer = ref.slice(1)
  return leadTo(root, pointer) ?? leadTo(root, withoutPercent(pointer))
}

function withoutPercent(pointer: string): string {
  try {
    return decodeURIComponent(pointer)
  } catch {
    return pointer
  }
}

function leadTo(root: JsonValue, pointer: string): JsonValue | undefined {
  let here: JsonValue | undefined = root
  for (const part of pointer.slice(1).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
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

/** True for data that a policy file can hold as it is. */
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
 * The text in normal form C, with every hidden character written out: a description must not hide anything from its reader. Text that has no
 * normal form is written out as a whole.
 */
export function readable(text: string): string {
  return showHidden(toNfc(text) ?? showForeign(text))
}

function drop(task: SchemaImport, pointer: string, message: string): [] {
  task.notes.push({ pointer, message: `dropped: ${message}` })
  return []
}

/** What is dropped was a condition: more fits now. */
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

export function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
