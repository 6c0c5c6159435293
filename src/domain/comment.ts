import { BLANK } from './hidden-characters.ts'

/** The parts of a reviewer's comment that identify it. */
export interface Said {
  readonly reviewer: string
  readonly comment: string
  readonly revision: number
}

/**
 * Matches a letter, a digit or a symbol. Spaces and invisible characters have no meaning for an agent. Unicode
 * classifies filler characters as letters, so the pattern excludes them explicitly.
 */
const SOMETHING = new RegExp(`(?![${BLANK}])[\\p{L}\\p{N}\\p{P}\\p{S}]`, 'u')

export function saysSomething(comment: string): boolean {
  return SOMETHING.test(comment)
}

/**
 * True when the comment repeats the last comment on the thread. A browser resends a request when its connection breaks.
 */
export function isSaidAgain(last: Said | undefined, { reviewer, comment, revision }: Said): boolean {
  return last?.reviewer === reviewer && last.comment === comment && last.revision === revision
}
