import { codeOf, PLAIN } from './hidden-characters.ts'

/*
 * The order of letters. Browsers, chats and terminals draw Hebrew, Arabic and their kin from right to left. They move
 * digits, signs and other letters beside them (Unicode Standard Annex 9): `X 100 -> 900` becomes `900 <- 100 X`.
 */

/** A strong letter of the blocks from right to left. */
const RTL =
  '(?=\\p{L})[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}]'
const OTHER = `(?!${RTL})[\\p{L}\\p{Nd}]`
/** Signs that carry a meaning in their order, unlike those of a sentence. */
const SIGN = '[<>=|&$^~\\\\{}[\\]\\u2190-\\u21ff]'

const ANY_RTL = new RegExp(RTL, 'u')
const MIXING = new RegExp(`${OTHER}|${SIGN}`, 'u')
const FIRST = new RegExp(`${RTL}|(?!${RTL})\\p{L}`, 'u')
/** A sentence or a word from right to left. */
const RTL_RUN = new RegExp(
  `${RTL}(?:(?:${RTL}|[\\p{M}\\s.,:;!?'"()\\u05be\\u060c\\u061b\\u061f-])*${RTL})?\\p{M}*`,
  'gu',
)
/** The rest between two letters from right to left, from its first letter or digit to the last, with its sign. */
const OTHER_RUN = new RegExp(`[-+$#@/.~]{0,3}${OTHER}(?:(?!${RTL})[^\\n])*(?<=[\\p{L}\\p{M}\\p{Nd}%])`, 'gu')
/** A number or a pair after such a letter, which a line from left to right draws in another order. */
const MOVED = new RegExp(`${RTL}\\P{L}*\\p{Nd}|${RTL}\\P{L}*(?:${SIGN}|":)\\P{L}*${RTL}`, 'u')

/** True for text with a letter that is written from right to left. */
export const hasRightToLeft = (text: string): boolean => !PLAIN.test(text) && ANY_RTL.test(text)

/** The longest value that appears from left to right, in characters. Longer text is prose and keeps its direction. */
export const LONGEST_VALUE = 200

/** True for text whose letters, digits and signs may be drawn in another order than they are stored. */
export const mixesDirections = (text: string): boolean =>
  !PLAIN.test(text) && ANY_RTL.test(text) && MIXING.test(text)

/** A piece of text. With `turned`, its direction is not that of the text, and it must be isolated. */
export interface Run {
  readonly text: string
  readonly turned: boolean
}

export interface Ordered {
  readonly direction: 'ltr' | 'rtl'
  readonly runs: (text: string) => readonly Run[]
}

/**
 * The direction of text that mixes directions, and its runs. A value appears from left to right, as it is
 * stored. Prose has the direction of its first letter.
 */
export function orderOf(text: string): Ordered | undefined {
  if (!mixesDirections(text)) return undefined
  const rtl = text.length > LONGEST_VALUE && ANY_RTL.test(FIRST.exec(text)?.[0] ?? '')
  return { direction: rtl ? 'rtl' : 'ltr', runs: (piece) => split(piece, rtl ? OTHER_RUN : RTL_RUN) }
}

function split(text: string, turned: RegExp): Run[] {
  const runs: Run[] = []
  let done = 0
  for (const { 0: run, index } of text.matchAll(turned)) {
    if (index > done) runs.push({ text: text.slice(done, index), turned: false })
    runs.push({ text: run, turned: true })
    done = index + run.length
  }
  if (done < text.length) runs.push({ text: text.slice(done), turned: false })
  return runs
}

/**
 * A line for a chat or a terminal, which isolate nothing: letters that would move its other characters become code
 * points. A line of prose stays.
 */
export function inOrder(line: string): string {
  if (PLAIN.test(line) || line.length > LONGEST_VALUE) return line
  const turnsAll = mixesDirections(line) && ANY_RTL.test(FIRST.exec(line)?.[0] ?? '')
  if (!turnsAll && !MOVED.test(line)) return line
  return line.replaceAll(new RegExp(RTL, 'gu'), (letter) => `[${codeOf(letter)}]`)
}
