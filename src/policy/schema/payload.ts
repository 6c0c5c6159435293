import { type JsonObject, type JsonValue, pointerStep, isObject } from '../../contract/json.ts'
import { LIMITS } from '../../contract/limits.ts'
import { longTextError, longTextsIn, type TextPlace } from '../../contract/long-texts.ts'
import { schemaValues } from './values.ts'
import { createHash } from 'node:crypto'
import { _, Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { MAX_ECHOED_NAME, MAX_PAYLOAD_PROBLEMS } from '../text/bounds.ts'
import { isMultiple } from './multiple.ts'
import { compilePattern } from '../language/patterns.ts'
import { SCHEMA_FORMATS } from './formats.ts'
import type { FieldError } from '../../contract/errors.ts'
import { hasHidden, showHidden } from '../text/text.ts'
import { remember } from '../language/remember.ts'

/** Returns the problems of a payload under one input_schema; empty when the payload fits. Never changes the payload. */
export type PayloadCheck = (payload: JsonObject) => readonly FieldError[]

/**
 * Compiled schemas by contract revision. Compiled schemas are kept across reloads, and equal schemas are compiled once.
 */
export interface PayloadChecks {
  /** Compiles on first use. */
  of(revision: string, schema: JsonObject): PayloadCheck
  /** Drops all contracts except these revisions. */
  keep(revisions: ReadonlySet<string>): void
}

export function createPayloadChecks(): PayloadChecks {
  const checks = new Map<string, SchemaCheck>()
  /** Checks by schema digest, because many contracts differ only in name and description. */
  const bySchema = new Map<string, SchemaCheck>()
  let ajv: Ajv2020 | undefined
  const checkOf = (schema: JsonObject): SchemaCheck => {
    const digest = createHash('sha256').update(JSON.stringify(schema)).digest('base64')
    return remember(bySchema, digest, () => ({ digest, run: compileSchema((ajv ??= createAjv()), schema) }))
  }
  return {
    of: (revision, schema) => remember(checks, revision, () => checkOf(schema)).run,
    keep(revisions) {
      for (const revision of checks.keys()) if (!revisions.has(revision)) checks.delete(revision)
      bySchema.clear()
      for (const check of checks.values()) bySchema.set(check.digest, check)
    },
  }
}

interface SchemaCheck {
  readonly digest: string
  readonly run: PayloadCheck
}

/** Compiles an input_schema that passed checkSchema. Validation reports every problem and never changes the payload. */
function compileSchema(ajv: Ajv2020, schema: JsonObject): PayloadCheck {
  const { $schema: _, ...rest } = schema
  const validate = ajv.compile(rest)
  // Otherwise, the library's own cache would keep the schema after the contract is removed.
  ajv.removeSchema(rest)
  return (payload) => {
    const tooLong = longTextProblems(rest, payload).slice(0, MAX_PAYLOAD_PROBLEMS)
    if (tooLong.length === 0) return runCheck(validate, payload)
    return tooLong.map(({ pointer, message }) => ({ pointer: clean(pointer), message }))
  }
}

function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({
    strict: true,
    // checkSchema refuses unknown keywords. A stricter compiler would fail the first call of a loaded contract.
    strictSchema: false,
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    coerceTypes: false,
    removeAdditional: false,
    useDefaults: false,
    $data: false,
    allErrors: true,
    messages: false,
    // checkSchema has validated the schema, in the child process.
    validateSchema: false,
    meta: false,
    logger: false,
    addUsedSchema: false,
    ownProperties: true,
    // Optimizing the generated code takes a quarter of the compile time and does not make validation faster.
    code: { regExp: linearRegExp, optimize: false },
    // Compile a part with many references once, not once for each reference.
    inlineRefs: false,
  })
  const addFormats = formats as unknown as (target: Ajv2020, options: object) => void
  addFormats(ajv, { mode: 'full', formats: [...SCHEMA_FORMATS] })
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({ keyword: 'uniqueItems', type: 'array', schemaType: 'boolean', validate: hasUniqueItems })
  ajv.removeKeyword('multipleOf')
  ajv.addKeyword({
    keyword: 'multipleOf',
    type: 'number',
    schemaType: 'number',
    validate: (step: number, value: number) => isMultiple(value, step),
    error: { message: 'multipleOf', params: ({ schema }) => _`{multipleOf: ${schema as number}}` },
  })
  return ajv
}

/**
 * The regular expressions of Ajv, which calls this for every `pattern`. The built-in RegExp can take exponential time.
 */
const linearRegExp = Object.assign(
  (source: string) => {
    const compiled = compilePattern(source)
    if (!compiled.ok) throw new Error(`pattern passed the check and does not compile: ${compiled.problem}`)
    return compiled.pattern
  },
  { code: 'linearRegExp' },
)

/** Tests uniqueness in linear time. The library compares every pair of objects. */
function hasUniqueItems(wanted: boolean, items: readonly JsonValue[]): boolean {
  if (!wanted) return true
  const seen = new Set<string>()
  for (const item of items) seen.add(canonical(item))
  return seen.size === items.length
}

