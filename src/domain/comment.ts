import { BLANK } from './hidden-characters.ts'

/** What a reviewer has said of a thread, as far as it counts. */
export interface Said {
  readonly reviewer: string
  readonly comment: string
  readonly revision: number
}

/** A letter, a digit or a sign: neither spaces nor characters that nobody sees tell an agent anything. Fillers are letters, too. */
const SOMETHING = new RegExp(`(?![${BLANK}])[\\p{L}\\p{N}\\p{P}\\p{S}]`, 'u')

export function saysSomething(comment: string): boolean {
  return SOMETHING.test(comment)
}

/** Whether the last word on the thread is this very one: a browser sends a request again by itself when its connection breaks. */
export function isSaidAgain(last: Said | undefined, { reviewer, comment, revision }: Said): boolean {
  return last?.reviewer === reviewer && last.comment === comment && last.revision === revision
}
