import type { JsonValue } from '../../contract/json.ts'

/** The maximum number of characters of one value in a summary. */
export const SHOWN_CHARACTERS = 80

/** Text whose end is clear without quotes. */
const WORD = /^[^\s"'\\,;()[\]{}<>…]+$/u

/**
 * Prints a value without a format. Quotes any text except a single word, so that no value looks like words of the
 * template, several values or a missing value. Blanks separate the values of a plain list.
 */
export function plainText(value: JsonValue, most: number = SHOWN_CHARACTERS): string {
  if (typeof value === 'string') return quoted(value, cut(value, most))
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

/** Prints text like `plainText`, shortened around its domain. */
export function plainAddress(value: JsonValue, most: number): string {
  return typeof value === 'string' ? quoted(value, cutAround(value, most)) : plainText(value, most)
}

function quoted(text: string, shown: string): string {
  return WORD.test(text) ? shown : `"${shown.replaceAll(/["\\]/g, (sign) => `\\${sign}`)}"`
}

/** Shortens text to its beginning and an ellipsis. Never splits a character. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text
  const characters = Array.from(text.slice(0, 2 * most + 2))
  return characters.length <= most && text.length <= 2 * most + 2
    ? text
    : `${characters.slice(0, most - 1).join('')}…`
}

/**
 * Shortens an address in its middle: `jonathan-l…@bank.example`, `https://bank.example/…`. The domain of a mail and the
 * host of a URL stay. A longer domain keeps its end, which decides where it leads. Other text keeps its beginning.
 */
export function cutAround(text: string, most: number): string {
  if (text.length <= most) return text
  const [origin, authority = ''] = /^[a-z][a-z0-9+.-]*:\/\/([^/?#\\\s]*)/i.exec(text) ?? []
  if (origin === undefined) {
    const domain = /@[^@\s]+$/.exec(text)?.[0] ?? ''
    return domain === '' ? cut(text, most) : joined(text.slice(0, -domain.length), domain, most)
  }
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  const scheme = origin.slice(0, -authority.length || undefined)
  const shown = host === authority ? origin : `${scheme}…@${host}`
  return shown.length < most ? `${shown}…` : cutBefore(shown, most)
}

/** The end, with as much of the beginning as fits. */
function joined(start: string, end: string, most: number): string {
  const room = most - Array.from(end).length
  return room < 2 ? cutBefore(end, most) : `${cut(start, room)}${end}`
}

/** Shortens text to an ellipsis and its end. Never splits a character. */
export function cutBefore(text: string, most: number): string {
  if (text.length <= most) return text
  const characters = Array.from(text.slice(-2 * most - 2))
  return characters.length <= most && text.length <= 2 * most + 2
    ? text
    : `…${characters.slice(1 - most).join('')}`
}
