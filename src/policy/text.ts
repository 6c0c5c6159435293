/**
 * Characters a reviewer cannot see in a pull request: controls, zero-width, bidirectional controls, fillers, variation
 * selectors, tags, private use and non-characters. Tab, line feed and carriage return are layout and allowed.
 */
const HIDDEN =
  // eslint-disable-next-line no-control-regex
  /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{10ffff}]/u

/** Offset of the first hidden character, or -1. A lone surrogate counts. */
export function findHidden(text: string): number {
  return text.search(HIDDEN)
}

export function hasHidden(text: string): boolean {
  return HIDDEN.test(text)
}

/** The text with every hidden character written out as `<U+200B>`. */
export function showHidden(text: string): string {
  return text.replaceAll(new RegExp(HIDDEN, 'gu'), (character) => nameOf(character))
}

/** `U+200B` for the character at an offset. */
export function nameOf(text: string, offset = 0): string {
  const code = text.codePointAt(offset) ?? 0
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`
}

const MAY_COMPOSE = /[\u0300-\uffff]/

/** The text in NFC. Characters below U+0300 are in NFC already, so ordinary text costs one scan and no copy. */
export function toNfc(text: string): string {
  return MAY_COMPOSE.test(text) ? text.normalize('NFC') : text
}

const DAY_MS = 86_400_000
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS }

/** `8h` in ms; undefined when it is no DURATION (digits and s, m, h or d; at least 1). */
export function parseDuration(text: string): number | undefined {
  const match = /^([1-9][0-9]{0,8})([smhd])$/.exec(text)
  return match ? Number(match[1]) * (UNIT_MS[match[2] ?? ''] ?? 0) : undefined
}

/** A matcher for a glob in which `*` is any run of characters, dots and slashes included. Linear in the text. */
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
