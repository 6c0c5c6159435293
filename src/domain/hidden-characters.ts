import { longMarkRuns } from './normal-form.ts'

/**
 * Invisible characters, and characters that change how the text around them looks. Some of these characters are part of
 * the spelling of a living script or an emoji. Such characters are accepted only in their proper places.
 */

/** A run of one hidden character, or of more marks than a letter can have. The console shows such a run as a box. */
export interface HiddenCharacter {
  /** Code point of the first character, such as `U+202E`. */
  readonly code: string
  readonly name: string
  readonly kind: HiddenKind
  readonly count: number
}

export type HiddenKind = 'direction' | 'control' | 'invisible' | 'space' | 'unknown' | 'stacked'

export interface Segment {
  readonly text: string
  /** Present when the text is such a run. Show a box instead of such a run. */
  readonly hidden?: HiddenCharacter
}

/** The flags of RGI_Emoji_Tag_Sequence: England, Scotland, Wales. Every other use of tag characters hides text. */
const TAG_FLAGS = ['gbeng', 'gbsct', 'gbwls'].map((region) => `\\u{1f3f4}${tags(region)}\\u{e007f}`)

/** U+2800, U+FFFC, U+1D159 and U+16FE4 look blank, although their properties do not say so. */
export const BLANK = '\\p{Default_Ignorable_Code_Point}\\u2800\\ufffc\\u{1d159}\\u{16fe4}'
const SUSPECT = `[\\p{C}\\p{Zl}\\p{Zp}${BLANK}]|(?! )\\p{Zs}`

/** Scripts whose letters join or form conjuncts. ZWNJ and ZWJ are part of their spelling. */
const JOINING =
  'Arab Syrc Mong Nkoo Mand Rohg Adlm Phag Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Mymr Khmr Limb Mtei Java Bali Cakm Tibt'
/** Scripts written without spaces, in which ZWSP marks possible line breaks. */
const UNSPACED = 'Khmr Thai Laoo Mymr Lana Tibt Java Bali'
const CJK = 'Hani Hira Kana Hang Bopo'

const scripts = (names: string): string =>
  names
    .split(' ')
    .map((name) => `\\p{scx=${name}}`)
    .join('')
const letterOf = (names: string): string => `(?=[\\p{L}\\p{M}])[${scripts(names)}]`

/** Characters, and the text before and after them that makes them acceptable. */
type Habitat = readonly [characters: string, before: string, after: string]

const VARIABLE = '[$][A-Za-z_{(]'
const VARIANT = '[\\ufe00-\\ufe02\\u{e0100}-\\u{e010f}]'

const HABITATS: readonly Habitat[] = [
  ['[\\n\\t]', '', ''],
  ['[\\u200c\\u200d]', letterOf(JOINING), `${letterOf(JOINING)}|[^\\p{L}\\p{N}\\p{Cf}]|$`],
  // Persian endings after foreign words, numbers and quotations
  ['\\u200c', '[\\p{L}\\p{N}\\p{Pf})]', letterOf('Arab')],
  ['\\u200d', '\\p{Extended_Pictographic}[\\ufe0f\\u{1f3fb}-\\u{1f3ff}]?', '\\p{Extended_Pictographic}'],
  ['[\\ufe0e\\ufe0f]', '(?!\\p{Emoji_Component})\\p{Emoji}', ''],
  ['\\ufe0f', '[0-9#*]', '\\u20e3'],
  // variation selectors: a name has one or two, while four in a row are a hidden message
  [VARIANT, `(?<!(?:\\p{Script=Han}${VARIANT}){3})\\p{Script=Han}`, ''],
  ['\\ufe00', '[\\p{Script=Mymr}\\p{Script=Phag}]', ''],
  ['[\\u180b-\\u180d\\u180f\\u202f]', `(?![\\u180b-\\u180f])${letterOf('Mong')}`, ''],
  ['\\u180e', letterOf('Mong'), letterOf('Mong')],
  ['\\u200b', letterOf(UNSPACED), letterOf(UNSPACED)],
  ['[\\u0600-\\u0605\\u{110bd}\\u{110cd}]', '(?:^|\\P{Cf})', '(?![0-9])\\p{Nd}'],
  ['[\\u06dd\\u08e2]', '(?:^|\\P{Cf})', '(?![0-9])\\p{Nd}|\\s|$'],
  ['\\u070f', '(?:^|\\P{Cf})', letterOf('Syrc')],
  ['[\\u00a0\\u2007\\u2009\\u200a\\u202f]', '\\p{Pi}', '\\S'],
  // excludes shell syntax, such as an option or a variable
  ['[\\u00a0\\u2007\\u2009\\u200a\\u202f]', '[\\p{N}\\p{Sc}.§№°%&]', `(?!-+[A-Za-z]|${VARIABLE})\\S`],
  ['[\\u00a0\\u2007\\u2009\\u200a\\u202f]', '\\S', `(?!-|${VARIABLE})[\\p{N}\\p{Sc}\\p{Pf}\\p{Pd}:;!?%‰°]`],
  ['[\\u00a0\\u2009\\u202f]', '[\\u2013\\u2014]', '\\p{L}'],
  // Czech, Polish and Slovak one-letter words, which must not be at the end of a line
  ['\\u00a0', '(?:^|[\\s(\\p{Pi}])[AIKOSUVWZaikosuvwz]', '[\\p{L}\\p{Pi}\\p{Ps}]'],
  ['\\u3000', `(?:^|\\n|[${scripts(CJK)}\\uff01-\\uff9f])`, ''],
  ['\\u3000', '', `[${scripts(CJK)}\\uff01-\\uff9f]`],
  ['\\u1680', '\\p{Script=Ogam}', ''],
  ['\\u2800', '[\\u2801-\\u28ff]', '[\\u2801-\\u28ff]'],
]

