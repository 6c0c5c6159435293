import { MAX_SQL_CHARACTERS } from '../../text/bounds.ts'
import type { Clause } from './clauses.ts'
import { startAt, take, type Cursor, type Part } from './cursor.ts'
import { change, query } from './grammar.ts'
import { sqlTokens } from './tokens.ts'

/** Words that change data or permissions wherever they are in a string. */
export const CHANGING: ReadonlySet<string> = new Set(
  'insert update delete merge upsert drop truncate alter create grant revoke deny restore copy call exec execute'.split(
    ' ',
  ),
)
/** Words that begin a sub-statement after an opening parenthesis. */
const NESTED = new Set(['select', 'with', 'values', 'table'])
/**
 * Verbs after which `into` only names the target. After any other verb (`select ... into`), `into` creates something.
 */
const TAKES_INTO = new Set(['insert', 'merge', 'replace', 'copy', 'upsert'])

const WORD = /[A-Za-z_][A-Za-z0-9_]*/y
const QUIET = /[\s0-9.,+\-/*=<>!%&|^~)[\]:?@]/
type Context = 'statement' | 'parenthesis' | 'inside'

/** Words that change data only as verbs. Elsewhere, they are a function or name the target of another verb. */
const ALSO_CHANGING: ReadonlySet<string> = new Set(['into', 'replace'])

/** The results of the SQL functions for one text. A result is undefined when the text is not understood. */
export interface SqlReading {
  /**
   * `select` for exactly one query of the subset. For any other text with a word that changes data, all such words and
   * the first words of statements and sub-statements. All are in lower case and in order. Undefined for all other
   * texts, which may do anything.
   */
  readonly verbs: readonly string[] | undefined
  /** The functions that exactly one query of the subset calls, in lower case and in order. */
  readonly functions: readonly string[] | undefined
  /** The tables that exactly one query of the subset reads, as they are written, with their qualifiers. */
  readonly tables: readonly string[] | undefined
  /** The clauses of exactly one query, UPDATE or DELETE of the subset. */
  readonly clauses: ReadonlySet<Clause> | undefined
}

const NOT_UNDERSTOOD: SqlReading = {
  verbs: undefined,
  functions: undefined,
  tables: undefined,
  clauses: undefined,
}
let last: { readonly sql: string; readonly reading: SqlReading } = { sql: '', reading: NOT_UNDERSTOOD }

/** Reads an SQL text. Caches the last result, because several lines of a bundle may test the same text. */
export function readSql(sql: string): SqlReading {
  if (sql.length > MAX_SQL_CHARACTERS) return NOT_UNDERSTOOD
  if (last.sql !== sql) last = { sql, reading: read(sql) }
  return last.reading
}

function read(sql: string): SqlReading {
  const { isQuery = false, functions, tables, clauses } = readStatement(sql) ?? {}
  if (isQuery) return { verbs: ['select'], functions, tables, clauses }
  const verbs = scannedVerbs(sql)
  const changes = verbs?.some((verb) => CHANGING.has(verb) || ALSO_CHANGING.has(verb))
  return changes ? { ...NOT_UNDERSTOOD, verbs, clauses } : NOT_UNDERSTOOD
}

/** A string that is exactly one statement of the subset in docs/policy-language.md. */
interface Statement {
  readonly isQuery: boolean
  /** The functions that the statement calls, in lower case and in order. */
  readonly functions: readonly string[]
  /** The tables of the statement, each with its qualifiers, without quotes, in order. */
  readonly tables: readonly string[]
  readonly clauses: ReadonlySet<Clause>
}

/** Reads a string that is one SELECT, UPDATE or DELETE as a whole. Undefined for every other text. */
function readStatement(sql: string): Statement | undefined {
  const tokens = sqlTokens(sql)
  if (tokens === undefined) return undefined
  return wholly(startAt(tokens), query, true) ?? wholly(startAt(tokens), change, false)
}

function wholly(cursor: Cursor, part: Part, isQuery: boolean): Statement | undefined {
  if (!part(cursor)) return undefined
  take(cursor, ';')
  if (cursor.at !== cursor.tokens.length) return undefined
  const { functions, tables } = cursor
  return { isQuery, functions, tables, clauses: clausesOf(cursor, isQuery) }
}

/** WHERE of every SELECT that UNION joins. The clauses of sub-selects do not count, except RECURSIVE. */
function clausesOf({ found }: Cursor, isQuery: boolean): ReadonlySet<Clause> {
  const clauses = new Set<Clause>()
  if (found.wheres > 0 && found.wheres === (isQuery ? found.terms : 1)) clauses.add('where')
  if (found.limit) clauses.add('limit')
  if (found.recursive) clauses.add('recursive')
  return clauses
}

function scannedVerbs(sql: string): readonly string[] | undefined {
  const verbs: string[] = []
  let context: Context = 'statement'
  let agreed = 0
  for (let at = 0; at < sql.length;) {
    const after = skipSilent(sql, at)
    if (after === undefined) return undefined
    if (after > at) {
      at = after
      continue
    }
    const word = wordAt(sql, at)
    if (word !== undefined) {
      if (quotesByItself(sql, at, word)) return undefined
      const verb = word.toLowerCase()
      if (isVerb(verb, context, verbs)) verbs.push(verb)
      context = 'inside'
      at += word.length
      continue
    }
    const until = at < agreed ? agreed : bracketsUntil(sql, at)
    const nextContext = contextAfter(sql.charAt(at++), context)
    if (until === undefined || nextContext === undefined) return undefined
    agreed = until
    context = nextContext
  }
  return verbs
}

function contextAfter(symbol: string, context: Context): Context | undefined {
  if (symbol === ';') return 'statement'
  if (symbol === '(') return context === 'statement' ? 'statement' : 'parenthesis'
  return QUIET.test(symbol) ? context : undefined
}

function isVerb(word: string, context: Context, verbs: readonly string[]): boolean {
  if (context === 'statement' || CHANGING.has(word)) return true
  if (word === 'into') return !TAKES_INTO.has(verbs.at(-1) ?? '')
  return context === 'parenthesis' && NESTED.has(word)
}

/** Returns true for `q'[...]'`, a form of quotation in only one dialect. */
function quotesByItself(sql: string, at: number, word: string): boolean {
  return sql.charAt(at + word.length) === "'" && /^n?q$/i.test(word)
}

/**
 * Returns the offset up to which dialects agree about a bracket: `at` when no bracket opens, undefined when they
 * disagree. In some dialects, `[...]` is a name, in which quotes and comments are letters and `]]` is a bracket. In
 * other dialects, `[...]` is an index or a list. The dialects agree when each quote and comment that begins inside also
 * ends inside. A bracket without an end is not a name in any dialect.
 */
function bracketsUntil(sql: string, at: number): number | undefined {
  if (sql.charAt(at) !== '[') return at
  const end = endOfName(sql, at + 1)
  if (end === undefined) return sql.length
  for (let inside = at + 1; inside < end;) {
    const after = skipSilent(sql, inside)
    if (after === undefined || after > end) return undefined
    inside = Math.max(after, inside + 1)
  }
  return end
}

function endOfName(sql: string, from: number): number | undefined {
  for (let at = from; ;) {
    const end = sql.indexOf(']', at)
    if (end < 0) return undefined
    if (sql[end + 1] !== ']') return end
    at = end + 2
  }
}

/**
 * Returns the end of the comment or quoted text that begins at `at`; `at` when neither begins there; undefined when it
 * is unreadable.
 */
function skipSilent(sql: string, at: number): number | undefined {
  if (sql.startsWith('--', at)) return skipLine(sql, at)
  if (sql.startsWith('/*', at)) return skipComment(sql, at)
  const quote = sql.charAt(at)
  return quote === "'" || quote === '"' || quote === '`' ? skipQuoted(sql, at, quote) : at
}

/**
 * Returns the end of a `--` comment. In one dialect, `--` without a blank is arithmetic. In another dialect, a lone
 * carriage return ends the line.
 */
function skipLine(sql: string, at: number): number | undefined {
  const found = sql.indexOf('\n', at)
  const end = found < 0 ? sql.length : found
  const line = sql.slice(at + 2, end).replace(/\r$/, '')
  if (line.includes('\r') || (line !== '' && !/^[ \t]/.test(line))) return undefined
  return found < 0 ? end : end + 1
}

function skipComment(sql: string, at: number): number | undefined {
  const end = sql.indexOf('*/', at + 2)
  if (end < 0) return undefined
  const inside = sql.slice(at + 2, end)
  return /^M?!|\/\*/.test(inside) ? undefined : end + 2
}

function skipQuoted(sql: string, at: number, quote: string): number | undefined {
  for (let from = at + 1; ;) {
    const end = sql.indexOf(quote, from)
    if (end < 0) return undefined
    if (sql[end + 1] === quote) from = end + 2
    else return sql.slice(at, end).includes('\\') ? undefined : end + 1
  }
}

function wordAt(text: string, at: number): string | undefined {
  WORD.lastIndex = at
  return WORD.exec(text)?.[0]
}