function canonical(value: JsonValue): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    isObject(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

function runCheck(validate: ValidateFunction, payload: JsonObject): readonly FieldError[] {
  try {
    if (validate(payload)) return []
    return describeErrors(validate.errors ?? [])
  } catch {
    return [{ pointer: '', message: 'is too deeply nested to be checked' }]
  } finally {
    validate.errors = null
  }
}

function describeErrors(errors: readonly ErrorObject[]): readonly FieldError[] {
  const groups = errors.filter((error) => error.keyword === 'anyOf' || error.keyword === 'oneOf')
  const problems: FieldError[] = []
  const seen = new Set<string>()
  for (const error of errors) {
    if (problems.length >= MAX_PAYLOAD_PROBLEMS) break
    // The errors of one branch are irrelevant, because another branch could fit.
    if (groups.some((group) => error !== group && error.schemaPath.startsWith(`${group.schemaPath}/`)))
      continue
    const problem = describeError(error)
    const key = `${problem.pointer}\0${problem.message}`
    if (!seen.has(key)) problems.push(problem)
    seen.add(key)
  }
  return problems
}

/** Describes the field and the expected value, without values of the payload. */
function describeError(error: ErrorObject): FieldError {
  const params = error.params as Record<string, unknown>
  const extra =
    params['missingProperty'] ??
    params['additionalProperty'] ??
    params['unevaluatedProperty'] ??
    params['propertyName']
  const named = typeof extra === 'string' ? pointerStep(extra.slice(0, MAX_ECHOED_NAME)) : ''
  const pointer = clean(`${error.instancePath.slice(0, 512)}${named}`)
  return {
    pointer,
    message: Object.hasOwn(MESSAGES, error.keyword)
      ? (MESSAGES[error.keyword]?.(params) ?? '')
      : 'does not fit the contract',
  }
}

function clean(pointer: string): string {
  return hasHidden(pointer) ? showHidden(pointer) : pointer
}

type Describe = (params: Record<string, unknown>) => string

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
}
const typeNames = (type: unknown): string =>
  (Array.isArray(type) ? (type as string[]) : [String(type)])
    .map((one) => TYPE_NAMES[one] ?? one)
    .join(' or ')
const several = (count: unknown, what: string): string => `${String(count)} ${what}${count === 1 ? '' : 's'}`
const listed = (values: unknown): string => {
  const names = (values as readonly unknown[])
    .slice(0, 20)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
  return `${names.join(', ')}${(values as readonly unknown[]).length > 20 ? ', ...' : ''}`
}
const COMPARISONS: Readonly<Record<string, string>> = {
  '>=': 'at least',
  '<=': 'at most',
  '>': 'above',
  '<': 'below',
}
const compared: Describe = (params) =>
  `must be ${COMPARISONS[String(params['comparison'])] ?? ''} ${String(params['limit'])}`

const MESSAGES: Readonly<Record<string, Describe>> = {
  required: () => 'is required and missing',
  dependentRequired: (params) => `is required when \`${String(params['property'])}\` is given`,
  additionalProperties: () => 'is not a field of this tool',
  unevaluatedProperties: () => 'is not a field of this tool',
  propertyNames: () => 'is not an allowed field name',
  type: (params) => `must be ${typeNames(params['type'])}`,
  enum: (params) => `must be one of ${listed(params['allowedValues'])}`,
  const: (params) => `must be ${listed([params['allowedValue']])}`,
  minimum: compared,
  maximum: compared,
  exclusiveMinimum: compared,
  exclusiveMaximum: compared,
  multipleOf: (params) => `must be a multiple of ${String(params['multipleOf'])}`,
  minLength: (params) => `must have at least ${several(params['limit'], 'character')}`,
  maxLength: (params) => `must have at most ${several(params['limit'], 'character')}`,
  pattern: (params) => `must match the pattern ${String(params['pattern'])}`,
  format: (params) => `must be a valid ${String(params['format'])}`,
  minItems: (params) => `must have at least ${several(params['limit'], 'item')}`,
  maxItems: (params) => `must have at most ${several(params['limit'], 'item')}`,
  uniqueItems: () => 'must not hold the same item twice',
  contains: () => 'does not hold the item it must hold',
  items: () => 'has too many items',
  unevaluatedItems: () => 'has too many items',
  minProperties: (params) => `must have at least ${several(params['limit'], 'field')}`,
  maxProperties: (params) => `must have at most ${several(params['limit'], 'field')}`,
  anyOf: () => 'fits none of the allowed shapes',
  oneOf: (params) =>
    params['passingSchemas'] ? 'fits more than one of the allowed shapes' : 'fits none of the allowed shapes',
  not: () => 'has a shape that is not allowed',
  if: () => 'does not fit the contract for this combination of fields',
  'false schema': () => 'is not allowed',
}

/** Reports strings that exceed the general limit (docs/limits.md), unless the contract has a larger `maxLength`. */
export function longTextProblems(schema: JsonObject, payload: JsonObject): readonly FieldError[] {
  return longTextsIn(payload)
    .filter((place) => !permitsLong(schema, place))
    .map(longTextError)
}

/** True when the contract's `maxLength` exceeds the general limit. Every branch for the field needs a `maxLength`. */
function permitsLong(schema: JsonObject, place: TextPlace): boolean {
  const most = schemaValues(schema, place).texts?.max ?? 0
  return most > LIMITS.STRING_BYTES && Number.isFinite(most)
}
