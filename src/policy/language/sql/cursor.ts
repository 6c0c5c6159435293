import type { Token } from './tokens.ts'

/** How deep sub-selects and parentheses may lie in one another. */
const MAX_DEPTH = 64

/** Where the reader is in the words of a text, and what it has found. */
export interface Cursor {
  readonly tokens: readonly Token[]
  readonly functions: string[]
  at: number
  depth: number
}

/**
 * Takes one part of the grammar; false when the text has something else there, which makes the whole text not
 * understood.
 */
export type Part = (cursor: Cursor) => boolean

/** The next token, when it is this keyword or sign. */
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

/** When the keyword is there, what must follow it. */
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

/** A part that may hold itself: no deeper than the stack bears. */
export function nested(cursor: Cursor, part: Part): boolean {
  if (cursor.depth >= MAX_DEPTH) return false
  cursor.depth++
  const fits = part(cursor)
  cursor.depth--
  return fits
}
