import { fullFormats } from 'ajv-formats/dist/formats.js'
import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import { toNfc } from '../../domain/normal-form.ts'
import type { TextForm } from '../language/functions.ts'
import { compilePattern } from '../language/patterns.ts'
import { listOf, refTarget } from './part.ts'
import { childOf } from './child.ts'

import {
  ANY_READING,
  ANY_VALUE,
  join,
  lengthOf,
  meet,
  NO_VALUES,
  numbersAmong,
  once,
  type Numbers,
  type Texts,
  type Values,
} from './possible.ts'

/** The maximum number of schema parts to visit for one path. All other parts count as permitting any value. */
const MAX_VISITS = 20_000

type Path = readonly (string | number)[]

interface Visit {
  readonly root: JsonObject
  left: number
}

/** Returns the possible values at a path of a valid payload. The payload itself is always an object. */
export function schemaValues(root: JsonObject, path: Path): Values {
  const visit = { root, left: MAX_VISITS }
  return meet(valuesAt(visit, root, path), valuesAt(visit, { type: 'object' }, path))
}

function valuesAt(visit: Visit, schema: JsonValue | undefined, path: Path): Values {
  if (schema === false) return NO_VALUES
  if (!isObject(schema) || visit.left-- <= 0) return path.length === 0 ? ANY_VALUE : ANY_READING
  let values = path.length === 0 ? ownValues(visit, schema) : insideOf(visit, schema, path)
  const target = refTarget(visit.root, schema)
  if (target !== undefined) values = meet(values, valuesAt(visit, target, path))
  for (const part of listOf(schema['allOf'])) values = meet(values, valuesAt(visit, part, path))
  for (const keyword of ['anyOf', 'oneOf']) {
    const branches = listOf(schema[keyword])
    if (branches.length === 0) continue
    values = meet(values, branches.map((branch) => valuesAt(visit, branch, path)).reduce(join))
  }
  return values
}

/** Returns the values at a path, using only the own keywords of `schema` for the first step. */
function insideOf(visit: Visit, schema: JsonObject, path: Path): Values {
  const [step = 0, ...rest] = path
  const own = ownValues(visit, schema)
  const opens = typeof step === 'string' ? own.objects : own.lists !== undefined
  const others =
    own.null ||
    own.booleans.length > 0 ||
    own.numbers !== undefined ||
    own.texts !== undefined ||
    (typeof step === 'string' ? own.lists !== undefined : own.objects)
  const blocked = { ...NO_VALUES, blocked: others }
  if (!opens) return blocked
  const { schemas, optional } = childOf(visit.root, schema, step)
  const start = rest.length === 0 ? ANY_VALUE : ANY_READING
  const there = schemas.reduce((values: Values, child) => meet(values, valuesAt(visit, child, rest)), start)
  return join(blocked, { ...there, missing: there.missing || optional })
}

const KINDS = ['null', 'object', 'boolean', 'number', 'integer', 'string', 'array']

/** Returns the values that this schema's own keywords allow, without its references and branches. */
function ownValues(visit: Visit, schema: JsonObject): Values {
  const type = schema['type']
  const types = type === undefined ? KINDS : Array.isArray(type) ? listOf(type) : [type]
  const has = (kind: string): boolean => types.includes(kind)
  const typed: Values = {
    ...NO_VALUES,
    null: has('null'),
    objects: has('object'),
    booleans: has('boolean') ? [true, false] : [],
    numbers: has('number') || has('integer') ? rangeOf(schema, !has('number')) : undefined,
    texts: has('string') ? textsOf(schema) : undefined,
    lists: has('array') ? { ...sizeOf(schema), element: once(() => elementOf(visit, schema)) } : undefined,
  }
  const listed = schema['const'] === undefined ? schema['enum'] : [schema['const']]
  return Array.isArray(listed) ? meet(typed, literalValues(listed as readonly JsonValue[])) : typed
}

function numberOf(value: JsonValue | undefined, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise
}

