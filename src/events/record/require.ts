import type { JsonObject, JsonValue } from '../../contract/json.ts'

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

export const isMoment = (value: unknown): value is string =>
  typeof value === 'string' && RFC_3339.test(value) && !Number.isNaN(Date.parse(value))

export const isText = (value: unknown): value is string => typeof value === 'string'

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The error for an impossible record, in words. */
export class LawBroken extends Error {
  override readonly name = 'LawBroken'
}

/** Requires the condition. @throws LawBroken with the text `otherwise` */
export function requireThat(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new LawBroken(otherwise)
}

/** Returns the value as text. @throws LawBroken */
export function textOf(value: JsonValue | undefined, name: string): string {
  requireThat(typeof value === 'string' && value !== '', `its \`${name}\` is not a text`)
  return value
}

/** Returns the time of a record, which `isMoment` accepts, in ms since 1970. */
export const msOf = (moment: string): number => Date.parse(moment)

/** Returns the value as an object. @throws LawBroken */
export function objectOf(value: JsonValue | undefined, name: string): JsonObject {
  requireThat(isObject(value), `${name} is not an object`)
  return value
}

/** Returns the value as a list. @throws LawBroken */
export function listOf(value: JsonValue | undefined, name: string): readonly JsonValue[] {
  requireThat(Array.isArray(value), `its \`${name}\` is not a list`)
  return value as readonly JsonValue[]
}
