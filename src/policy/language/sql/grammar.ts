import { after, bracketed, is, list, nested, take, takeKind, type Cursor, type Part } from './cursor.ts'
import type { Token } from './tokens.ts'
import { CAST_TYPES, INTERVAL_UNITS, mayBeFunction, mayBeName } from './words.ts'

const expressions: Part = (cursor) => list(cursor, expression)
const names: Part = (cursor) => list(cursor, plainName)

const sources: Part = (cursor) => list(cursor, source)

/** Consumes one UPDATE or DELETE. */
export function change(cursor: Cursor): boolean {
  const fits = take(cursor, 'delete') ? deletion(cursor) : take(cursor, 'update') && update(cursor)
  const bounded = fits && where(cursor) && ordering(cursor) && range(cursor)
  return bounded && after(cursor, 'returning', (at) => list(at, resultColumn))
}

const deletion: Part = (cursor) =>
  take(cursor, 'from') && table(cursor) && alias(cursor) && after(cursor, 'using', sources)

const update: Part = (cursor) =>
  sources(cursor) && take(cursor, 'set') && list(cursor, assignment) && after(cursor, 'from', sources)

const assignment: Part = (cursor) => dottedName(cursor) === 'one' && take(cursor, '=') && expression(cursor)

// Queries.

export function query(cursor: Cursor): boolean {
  const { named } = cursor
  const fits = after(cursor, 'with', namedQueries) && queryTerms(cursor) && ordering(cursor) && range(cursor)
  cursor.named = named
  return fits
}

function queryTerms(cursor: Cursor): boolean {
  if (!queryTerm(cursor)) return false
  while (take(cursor, 'union', 'intersect', 'except')) {
    take(cursor, 'all', 'distinct')
    if (!queryTerm(cursor)) return false
  }
  return true
}

/**
 * Consumes named queries. Each sees the names before it, and its own only with RECURSIVE. In SQL Server and Oracle, it
 * sees its own without that word.
 */
function namedQueries(cursor: Cursor): boolean {
  const recursive = take(cursor, 'recursive')
  cursor.found.recursive ||= recursive
  return list(cursor, (at) => {
    const name = writtenAt(at)
    const token = at.tokens[at.at]
    if (!plainName(at) || (is(at, '(') && !bracketed(at, names)) || !take(at, 'as')) return false
    const withName = [...at.named, name]
    if (recursive) at.named = withName
    const { defining } = at
    at.defining = [...defining, ...(token ? [nameOf(token).toLowerCase()] : [])]
    const fits = bracketed(at, query)
    at.defining = defining
    at.named = withName
    return fits
  })
}

function queryTerm(cursor: Cursor): boolean {
  if (cursor.depth === 0) cursor.found.terms++
  if (is(cursor, '(')) return bracketed(cursor, query)
  if (!take(cursor, 'select')) return false
  take(cursor, 'all', 'distinct')
  if (is(cursor, 'top') && cursor.tokens[cursor.at + 1]?.kind === 'number') cursor.at += 2
  return list(cursor, resultColumn) && after(cursor, 'from', sources) && where(cursor) && grouping(cursor)
}

function grouping(cursor: Cursor): boolean {
  const fits = !take(cursor, 'group') || (take(cursor, 'by') && expressions(cursor))
  return fits && after(cursor, 'having', expression)
}

/** Consumes WHERE, if present. */
function where(cursor: Cursor): boolean {
  if (!take(cursor, 'where')) return true
  if (cursor.depth === 0) cursor.found.wheres++
  return expression(cursor)
}

function ordering(cursor: Cursor): boolean {
  if (!take(cursor, 'order')) return true
  return take(cursor, 'by') && list(cursor, sortKey)
}

function sortKey(cursor: Cursor): boolean {
  if (!expression(cursor)) return false
  take(cursor, 'asc', 'desc')
  return after(cursor, 'nulls', (at) => take(at, 'first', 'last'))
}

/** Consumes LIMIT, OFFSET and FETCH, each optional, in this order. */
function range(cursor: Cursor): boolean {
  cursor.found.limit ||= cursor.depth === 0 && is(cursor, 'limit')
  const bounded = after(cursor, 'limit', (at) => count(at) && after(at, ',', count))
  if (!bounded || !after(cursor, 'offset', rows)) return false
  if (!take(cursor, 'fetch')) return true
  cursor.found.limit ||= cursor.depth === 0
  return take(cursor, 'first', 'next') && rows(cursor) && take(cursor, 'only')
}

