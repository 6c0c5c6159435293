import type { JsonValue } from '../../contract/json.ts'
import { isComparable } from '../../domain/normal-form.ts'
import { mailDomain, normalPath, urlHost, urlOrigin } from './addresses.ts'
import { MISSING, UNREADABLE, type Reading } from './reading.ts'
import { readSql } from './sql/read.ts'

/** Functions that turn one text into a list. */
export const LIST_FUNCTIONS = ['sql_verbs', 'sql_functions'] as const
export type ListFunction = (typeof LIST_FUNCTIONS)[number]
export const FUNCTION_NAMES = ['domain', 'host', 'origin', 'path', ...LIST_FUNCTIONS] as const
export type FunctionName = (typeof FUNCTION_NAMES)[number]

/** Marks an unreadable element of a list, for an unknown number of results. */
export const SEVERAL_UNREADABLE = Symbol('several unreadable')

export type AppliedElement = JsonValue | typeof UNREADABLE | typeof SEVERAL_UNREADABLE

/** The result of a function. Unreadable elements of a list keep their place, marked. */
export type Applied = Reading | readonly AppliedElement[]

/** Applies a function, to a list element by element. An unreadable value gives UNREADABLE, never an exception. */
export function applyFunction(name: FunctionName, value: Reading): Applied {
  if (value === MISSING || value === UNREADABLE) return value
  if (!Array.isArray(value)) return applyToText(name, value) ?? UNREADABLE
  const unreadable = givesList(name) ? SEVERAL_UNREADABLE : UNREADABLE
  return (value as readonly JsonValue[]).flatMap<AppliedElement>(
    (item) => applyToText(name, item) ?? unreadable,
  )
}

export function givesList(name: FunctionName | undefined): name is ListFunction {
  return LIST_FUNCTIONS.some((one) => one === name)
}

function applyToText(name: FunctionName, value: JsonValue): string | readonly string[] | undefined {
  if (typeof value !== 'string' || !isComparable(value)) return undefined
  return TEXT_FUNCTIONS[name](value)
}

const TEXT_FUNCTIONS: Readonly<
  Record<FunctionName, (text: string) => string | readonly string[] | undefined>
> = {
  domain: mailDomain,
  host: urlHost,
  origin: urlOrigin,
  path: normalPath,
  sql_verbs: (text) => readSql(text).verbs,
  sql_functions: (text) => readSql(text).functions,
}
