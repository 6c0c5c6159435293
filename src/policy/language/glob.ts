/** A glob as code points, with ANY_RUN for `*`. A literal `*` remains a character. */
export type Glob = readonly number[]
export const ANY_RUN = -1

export const exactly = (text: string): Glob => codePoints(text)
export const beginning = (text: string): Glob => [...codePoints(text), ANY_RUN]
export const ending = (text: string): Glob => [ANY_RUN, ...codePoints(text)]
export const holding = (text: string): Glob => [ANY_RUN, ...codePoints(text), ANY_RUN]
export const likeGlob = (glob: string): Glob =>
  codePoints(glob).map((character) => (character === STAR ? ANY_RUN : character))

/** Returns the strings between the runs; one string for a glob without runs. */
export function literalParts(glob: Glob): readonly string[] {
  const parts: number[][] = [[]]
  for (const token of glob) {
    if (token === ANY_RUN) parts.push([])
    else parts.at(-1)?.push(token)
  }
  return parts.map((part) => part.map((character) => String.fromCodePoint(character)).join(''))
}

const STAR = 0x2a

function codePoints(text: string): number[] {
  return Array.from(text).map((character) => character.codePointAt(0) ?? 0)
}
