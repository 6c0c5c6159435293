import { isDeepStrictEqual } from 'node:util'
import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import { isMultiple } from './multiple.ts'
import { didYouMean } from '../text/nearest.ts'
import { formatForm, patternForm } from './values.ts'
import { lengthOf } from './possible.ts'

/** Two keywords of one schema that contradict each other. */
export interface Contradiction {
  /** The keyword to report. */
  readonly keyword: string
  /** The index of the entry in `required`. */
  readonly index?: number
  readonly message: string
  readonly hint?: string | undefined
}

/** Returns contradictions among this schema's own keywords. Other schemas for the same value cannot resolve them. */
export function contradictionsOf(schema: JsonObject): readonly Contradiction[] {
  const problem = misfitOfDefault(schema)
  const misfit = problem === undefined ? [] : [{ keyword: 'default', message: problem, hint: STANDS_IN }]
  return [...emptyRanges(schema), ...impossibleFields(schema), ...misfit]
}

const STANDS_IN = 'a default replaces a missing field, so the field must be able to hold it'

type Range = readonly [low: string, high: string, what: string]

/** Ranges that include both ends. */
const CLOSED: readonly Range[] = [
  ['minimum', 'maximum', 'number'],
  ['minLength', 'maxLength', 'text'],
  ['minItems', 'maxItems', 'list'],
  ['minContains', 'maxContains', 'list'],
  ['minProperties', 'maxProperties', 'object'],
]
/** Ranges that exclude one end or both. */
const OPEN: readonly Range[] = [
  ['exclusiveMinimum', 'maximum', 'number'],
  ['minimum', 'exclusiveMaximum', 'number'],
  ['exclusiveMinimum', 'exclusiveMaximum', 'number'],
]

function emptyRanges(schema: JsonObject): readonly Contradiction[] {
  const empty = (open: boolean, [low, high, what]: Range): readonly Contradiction[] => {
    const [from, to] = [schema[low], schema[high]]
    if (typeof from !== 'number' || typeof to !== 'number') return []
    if (open ? from < to : from <= to) return []
    // Without `contains`, both keywords have no effect.
    if (low === 'minContains' && schema['contains'] === undefined) return []
    return [{ keyword: low, message: `no ${what} fits: \`${low}\` is ${from} and \`${high}\` ${to}` }]
  }
  return [...CLOSED.flatMap((range) => empty(false, range)), ...OPEN.flatMap((range) => empty(true, range))]
}

/** The maximum number of required fields of one schema to compare with its declared fields. */
const MAX_COMPARED = 100

function impossibleFields(schema: JsonObject): readonly Contradiction[] {
  const { required, properties, additionalProperties, patternProperties } = schema
  if (!Array.isArray(required)) return []
  const declared = isObject(properties) ? properties : {}
  const names = Object.keys(declared)
  const isClosed = additionalProperties === false && patternProperties === undefined
  return (required as readonly JsonValue[]).flatMap((name, index) => {
    if (typeof name !== 'string') return []
    if (Object.hasOwn(declared, name)) {
      const message = `\`${name}\` is required, but \`properties\` says it is never there`
      return declared[name] === false ? [{ keyword: 'required', index, message }] : []
    }
    const message = `\`${name}\` is required, but \`additionalProperties: false\` refuses it`
    const near = index < MAX_COMPARED ? didYouMean(name, names) : undefined
    const hint = near ?? 'declare it under `properties`'
    return isClosed ? [{ keyword: 'required', index, message, hint }] : []
  })
}

/** Returns the reason why a schema's default does not fit its other keywords; undefined when the default may fit. */
export function misfitOfDefault(schema: JsonObject): string | undefined {
  const value = schema['default']
  if (value === undefined) return undefined
  return (
    misfitOfType(schema, value) ??
    misfitOfList(schema, value) ??
    misfitOfSize(schema, value) ??
    misfitOfForm(schema, value)
  )
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  null: 'null',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  string: 'text',
  array: 'a list',
  object: 'an object',
}

function misfitOfType({ type }: JsonObject, value: JsonValue): string | undefined {
  if (type === undefined) return undefined
  const types = (Array.isArray(type) ? type : [type]) as readonly JsonValue[]
  const found = typeOf(value)
  if (types.includes(found) || (found === 'integer' && types.includes('number'))) return undefined
  return `the \`default\` is ${TYPE_WORDS[found]}, but the \`type\` is ${types.map(String).join(' or ')}`
}

function typeOf(value: JsonValue): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

function misfitOfList(schema: JsonObject, value: JsonValue): string | undefined {
  const is = (other: JsonValue): boolean => value === other || isDeepStrictEqual(value, other)
  const only = schema['const']
  if (only !== undefined && !is(only)) return 'the `default` is not what `const` says'
  const among = schema['enum']
  if (!Array.isArray(among) || (among as readonly JsonValue[]).some(is)) return undefined
  return 'the `default` is not among the values of `enum`'
}

interface Measure {
  readonly size: number
  /** The words that follow "the default" in a message. */
  readonly shown: string
  readonly low: readonly string[]
  readonly high: readonly string[]
}

function misfitOfSize(schema: JsonObject, value: JsonValue): string | undefined {
  const measure = measureOf(value)
  const breaks = (keyword: string, outside: (bound: number) => boolean): boolean => {
    const bound = schema[keyword]
    return typeof bound === 'number' && outside(bound)
  }
  if (measure) {
    const { size, low, high, shown } = measure
    const isOpen = (keyword: string): boolean => keyword.startsWith('exclusive')
    const broken =
      low.find((key) => breaks(key, (bound) => (isOpen(key) ? size <= bound : size < bound))) ??
      high.find((key) => breaks(key, (bound) => (isOpen(key) ? size >= bound : size > bound)))
    if (broken !== undefined)
      return `the \`default\` ${shown}, but \`${broken}\` is ${Number(schema[broken])}`
  }
  return undefined
}

function misfitOfForm({ multipleOf, pattern, format }: JsonObject, value: JsonValue): string | undefined {
  if (typeof value === 'number' && typeof multipleOf === 'number' && multipleOf > 0)
    return isMultiple(value, multipleOf)
      ? undefined
      : `the \`default\` is ${value}, which is no multiple of ${multipleOf}`
  if (typeof value !== 'string') return undefined
  if (patternForm(pattern)?.fits(value) === false) return 'the `default` does not match the `pattern`'
  const form = formatForm(format)
  return form?.fits(value) === false ? `the \`default\` is not ${form.name}` : undefined
}

function measureOf(value: JsonValue): Measure | undefined {
  if (typeof value === 'number')
    return {
      size: value,
      shown: `is ${value}`,
      low: ['minimum', 'exclusiveMinimum'],
      high: ['maximum', 'exclusiveMaximum'],
    }
  if (typeof value === 'string') return measured('Length', lengthOf(value), 'character')
  if (Array.isArray(value)) return measured('Items', value.length, 'entry')
  return isObject(value) ? measured('Properties', Object.keys(value).length, 'field') : undefined
}

function measured(keyword: string, size: number, what: string): Measure {
  const plural = what === 'entry' ? 'entries' : `${what}s`
  const shown = `has ${size} ${size === 1 ? what : plural}`
  return { size, shown, low: [`min${keyword}`], high: [`max${keyword}`] }
}
