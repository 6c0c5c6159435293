/**
 * Characters that people cannot see in a pull request: controls, zero-width, bidirectional controls, fillers, variation
 * selectors, tags, private use and non-characters. Tab, line feed and carriage return are layout characters and
 * allowed.
 */
const HIDDEN_RANGES: readonly (readonly [number, number])[] = [
  [0x00, 0x08],
  [0x0b, 0x0c],
  [0x0e, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x034f, 0x034f],
  [0x061c, 0x061c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xd800, 0xdfff],
  [0xe000, 0xf8ff],
  [0xfdd0, 0xfdef],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xffff],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0x10ffff],
]
const HIDDEN_CLASS = `[${HIDDEN_RANGES.map((range) => range.map((code) => `\\u{${code.toString(16)}}`).join('-')).join('')}]`
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
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS }

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
