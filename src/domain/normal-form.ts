/**
 * Unicode normal forms for the whole program: no other file calls `normalize` (test/architecture.test.ts).
 * Normalisation sorts the combining marks after a letter, which takes quadratic time in their number. With 16,000 marks
 * the process hangs for a long time. Text with more than 64 marks in a row therefore has no normal form here, and is
 * never compared.
 */

/**
 * Maximum number of combining marks on one base character. Living scripts stay far below this number: the longest
 * Tibetan stacks have about ten.
 */
export const MOST_MARKS = 64

/**
 * Characters that have a combining class, or become such characters in a normal form. Characters with a combining class
 * are in the category of marks. NFKC turns the halfwidth voiced sound marks of Japanese, which are letters, into marks.
 */
const MARK = '[\\p{M}\\uff9e\\uff9f]'
const MARKS = new RegExp(`${MARK}+`, 'gu')
/** Marks up to the 65th, which already makes a run too long. */
const ENOUGH_MARKS = new RegExp(`${MARK}{1,${MOST_MARKS + 1}}`, 'gu')
/**
 * Characters that may compose. A character below U+0300 is its own NFC form and not a mark, so ordinary text needs one
 * scan and no copy.
 */
const MAY_COMPOSE = /[\u0300-\uffff]/

/** A run with more marks than a base may have, as offsets in the text. */
export interface MarkRun {
  readonly start: number
  readonly end: number
}

/** Yields the runs in linear time. */
export function* longMarkRuns(text: string): Generator<MarkRun> {
  if (isComparable(text)) return
  for (const { 0: run, index } of text.matchAll(MARKS))
    if (isLong(run)) yield { start: index, end: index + run.length }
}

function isLong(run: string): boolean {
  if (run.length <= MOST_MARKS) return false
  // a code point has two units at most
  return run.length > 2 * MOST_MARKS || Array.from(run).length > MOST_MARKS
}

/** True when the text can be normalised, and therefore compared. */
export function isComparable(text: string): boolean {
  if (!MAY_COMPOSE.test(text)) return true
  for (const [run] of text.matchAll(ENOUGH_MARKS)) if (isLong(run)) return false
  return true
}

/** The text in NFC; undefined when the text has too many marks on one base. */
export function toNfc(text: string): string | undefined {
  if (!MAY_COMPOSE.test(text)) return text
  return normalForm(text, 'NFC')
}

/** The text in a normal form; undefined when the text has too many marks on one base. */
export function normalForm(text: string, form: 'NFC' | 'NFKC'): string | undefined {
  return isComparable(text) ? text.normalize(form) : undefined
}
