import type { JsonValue } from '../../contract/json.ts'

/** Characters of one value that a summary shows. */
export const SHOWN_CHARACTERS = 80

/** A text that has an end without quotes. */
const WORD = /^[^\s"'\\,;()[\]{}<>…]+$/u

/**
 * A value without a format of its own. Texts that are no single word stand in quotes, so that no value passes for words of the template,
 * for several values or for one that is not there; a list of plain values stands with blanks between them.
 */
export function plainText(value: JsonValue, most: number = SHOWN_CHARACTERS): string {
  if (typeof value === 'string') return quoted(value, most)
  if (Array.isArray(value)) return plainList(value as readonly JsonValue[], most)
  return cut(JSON.stringify(value), most)
}

function plainList(items: readonly JsonValue[], most: number): string {
  if (items.length === 0) return '[]'
  if (items.some((item) => typeof item === 'object' && item !== null)) return cut(JSON.stringify(items), most)
  // a value has a character at least: more than these are cut off anyway
  return cut(
    items
      .slice(0, most)
      .map((item) => plainText(item, most))
      .join(' '),
    most,
  )
}

function quoted(text: string, most: number): string {
  const shown = cut(text, most)
  return WORD.test(text) ? shown : `"${shown.replaceAll(/["\\]/g, (sign) => `\\${sign}`)}"`
}

/** The text, or its beginning and an ellipsis. Never half a character. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text
  const characters = Array.from(text.slice(0, 2 * most + 2))
  return characters.length <= most && text.length <= 2 * most + 2
    ? text
    : `${characters.slice(0, most - 1).join('')}…`
}

/** The text, or an ellipsis and its end: half a character neither. */
export function cutBefore(text: string, most: number): string {
  if (text.length <= most) return text
  const characters = Array.from(text.slice(-2 * most - 2))
  return characters.length <= most && text.length <= 2 * most + 2
    ? text
    : `…${characters.slice(1 - most).join('')}`
}