const count: Part = (cursor) => takeKind(cursor, 'number', 'parameter')

function rows(cursor: Cursor): boolean {
  if (!count(cursor)) return false
  take(cursor, 'row', 'rows')
  return true
}

function resultColumn(cursor: Cursor): boolean {
  return take(cursor, '*') || (expression(cursor) && alias(cursor))
}

/** Consumes a name if present. After AS, the name is required. */
function alias(cursor: Cursor): boolean {
  if (take(cursor, 'as')) return plainName(cursor)
  plainName(cursor)
  return true
}

// Tables.

function source(cursor: Cursor): boolean {
  if (!factor(cursor)) return false
  for (;;) {
    const natural = take(cursor, 'natural')
    const sided = take(cursor, 'left', 'right', 'full')
    if (sided) take(cursor, 'outer')
    const crossed = !sided && !natural && take(cursor, 'cross')
    const begun = natural || sided || crossed || take(cursor, 'inner')
    if (!take(cursor, 'join')) return !begun
    if (!factor(cursor) || !joinCondition(cursor)) return false
  }
}

function joinCondition(cursor: Cursor): boolean {
  return after(cursor, 'on', expression) && after(cursor, 'using', (at) => bracketed(at, names))
}

/** Consumes a table name, or a sub-select or join in parentheses. The subset has no table functions. */
function factor(cursor: Cursor): boolean {
  const inside = isQuery(cursor, 1) ? query : source
  const fits = is(cursor, '(') ? bracketed(cursor, inside) : table(cursor)
  return fits && !is(cursor, '(') && alias(cursor)
}

/** Consumes the name of a table. */
function table(cursor: Cursor): boolean {
  const from = cursor.at
  const isNamed = cursor.named.includes(writtenAt(cursor)) && !is(cursor, '.', 1)
  if (dottedName(cursor) !== 'one') return false
  const parts = cursor.tokens.slice(from, cursor.at).filter(({ kind }) => kind !== 'symbol')
  const name = parts.map(nameOf).join('.')
  if (parts.length === 1 && cursor.defining.includes(name.toLowerCase())) cursor.found.recursive = true
  if (!isNamed) cursor.tables.push(name)
  return true
}

/** Returns a name without the quotes of its dialect. */
function nameOf({ written, text }: Token): string {
  return written ?? text.slice(1, -1)
}

function writtenAt({ tokens, at }: Cursor): string {
  return tokens[at]?.written ?? tokens[at]?.text ?? ''
}

function isQuery(cursor: Cursor, ahead: number): boolean {
  return is(cursor, 'select', ahead) || is(cursor, 'with', ahead)
}

// Expressions. The grammar checks only which parts may be adjacent, so precedence does not matter.

const OPERATORS = new Set('= <> != < <= > >= + - * / % || -> ->> and or'.split(' '))

function expression(cursor: Cursor): boolean {
  do if (!operand(cursor)) return false
  while (operator(cursor))
  return true
}

function operator(cursor: Cursor): boolean {
  const token = cursor.tokens[cursor.at]
  if (token !== undefined && OPERATORS.has(token.text)) {
    cursor.at++
    return token.kind === 'word' || token.kind === 'symbol'
  }
  const { at } = cursor
  take(cursor, 'not')
  if (take(cursor, 'like', 'ilike', 'between')) return true
  cursor.at = at
  return take(cursor, 'escape')
}

function operand(cursor: Cursor): boolean {
  while (take(cursor, 'not', '-', '+'));
  if (!primary(cursor)) return false
  for (let part = suffix(cursor); part !== undefined; part = suffix(cursor)) if (!part(cursor)) return false
  return true
}

/** Consumes the first word of an operand's suffix, and returns the rest of the suffix; undefined without a suffix. */
function suffix(cursor: Cursor): Part | undefined {
  if (take(cursor, '::')) return type
  if (take(cursor, 'is')) return isTest
  if (is(cursor, 'not') && is(cursor, 'in', 1)) cursor.at++
  return take(cursor, 'in') ? members : undefined
}

const members: Part = (cursor) => bracketed(cursor, isQuery(cursor, 1) ? query : expressions)