const AT_HOME = HABITATS.map(
  ([character, before, after]) => `${character}(?<=(?:${before})${character})(?=${after})`,
).join('|')
/** Matches accepted characters first, then a run of one unaccepted character, as the first group. */
const HIDDEN = new RegExp(`${TAG_FLAGS.join('|')}|${AT_HOME}|(${SUSPECT})(?:(?!${AT_HOME})\\1)*`, 'gu')
/** Every match of HIDDEN contains one. A search for one is far faster than HIDDEN. */
const ANY_SUSPECT = new RegExp(SUSPECT, 'u')
/** Printable ASCII, tabs and line feeds, which hide nothing. */
export const PLAIN = /^[\n\t -~]*$/

function tags(ascii: string): string {
  return Array.from(ascii, (one) => `\\u{e00${one.charCodeAt(0).toString(16)}}`).join('')
}

/**
 * Splits the text into plain pieces and hidden characters; equal adjacent hidden characters become one piece. A run of
 * marks without a normal form becomes one box, because browsers draw such runs very slowly.
 */
export function segmentsOf(text: string): Segment[] {
  if (PLAIN.test(text)) return [{ text }]
  const segments: Segment[] = []
  let done = 0
  for (const { start, end } of longMarkRuns(text)) {
    if (start > done) segments.push(...hiddenIn(text.slice(done, start)))
    segments.push(stackOf(text.slice(start, end)))
    done = end
  }
  if (done < text.length || text === '') segments.push(...hiddenIn(text.slice(done)))
  return segments
}

function stackOf(run: string): Segment {
  const count = Array.from(run).length
  return { text: run, hidden: { code: codeOf(run), name: 'stacked marks', kind: 'stacked', count } }
}

function hiddenIn(text: string): Segment[] {
  if (!ANY_SUSPECT.test(text)) return [{ text }]
  const segments: Segment[] = []
  let done = 0
  for (const { 0: run, 1: character, index } of text.matchAll(HIDDEN)) {
    if (character === undefined) continue
    if (index > done) segments.push({ text: text.slice(done, index) })
    segments.push({ text: run, hidden: describe(character, run.length / character.length) })
    done = index + run.length
  }
  if (done < text.length) segments.push({ text: text.slice(done) })
  return segments
}

const NAMES: Readonly<Record<number, string>> = {
  0x00: 'null',
  0x08: 'backspace',
  0x0d: 'carriage return',
  0x1b: 'escape',
  0x7f: 'delete',
  0xa0: 'no-break space',
  0xad: 'soft hyphen',
  0x34f: 'grapheme joiner',
  0x61c: 'Arabic letter mark',
  0x2028: 'line separator',
  0x2029: 'paragraph separator',
  0x200b: 'zero-width space',
  0x200c: 'zero-width non-joiner',
  0x200d: 'zero-width joiner',
  0x200e: 'left-to-right mark',
  0x200f: 'right-to-left mark',
  0x202a: 'left-to-right embedding',
  0x202b: 'right-to-left embedding',
  0x202c: 'end of direction',
  0x202d: 'left-to-right override',
  0x202e: 'right-to-left override',
  0x2060: 'word joiner',
  0x2066: 'left-to-right isolate',
  0x2067: 'right-to-left isolate',
  0x2068: 'first strong isolate',
  0x2069: 'end of isolate',
  0x2800: 'Braille blank',
  0x3000: 'ideographic space',
  0x3164: 'Hangul filler',
  0xfeff: 'byte order mark',
  0xfffc: 'object replacement',
  0xe007f: 'end of tags',
}

/** Names for characters that are missing in the list above. The first match applies. */
const KINDS: readonly (readonly [RegExp, HiddenKind, string])[] = [
  [/^\p{Bidi_Control}$/u, 'direction', 'direction control'],
  [/^[\p{Cc}\p{Zl}\p{Zp}]$/u, 'control', 'control character'],
  [/^\p{Zs}$/u, 'space', 'unusual space'],
  [/^[\u{e0000}-\u{e007f}]$/u, 'invisible', 'tag'],
  [/^\p{Variation_Selector}$/u, 'invisible', 'variation selector'],
  [/^\p{Cs}$/u, 'unknown', 'half a character'],
  [/^\p{Co}$/u, 'unknown', 'private use'],
  [/^\p{Noncharacter_Code_Point}$/u, 'unknown', 'not a character'],
  [/^(?!\p{Default_Ignorable_Code_Point})\p{Cn}$/u, 'unknown', 'unassigned'],
  [/^/u, 'invisible', 'invisible character'],
]

function describe(character: string, count: number): HiddenCharacter {
  const point = character.codePointAt(0) ?? 0
  const [, kind, name] = KINDS.find(([pattern]) => pattern.test(character)) as (typeof KINDS)[number]
  const isLetter = name === 'tag' && point > 0xe0020 && point < 0xe007f
  const letter = isLetter ? ` ${String.fromCharCode(point - 0xe0000)}` : ''
  return { code: codeOf(character), name: (NAMES[point] ?? name) + letter, kind, count }
}

/** Code point of the first character, such as `U+202E`. */
export const codeOf = (text: string): string =>
  `U+${(text.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
