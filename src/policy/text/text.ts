/**
 * Characters that people cannot see in a pull request: controls, zero-width, bidirectional controls, fillers, variation
 * selectors, tags, private use and non-characters. Tab, line feed and carriage return are layout characters and
 * allowed.
 */
const HIDDEN_CLASS =
  '[\\x00-\\x08\\x0b-\\x0c\\x0e-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f-\\u1160\\u17b4-\\u17b5' +
  '\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ud800-\\udfff\\ue000-\\uf8ff' +
  '\\ufdd0-\\ufdef\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\uffff\\u{1bca0}-\\u{1bca3}' +
  '\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{10ffff}]'
const HIDDEN = new RegExp(HIDDEN_CLASS, 'u')
const EVERY_HIDDEN = new RegExp(HIDDEN_CLASS, 'gu')

/** Returns the offset of the first hidden character, or -1. A lone surrogate counts. */
export function findHidden(text: string): number {
  return text.search(HIDDEN)
}

export function hasHidden(text: string): boolean {
  return HIDDEN.test(text)
}

/** Writes every hidden character as `<U+200B>`. */
export function showHidden(text: string): string {
  return text.replaceAll(EVERY_HIDDEN, (character) => nameOf(character))
}

/** Escapes every hidden character in JSON text. People then see the character, and parsers read the same value. */
export function escapeHidden(json: string): string {
  return json.replaceAll(EVERY_HIDDEN, (character) =>
    Array.from({ length: character.length }, (_, at) => unitEscape(character.charCodeAt(at))).join(''),
  )
}

const unitEscape = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`

/** Writes every character outside printable ASCII as `<U+0430>`, to expose look-alike letters. */
export function showForeign(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/gu, (character) => nameOf(character))
}

/** Returns `<U+200B>` for the character at an offset. */
export function nameOf(text: string, offset = 0): string {
  const code = text.codePointAt(offset) ?? 0
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`
}

export const DAY_MS = 86_400_000
export const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS }

/** Returns a duration such as `8h` in ms. A DURATION is a number from 1 with s, m, h or d; undefined for other text. */
export function parseDuration(text: string): number | undefined {
  const match = /^([1-9][0-9]{0,8})([smhd])$/.exec(text)
  return match ? Number(match[1]) * (UNIT_MS[match[2] ?? ''] ?? 0) : undefined
}

/**
 * Compiles a glob, in which `*` matches any run of characters, including dots and slashes. Matching takes linear time.
 */
export function compileGlob(glob: string): (text: string) => boolean {
  const parts = glob.split('*')
  const first = parts[0] ?? ''
  const last = parts.at(-1) ?? ''
  if (parts.length === 1) return (text) => text === glob
  const middle = parts.slice(1, -1).filter((part) => part !== '')
  return (text) => {
    if (text.length < first.length + last.length) return false
    if (!text.startsWith(first) || !text.endsWith(last)) return false
    let from = first.length
    const end = text.length - last.length
    for (const part of middle) {
      const found = text.indexOf(part, from)
      if (found < 0 || found + part.length > end) return false
      from = found + part.length
    }
    return true
  }
}
