import { segmentsOf } from '../../domain/hidden-characters.ts'

/*
 * What a terminal is given of texts that others wrote: agents, reviewers, administrators, and whoever wrote a file that is looked at. No character of
 * them moves the cursor, and no line of them stands where one of ours would.
 */

/** Hidden characters stand as their code points, as in the console. Line ends and tabs stay. */
export function visible(text: string): string {
  return segmentsOf(text)
    .map(({ text: run, hidden }) => {
      if (hidden === undefined) return run
      return hidden.count === 1 ? `<${hidden.code}>` : `<${hidden.code} x${hidden.count}>`
    })
    .join('')
}

/** The same on one line, for lists and reports where every line is a statement of its own. */
export function onOneLine(text: string): string {
  return visible(text).replaceAll('\n', '<U+000A>')
}

/** The same on lines that stand further in than the first: headings stand at the margin. */
export function setIn(text: string): string {
  return visible(text).replaceAll('\n', '\n    ')
}

/** JSON for a program that is as good for an eye: what hides or steers stands escaped, which JSON reads as the same. */
export function jsonOf(value: unknown): string {
  return escaped(JSON.stringify(value, null, 2))
}

/** JSON text whose hidden characters stand as escapes. Line ends between its tokens stay. */
export function escaped(json: string): string {
  return json.replaceAll(HIDDEN_IN_JSON, (run) =>
    Array.from({ length: run.length }, (_, i) => unitOf(run.charCodeAt(i))).join(''),
  )
}

/** `JSON.stringify` escapes no more than the first 32 controls. */
const HIDDEN_IN_JSON = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/gu

const unitOf = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`
