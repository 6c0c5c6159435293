import type { Token } from './tokens.ts'

/** The maximum nesting depth of sub-selects and parentheses. */
const MAX_DEPTH = 64

/** The position in the tokens of an SQL text, and what was found so far. */
export interface Cursor {
  readonly tokens: readonly Token[]
  readonly functions: string[]
  /** The tables, each with its qualifiers, without quotes. Names that a visible WITH defines are not tables. */
  readonly tables: string[]
  readonly found: { limit: boolean; recursive: boolean; terms: number; wheres: number }
  /** The names that WITH defines and that are visible here, as they are written. */
  named: readonly string[]
  /** The names of WITH whose own queries are being read, in lower case and without quotes. */
  defining: readonly string[]
  at: number
  depth: number
}

export function startAt(tokens: readonly Token[]): Cursor {
  const found = { limit: false, recursive: false, terms: 0, wheres: 0 }
  return { tokens, functions: [], tables: [], found, named: [], defining: [], at: 0, depth: 0 }
}

/**
 * Consumes one part of the grammar. Returns false when other tokens are at the position; the whole text is then not
 * understood.
 */
export type Part = (cursor: Cursor) => boolean

/** Returns true when the next token, or the token `ahead` positions after it, is this keyword or symbol. */
export function is(cursor: Cursor, text: string, ahead = 0): boolean {
  const token = cursor.tokens[cursor.at + ahead]
  return token?.text === text && (token.kind === 'word' || token.kind === 'symbol')
}

export function take(cursor: Cursor, ...texts: readonly string[]): boolean {
  if (!texts.some((text) => is(cursor, text))) return false
  cursor.at++
  return true
}

export function takeKind(cursor: Cursor, ...kinds: readonly Token['kind'][]): boolean {
  const kind = cursor.tokens[cursor.at]?.kind
  if (kind === undefined || !kinds.includes(kind)) return false
  cursor.at++
  return true
}

/** Consumes the keyword, if present, and the part that must follow it. */
export function after(cursor: Cursor, keyword: string, part: Part): boolean {
  return !take(cursor, keyword) || part(cursor)
}

export function list(cursor: Cursor, part: Part): boolean {
  do if (!part(cursor)) return false
  while (take(cursor, ','))
  return true
}

export function bracketed(cursor: Cursor, part: Part): boolean {
  return take(cursor, '(') && nested(cursor, part) && take(cursor, ')')
}

/** Consumes a part that may contain itself, at most MAX_DEPTH levels deep. */
export function nested(cursor: Cursor, part: Part): boolean {
  if (cursor.depth >= MAX_DEPTH) return false
  cursor.depth++
  const fits = part(cursor)
  cursor.depth--
  return fits
}
