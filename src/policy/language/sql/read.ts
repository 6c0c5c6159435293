import { MAX_SQL_CHARACTERS } from '../bounds.ts'
import { selectFunctions } from './select.ts'

/** Words that change data or permissions: counted wherever they stand. */
export const CHANGING: ReadonlySet<string> = new Set(
  'insert update delete merge upsert drop truncate alter create grant revoke deny restore copy call exec execute'.split(
    ' ',
  ),
)
/** Words that begin a sub-statement after a parenthesis. */
const NESTED = new Set(['select', 'with', 'values', 'table'])
/** After these, `into` only names the target; after any other verb (`select ... into`) it creates something. */
const TAKES_INTO = new Set(['insert', 'merge', 'replace', 'copy', 'upsert'])

const WORD = /[A-Za-z_][A-Za-z0-9_]*/y
const QUIET = /[\s0-9.,+\-/*=<>!%&|^~)[\]:?@]/
type Context = 'statement' | 'parenthesis' | 'inside'

/** Words that change data where a statement begins, and a function or the target of another word elsewhere. */
const ALSO_CHANGING: ReadonlySet<string> = new Set(['into', 'replace'])

/** What a text is to the functions of the language that read SQL; undefined where it is not understood. */
export interface SqlReading {
  /**
   * `select` for exactly one query of the subset. For every other text in which a word changes data: the first word
   * of each statement and of each sub-statement in parentheses, and every word that changes data wherever it stands,
   * in lower case and in order. What is neither may do anything.
   */
  readonly verbs: readonly string[] | undefined
  /** What exactly one query of the subset calls, in lower case and in order. */
  readonly functions: readonly string[] | undefined
}

const NOT_UNDERSTOOD: SqlReading = { verbs: undefined, functions: undefined }
let last: { readonly sql: string; readonly reading: SqlReading } = { sql: '', reading: NOT_UNDERSTOOD }

/** Several lines of a bundle ask about one text, so what was read last is kept. */
export function readSql(sql: string): SqlReading {
  if (sql.length > MAX_SQL_CHARACTERS) return NOT_UNDERSTOOD
  if (last.sql !== sql) last = { sql, reading: read(sql) }
  return last.reading
}

function read(sql: string): SqlReading {
  const functions = selectFunctions(sql)
  if (functions !== undefined) return { verbs: ['select'], functions }
  const verbs = scannedVerbs(sql)
  const changes = verbs?.some((verb) => CHANGING.has(verb) || ALSO_CHANGING.has(verb))
  return changes ? { verbs, functions } : NOT_UNDERSTOOD
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
    const behind = contextBehind(sql.charAt(at++), context)
    if (until === undefined || behind === undefined) return undefined
    agreed = until
    context = behind
  }
  return verbs
}

function contextBehind(symbol: string, context: Context): Context | undefined {
  if (symbol === ';') return 'statement'
  if (symbol === '(') return context === 'statement' ? 'statement' : 'parenthesis'
  return QUIET.test(symbol) ? context : undefined
}

function isVerb(word: string, context: Context, verbs: readonly string[]): boolean {
  if (context === 'statement' || CHANGING.has(word)) return true
  if (word === 'into') return !TAKES_INTO.has(verbs.at(-1) ?? '')
  return context === 'parenthesis' && NESTED.has(word)
}

/** `q'[...]'` ends where one dialect alone says. */
function quotesByItself(sql: string, at: number, word: string): boolean {
  return sql.charAt(at + word.length) === "'" && /^n?q$/i.test(word)
}

/**
 * `[...]` is a name to some dialects, in which quotes and comments are letters, and `]]` is a bracket; to others it
 * is an index or a list. They agree on what comes behind it when everything that begins inside ends there. How far
 * they do: `at` itself when no bracket opens; undefined when they do not. What never closes is a name to nobody.
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
 * End of the comment or quoted text that begins at `at`; `at` itself when none does; undefined when it is unreadable.
 */
function skipSilent(sql: string, at: number): number | undefined {
  if (sql.startsWith('--', at)) return skipLine(sql, at)
  if (sql.startsWith('/*', at)) return skipComment(sql, at)
  const quote = sql.charAt(at)
  return quote === "'" || quote === '"' || quote === '`' ? skipQuoted(sql, at, quote) : at
}

/** `--` without a blank is arithmetic in one dialect; a lone carriage return ends the line in another. */
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
