import type { JsonValue } from '../../contract/json.ts'
import { cut, shortened } from '../../domain/shorten.ts'

/** The maximum number of characters of one value in a summary. */
export const SHOWN_CHARACTERS = 80

/** Text whose end is clear without quotes. */
const WORD = /^[^\s"'\\,;()[\]{}<>…]+$/u

/**
 * Prints a value without a format. Quotes any text except a single word, so that no value looks like words of the
 * template, several values or a missing value. Blanks separate the values of a plain list.
 */
export function plainText(value: JsonValue, most: number = SHOWN_CHARACTERS): string {
  if (typeof value === 'string') return quoted(value, shortened(value, most))
  if (Array.isArray(value)) return plainList(value as readonly JsonValue[], most)
  return cut(JSON.stringify(value), most)
}

function plainList(items: readonly JsonValue[], most: number): string {
  if (items.length === 0) return '[]'
  if (items.some((item) => typeof item === 'object' && item !== null)) return cut(JSON.stringify(items), most)
  // Each value has at least one character, so `cut` would drop any further values.
  return cut(
    items
      .slice(0, most)
      .map((item) => plainText(item, most))
      .join(' '),
    most,
  )
}

function quoted(text: string, shown: string): string {
  return WORD.test(text) ? shown : `"${shown.replaceAll(/["\\]/g, (sign) => `\\${sign}`)}"`
}
