import { BLANK } from './hidden-characters.ts'

/** The parts of a reviewer's comment that identify it. */
export interface Said {
  readonly reviewer: string
  readonly comment: string
  readonly revision: number
}

/**
 * Matches a letter, a digit or a sign. Spaces and invisible characters mean nothing to an agent. Filler characters
 * count as letters, so they are excluded by name.
 */
const SOMETHING = new RegExp(`(?![${BLANK}])[\\p{L}\\p{N}\\p{P}\\p{S}]`, 'u')

export function saysSomething(comment: string): boolean {
  return SOMETHING.test(comment)
}

/** True when the comment repeats the last one on the thread: a browser resends a request when its connection breaks. */
export function isSaidAgain(last: Said | undefined, { reviewer, comment, revision }: Said): boolean {
  return last?.reviewer === reviewer && last.comment === comment && last.revision === revision
}