function isTest(cursor: Cursor): boolean {
  take(cursor, 'not')
  return take(cursor, 'null', 'true', 'false', 'unknown')
}

function primary(cursor: Cursor): boolean {
  if (takeKind(cursor, 'number', 'text', 'parameter') || take(cursor, 'null', 'true', 'false')) return true
  if (is(cursor, '(')) return members(cursor)
  if (take(cursor, 'exists')) return bracketed(cursor, query)
  if (take(cursor, 'case')) return caseOf(cursor)
  if (take(cursor, 'cast')) return bracketed(cursor, (at) => expression(at) && take(at, 'as') && type(at))
  return literalOfType(cursor) || named(cursor)
}

const caseOf: Part = (cursor) => nested(cursor, (at) => (is(at, 'when') || expression(at)) && branches(at))

function branches(cursor: Cursor): boolean {
  if (!is(cursor, 'when')) return false
  while (take(cursor, 'when'))
    if (!expression(cursor) || !take(cursor, 'then') || !expression(cursor)) return false
  return after(cursor, 'else', expression) && take(cursor, 'end')
}

function type(cursor: Cursor): boolean {
  const token = cursor.tokens[cursor.at++]
  if (token?.kind !== 'word' || !CAST_TYPES.has(token.text)) return false
  if (token.text === 'double') take(cursor, 'precision')
  return !is(cursor, '(') || bracketed(cursor, (at) => list(at, (one) => takeKind(one, 'number')))
}

/** Consumes a typed literal: `date '2027-01-31'`, `interval '1 day'`, `interval 1 day`. */
function literalOfType(cursor: Cursor): boolean {
  const next = cursor.tokens[cursor.at + 1]?.kind
  const isInterval = is(cursor, 'interval') && (next === 'text' || next === 'number')
  const isTime = next === 'text' && ['date', 'time', 'timestamp'].some((word) => is(cursor, word))
  if (!isInterval && !isTime) return false
  cursor.at += 2
  if (isInterval) take(cursor, ...INTERVAL_UNITS)
  return true
}

// Names.

/** Consumes a column, `t.*`, or a function call. */
function named(cursor: Cursor): boolean {
  const from = cursor.at
  if (is(cursor, '(', 1) || mayBeCall(cursor)) return call(cursor)
  cursor.at = from
  return dottedName(cursor) !== undefined && !is(cursor, '(')
}

/**
 * Returns true at a function's name with its schema. Both must be unquoted, because in some dialects quotes change a
 * name.
 */
function mayBeCall(cursor: Cursor): boolean {
  let ahead = 0
  while (cursor.tokens[cursor.at + ahead]?.kind === 'word' && is(cursor, '.', ahead + 1)) ahead += 2
  return ahead > 0 && ahead <= 4 && is(cursor, '(', ahead + 1)
}

function call(cursor: Cursor): boolean {
  const parts: string[] = []
  do {
    const token = cursor.tokens[cursor.at++]
    if (token?.kind !== 'word' || !mayBeFunction(token.text)) return false
    parts.push(token.text)
  } while (take(cursor, '.'))
  const name = parts.join('.')
  cursor.functions.push(name)
  const inside = name === 'extract' ? extracted : callArguments
  return bracketed(cursor, inside) && after(cursor, 'over', (at) => bracketed(at, overWindow))
}

function callArguments(cursor: Cursor): boolean {
  if (is(cursor, ')') || take(cursor, '*')) return true
  take(cursor, 'all', 'distinct')
  return expressions(cursor) && ordering(cursor)
}

const extracted: Part = (cursor) => plainName(cursor) && take(cursor, 'from') && expression(cursor)

function overWindow(cursor: Cursor): boolean {
  if (take(cursor, 'partition') && !(take(cursor, 'by') && expressions(cursor))) return false
  return ordering(cursor)
}

function dottedName(cursor: Cursor): string | undefined {
  if (!plainName(cursor)) return undefined
  for (let parts = 1; take(cursor, '.'); parts++) {
    if (take(cursor, '*')) return 'all'
    if (parts >= 4 || !plainName(cursor)) return undefined
  }
  return 'one'
}

function plainName(cursor: Cursor): boolean {
  const token = cursor.tokens[cursor.at]
  const fits = token?.kind === 'name' || (token?.kind === 'word' && mayBeName(token.text))
  if (fits) cursor.at++
  return fits
}
