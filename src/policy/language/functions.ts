import type { JsonValue } from '../../contract/json.ts'
import { isComparable } from '../../domain/normal-form.ts'
import { mailDomain, normalPath, urlHost, urlOrigin } from './addresses.ts'
import {
  type Applied,
  type AppliedElement,
  MISSING,
  type Reading,
  SEVERAL_UNREADABLE,
  UNREADABLE,
} from './reading.ts'
import { type FunctionName, givesList } from './function-names.ts'
import { readSql } from './sql/read.ts'

/**
 * Applies a function to a value, or to each element of a list. Returns UNREADABLE for an unreadable value, and never
 * throws.
 */
export function applyFunction(name: FunctionName, value: Reading): Applied {
  if (value === MISSING || value === UNREADABLE) return value
  if (!Array.isArray(value)) return applyToText(name, value) ?? UNREADABLE
  const unreadable = givesList(name) ? SEVERAL_UNREADABLE : UNREADABLE
  return (value as readonly JsonValue[]).flatMap<AppliedElement>(
    (item) => applyToText(name, item) ?? unreadable,
  )
}

function applyToText(name: FunctionName, value: JsonValue): Result {
  if (typeof value !== 'string' || !isComparable(value)) return undefined
  return TEXT_FUNCTIONS[name](value)
}

type Result = string | boolean | readonly string[] | undefined

const TEXT_FUNCTIONS: Readonly<Record<FunctionName, (text: string) => Result>> = {
  domain: mailDomain,
  host: urlHost,
  origin: urlOrigin,
  path: normalPath,
  sql_verbs: (text) => readSql(text).verbs,
  sql_functions: (text) => readSql(text).functions,
  sql_tables: (text) => readSql(text).tables,
  sql_has_where: (text) => readSql(text).clauses?.has('where'),
  sql_has_limit: (text) => readSql(text).clauses?.has('limit'),
  sql_has_recursive: (text) => readSql(text).clauses?.has('recursive'),
}
