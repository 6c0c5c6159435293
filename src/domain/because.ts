import type { JsonValue } from '../contract/json.ts'

/** A value that made a rule fire. Exactly one of `value`, `hidden` and `state` is present. */
export interface Because {
  /** The place as policies write it: `payload.to[29]`, `task.workflow`. */
  readonly field: string
  /** A long text is cut, and a list or an object is JSON text. */
  readonly value?: string | number | boolean | null
  /** True for a sensitive value. */
  readonly hidden?: true
  /** `unreadable`: the value has the wrong type or form for the test. */
  readonly state?: 'missing' | 'unreadable'
  /** The value that the test read in place of the value: the result of a function, a number of entries, a default. */
  readonly read?: string | number | boolean | null
  /** The number of entries that the test judged. */
  readonly of?: number
}

/** The first reason of a call, with its rule. */
export interface FirstBecause extends Because {
  readonly rule: string
}

export const MOST_REASONS = 20
const VALUE_CHARACTERS = 200

/** The value as a reason shows it. */
export function reasonValue(value: JsonValue): string | number | boolean | null {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length <= VALUE_CHARACTERS
    ? text
    : `${Array.from(text.slice(0, VALUE_CHARACTERS))
        .slice(0, VALUE_CHARACTERS - 1)
        .join('')}…`
}

/** The reason without its value. */
export function hiddenReason<T extends Because>(reason: T): T {
  const { value: _, read: __, ...rest } = reason
  return { ...rest, ...(rest.state === undefined ? { hidden: true } : {}) } as T
}
