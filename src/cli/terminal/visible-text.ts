import { segmentsOf } from '../../domain/hidden-characters.ts'
import { inOrder } from '../../domain/letter-order.ts'

/*
 * Makes foreign text safe for a terminal: text from agents, reviewers, administrators and files. The characters of the
 * result cannot move the cursor, and its lines cannot imitate the program's own lines.
 */

/**
 * Replaces hidden characters with their code points, as the console does, and letters that would change the order of a
 * line. Line ends and tabs remain.
 */
export function visible(text: string): string {
  const shown = segmentsOf(text)
    .map(({ text: run, hidden }) => {
      if (hidden === undefined) return run
      return hidden.count === 1 ? `<${hidden.code}>` : `<${hidden.code} x${hidden.count}>`
    })
    .join('')
  return shown.split('\n').map(inOrder).join('\n')
}

/** The same text on one line, for lists and reports with one statement on each line. */
export function onOneLine(text: string): string {
  return visible(text).replaceAll('\n', '<U+000A>')
}

/** The same text with later lines indented, so that only headings begin at the margin. */
export function setIn(text: string): string {
  return visible(text).replaceAll('\n', '\n    ')
}

/**
 * JSON for programs that people can also read safely. Hidden and control characters are escaped, which does not change
 * the text.
 */
export function jsonOf(value: unknown): string {
  return escaped(JSON.stringify(value, null, 2))
}

/** JSON text with hidden characters escaped. Line ends between JSON tokens remain. */
export function escaped(json: string): string {
  return json.replaceAll(HIDDEN_IN_JSON, (run) =>
    Array.from({ length: run.length }, (_, i) => unitOf(run.charCodeAt(i))).join(''),
  )
}

/** The characters to escape: `JSON.stringify` escapes only the first 32 controls. */
const HIDDEN_IN_JSON = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/gu

const unitOf = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const

/** A size for people: `1.2 GB`. */
export function bytesText(bytes: number): string {
  const power = bytes < 1_000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1)
  return `${Number((bytes / 1_000 ** power).toPrecision(3))} ${UNITS[power]}`
}
