import { codeOf, type HiddenKind, PLAIN, type Segment, segmentsOf } from './hidden-characters.ts'
import {
  hasForeignDigits,
  isDecomposed,
  looksLikeOthers,
  mixesScripts,
  othersIn,
  passesForLatin,
  type Standing,
} from './look-alikes.ts'

/**
 * The inspection of an agent's text for deceptive characters: hidden and direction-changing characters, look-alikes,
 * stacked marks, padding. Text in any living script, and emoji, cause no warning. The text is never changed.
 */
export interface Inspection {
  readonly segments: readonly Segment[]
  readonly warnings: readonly TextWarning[]
}

export type TextWarning = HiddenKind | keyof typeof CHECKS | 'order' | 'names'

/** A sentence for each warning, which reviewers read. */
export const WARNINGS: Readonly<Record<TextWarning, string>> = {
  direction:
    'Characters change the direction of the text: it may read in a different order than it is stored.',
  control: 'Control characters are in the text.',
  invisible: 'Invisible characters are in the text.',
  space: 'Unusual spaces are in the text.',
  unknown: 'Unassigned characters are in the text.',
  mixed_script: 'A word mixes letters of different alphabets that look alike.',
  look_alike_word: 'A word reads as Latin letters but is written in another alphabet.',
  look_alike: 'Some characters look like others, and replace them.',
  digits: 'Digits of another script are in the text.',
  decomposed: 'Letters are written in two parts: texts that look equal may differ.',
  stacked: 'Marks are stacked on letters, or strike them out.',
  padding: 'Long empty stretches may push text out of sight.',
  address: 'An address is different from what it seems.',
  order: 'Letters that run from right to left are next to digits, signs or other letters.',
  names: 'Names in one place differ only in capital letters or blanks.',
}

const CHECKS = {
  mixed_script: (text: string) => someWord(text, (word) => mixesScripts(word)),
  look_alike_word: (text: string) => {
    const hasOthers = othersIn(text)
    return someWord(text, (word, standing) => passesForLatin(word, standing, hasOthers))
  },
  look_alike: looksLikeOthers,
  digits: hasForeignDigits,
  decomposed: isDecomposed,
  stacked: (text: string) => STACKED.test(text),
  padding: (text: string) => PADDING.test(text),
  address: (text: string) => ADDRESS.test(text),
} as const

/** Marks that have no meaning in their place. */
const STACKED = new RegExp(
  [
    // three general marks on one letter; seven marks of a script, or the same mark three times
    '[\\u0300-\\u036f\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u20d0-\\u20ff\\ufe20-\\ufe2f\\u0483-\\u0489]{3}|\\p{M}{7}|(\\p{M})\\1\\1',
    // marks that enclose, strike out or underline a letter
    '(?!\\u20e3)\\p{Me}|[\\u0334-\\u0338]|[\\u20d2-\\u20d4]|[\\u20d8-\\u20da]|[\\u20e5-\\u20eb]|(?<![0-9#*]\\ufe0f?)\\u20e3|(?:\\p{L}[\\u0305\\u0332\\u0333\\u033f]){2}',
    // marks without a base, on a number or on a symbol
    '(?:^|[\\s\\p{C}])[\\u0300-\\u036f]|[!-@[-`{-~][\\u0300-\\u036f]',
  ].join('|'),
  'u',
)
const PADDING = /(?:[^\S\n]*\n){12}|[^\S\n]{80}|\t{24}/
/**
 * Deceptive addresses: Punycode, or a name before an `@` that looks like a host. In web addresses, also a user name
 * (RFC 9110, section 4.2.4), an escape or a backslash within the host, or a number as host. Browsers accept any number
 * of slashes or backslashes after `https:`. They drop tabs and line ends. They leave out a folder before `..`, whose
 * dots may be escaped. A Latin letter or a mark outside of ASCII in a host stands for another host. The user part and
 * the path end at the next `https:`, so that the scan stays linear.
 */
const ADDRESS = new RegExp(
  [
    '\\bxn--',
    ':\\/{2,}(?=[^\\s/\\\\?#@]*@)[^\\s/\\\\?#@]*\\.',
    '\\bhttps?:[\\\\/]*(?:(?!\\bhttps?:)[^\\s/\\\\?#@])+@',
    '^https?:[\\\\/]*[^\\s/\\\\?#@]*[\\t\\n]+[.@:][A-Za-z0-9]',
    '\\bhttps?:(?:(?!\\bhttps?:)[^\\s?#])*[/\\\\](?:\\.|%2e){2}(?![^\\s/\\\\?#])',
    '(?:\\bhttps?:[\\\\/]+|[a-z0-9]@)[a-z0-9.-]*[\\u00c0-\\u02af\\u0300-\\u036f\\u1e00-\\u1eff]',
    '\\bhttps?:\\/\\/(?:[^\\s/\\\\?#@%]*%[0-9a-f]{2}|[^\\s/\\\\?#@]+\\\\[^\\s/?#]*@|(?:0x[0-9a-f.x]+|0[0-9][0-9.]*|[0-9]{8,10})(?![^\\s/:?#]))',
  ].join('|'),
  'i',
)

export function inspectText(text: string): Inspection {
  const plain = PLAIN.test(text)
  const segments = segmentsOf(text)
  const kinds = segments.flatMap(({ hidden }: Segment) => (hidden === undefined ? [] : [hidden.kind]))
  const found = Object.entries(CHECKS).filter(
    ([name, check]) => (!plain || ASCII_TOO.has(name)) && check(text),
  )
  return {
    segments,
    warnings: [...new Set<TextWarning>([...kinds, ...found.map(([name]) => name as TextWarning)])],
  }
}

const ASCII_TOO: ReadonlySet<string> = new Set(['padding', 'address'])

/** Returns at most `most` different words that deceive with look-alike letters. */
export function deceptiveWords(text: string, most = Infinity): string[] {
  const found = new Set<string>()
  const hasOthers = othersIn(text)
  someWord(text, (word, standing) => {
    if (mixesScripts(word) || passesForLatin(word, standing, hasOthers)) found.add(word)
    return found.size >= most
  })
  return [...found]
}

/** A word with every non-ASCII letter as its code point: `p[U+0430]ypal`. */
export const spelled = (word: string): string => word.replace(/[^\0-\x7f]/gu, (one) => `[${codeOf(one)}]`)

/** True when a word passes the test. Words are runs of letters, marks and numbers. */
function someWord(text: string, test: (word: string, standing: Standing) => boolean): boolean {
  for (const { 0: word, index } of text.matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    if (/^[\0-\x7f]*$/.test(word)) continue
    const before = /[a-z0-9]([._@/:-])$/i.exec(text.slice(Math.max(0, index - 2), index))?.[1]
    const end = index + word.length
    const after = /^([._@/:-])[a-z0-9\\]/i.exec(text.slice(end, end + 2))?.[1]
    if (test(word, standingOf(word, before, after))) return true
  }
  return false
}

/**
 * The word's standing. `before` and `after` are adjacent characters with an ASCII letter or digit on their other side.
 * Endings and prefixes are short and joined by a hyphen.
 */
function standingOf(word: string, before: string | undefined, after: string | undefined): Standing {
  const signs = [before, after].filter((sign) => sign !== undefined)
  if (signs.length === 0) return 'alone'
  return signs.length === 1 && signs[0] === '-' && word.length <= 2 ? 'affix' : 'glued'
}