function rangeOf(schema: JsonObject, integer: boolean): Numbers | undefined {
  const from = numberOf(schema['minimum'], Number.NEGATIVE_INFINITY)
  const above = numberOf(schema['exclusiveMinimum'], Number.NEGATIVE_INFINITY)
  const to = numberOf(schema['maximum'], Number.POSITIVE_INFINITY)
  const below = numberOf(schema['exclusiveMaximum'], Number.POSITIVE_INFINITY)
  const multipleOf = schema['multipleOf']
  const range = {
    ...NO_VALUES,
    numbers: {
      integer,
      ...(typeof multipleOf === 'number' && multipleOf > 0 && { step: multipleOf }),
      min: Math.max(from, above),
      minOpen: above >= from && Number.isFinite(above),
      max: Math.min(to, below),
      maxOpen: below <= to && Number.isFinite(below),
    },
  }
  return meet(range, ANY_VALUE).numbers
}

function textsOf(schema: JsonObject): Texts | undefined {
  const min = numberOf(schema['minLength'], 0)
  const max = numberOf(schema['maxLength'], Number.POSITIVE_INFINITY)
  const forms = [patternForm(schema['pattern']), formatForm(schema['format'])].filter(
    (form) => form !== undefined,
  )
  return min > max ? undefined : { min, max, forms }
}

export function patternForm(pattern: JsonValue | undefined): TextForm | undefined {
  if (typeof pattern !== 'string') return undefined
  const compiled = compilePattern(pattern)
  if (!compiled.ok) return undefined
  return { name: `text of the pattern ${pattern}`, fits: (text) => compiled.pattern.test(text) }
}

/** Returns the text form for a `format`, which uses the same validator as payloads. */
export function formatForm(format: JsonValue | undefined): TextForm | undefined {
  if (typeof format !== 'string') return undefined
  const found: unknown = (fullFormats as Readonly<Record<string, unknown>>)[format]
  const validate: unknown =
    found !== null && typeof found === 'object' && 'validate' in found ? found.validate : found
  const name = `a valid ${format}`
  if (validate instanceof RegExp) return { name, fits: (text) => validate.test(text) }
  if (typeof validate !== 'function') return undefined
  return { name, fits: (text) => Boolean((validate as (text: string) => unknown)(text)) }
}

function sizeOf(schema: JsonObject): { readonly min: number; readonly max: number } {
  const closed = schema['items'] === false ? listOf(schema['prefixItems']).length : Number.POSITIVE_INFINITY
  return {
    min: numberOf(schema['minItems'], 0),
    max: Math.min(numberOf(schema['maxItems'], Number.POSITIVE_INFINITY), closed),
  }
}

/** Returns the possible values of a list's elements, from `prefixItems` and `items`. */
function elementOf(visit: Visit, schema: JsonObject): Values {
  const parts = [...listOf(schema['prefixItems']), schema['items'] ?? true]
  return parts.map((part) => valuesAt({ root: visit.root, left: MAX_VISITS }, part, [])).reduce(join)
}

/** Describes scalars exactly, lists by their length and elements, and objects only by type. */
export function literalValues(values: readonly JsonValue[]): Values {
  const numbers = values.filter((value) => typeof value === 'number')
  const among = values.filter((value) => typeof value === 'string').map((text) => toNfc(text) ?? text)
  const lists = values.filter((value) => Array.isArray(value)) as readonly (readonly JsonValue[])[]
  return {
    ...NO_VALUES,
    null: values.includes(null),
    objects: values.some(isObject),
    booleans: [true, false].filter((value) => values.includes(value)),
    numbers: numbers.length === 0 ? undefined : numbersAmong(numbers),
    texts: among.length === 0 ? undefined : { ...lengthsOf(among), forms: [], among },
    lists:
      lists.length === 0
        ? undefined
        : { ...lengthsOf(lists), element: once(() => literalValues(lists.flat())) },
  }
}

function lengthsOf(all: readonly (string | readonly unknown[])[]): {
  readonly min: number
  readonly max: number
} {
  const lengths = all.map((one) => (typeof one === 'string' ? lengthOf(one) : one.length))
  return { min: Math.min(...lengths), max: Math.max(...lengths) }
}
