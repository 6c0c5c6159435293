import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { isMoment, isObject, isText } from './require.ts'

/** A member of a record's `details`, with its values and its meaning. */
export interface Field<T extends JsonValue = JsonValue, Optional extends boolean = boolean> {
  readonly accepts: (value: JsonValue) => value is T
  /** The fault of any other value: "is not a time". */
  readonly otherwise: string
  readonly doc: string
  readonly optional: Optional
}

export type Fields = Readonly<Record<string, Field>>

type ValueOf<F> = F extends Field<infer T> ? T : never

/** The `details` that a verb writes. Undefined members are omitted. */
export type DetailsOf<F extends Fields> = {
  readonly [K in keyof F as F[K]['optional'] extends true ? never : K]: ValueOf<F[K]>
} & {
  readonly [K in keyof F as F[K]['optional'] extends true ? K : never]?: ValueOf<F[K]> | undefined
}

const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value)

const field =
  <T extends JsonValue>(otherwise: string, accepts: (value: JsonValue) => value is T) =>
  (doc: string): Field<T, false> => ({ accepts, otherwise, doc, optional: false })

export const text = field('is not a text', isText)
/** RFC 3339, like a record's `at`. */
export const moment = field('is not a time', isMoment)
export const number = field('is not a number', (value) => typeof value === 'number')
export const flag = field('is not a boolean', (value) => typeof value === 'boolean')
export const texts = field('is not a list of texts', (value): value is readonly string[] => {
  return isList(value) && value.every(isText)
})
export const objects = field('is not a list of objects', (value): value is readonly JsonObject[] => {
  return isList(value) && value.every(isObject)
})
/** The first and the last of consecutive numbers. */
export type Range = readonly [first: number, last: number]
const isRange = (value: JsonValue): boolean =>
  isList(value) && value.length === 2 && value.every((one) => Number.isSafeInteger(one))
export const ranges = field('is not a list of pairs of numbers', (value): value is readonly Range[] => {
  return isList(value) && value.every(isRange)
})
export const anything = field('is missing', (value): value is JsonValue => value !== undefined)

/** An object whose members the law checks. */
export const object = <T extends JsonObject = JsonObject>(doc: string): Field<T, false> => ({
  accepts: (value): value is T => isObject(value),
  otherwise: 'is not an object',
  doc,
  optional: false,
})

/** Members that are disclosed, and erased, one by one: `reads.payload.amount` for the field `reads`. */
export interface Each extends Field<JsonObject, true> {
  readonly each: true
}

export const each = (doc: string): Each => ({
  accepts: isObject,
  otherwise: 'is not an object',
  doc,
  optional: true,
  each: true,
})

/** A string that must be one of the given values. */
export const oneOf = <const T extends string>(values: readonly T[], doc: string): Field<T, false> => ({
  accepts: (value): value is T => values.some((one) => one === value),
  otherwise: `is not one of ${values.join(', ')}`,
  doc: `${doc}: ${values.map((one) => `\`${one}\``).join(', ')}`,
  optional: false,
})

/** The disclosed members that a verb writes. */
export type DisclosedOf<F extends Fields> = DetailsOf<{
  readonly [K in keyof F as F[K] extends Each ? never : K]: F[K]
}> & {
  readonly [K in keyof F as F[K] extends Each ? `${K & string}.${string}` : never]?: JsonValue
}

/** A member that some records of the kind lack. */
export const optional = <T extends JsonValue>(one: Field<T>): Field<T, true> => ({ ...one, optional: true })
