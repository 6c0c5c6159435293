import {
  DIAGNOSTIC_CODES,
  sortDiagnostics,
  type Diagnostic,
  type DiagnosticCode,
} from '../report/diagnostics.ts'
import { hasHidden, nameOf, showHidden } from '../text/text.ts'

/** Part of a source, as UTF-16 offsets. */
export interface Mark {
  readonly start: number
  readonly end: number
}

/** A file of the bundle, with the offsets of its lines. */
export interface Source {
  readonly path: string
  readonly text: string
  /** Offset of the first character of each line. */
  readonly lineStarts: readonly number[]
}

const MAX_EXCERPT = 160

export function createSource(path: string, text: string): Source {
  const lineStarts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lineStarts.push(at + 1)
  return { path, text, lineStarts }
}

/** Returns the line (from 1) of an offset. */
export function lineOf(source: Source, offset: number): number {
  let low = 0
  let high = source.lineStarts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((source.lineStarts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return low + 1
}

/** Collects diagnostics. A load continues after an error, to report all problems. */
export interface Findings {
  add(code: DiagnosticCode, place: Place, message: string, hint?: string): void
  readonly failed: boolean
  sorted(): readonly Diagnostic[]
}

export interface Place {
  readonly source: Source
  readonly mark: Mark
}

/**
 * The maximum number of findings of one severity. More findings would use memory without helping the author. Warnings
 * never displace errors.
 */
const MAX_FINDINGS = 1_000

export function createFindings(): Findings {
  const found: Diagnostic[] = []
  const room = { error: MAX_FINDINGS, warning: MAX_FINDINGS }
  let failed = false
  return {
    add(code, place, message, hint) {
      const severity = DIAGNOSTIC_CODES[code]
      failed ||= severity === 'error'
      if (--room[severity] < 0) return
      const says = { message: legible(message), ...(hint === undefined ? {} : { hint: legible(hint) }) }
      found.push({ code, severity, ...locate(place), ...says })
    },
    get failed() {
      return failed
    },
    sorted: () => sortDiagnostics(found),
  }
}

/** The maximum number of characters in a message. */
const MAX_MESSAGE = 1_000

/** Escapes text from a policy, which could otherwise look like the checker's own output on a terminal or in a log. */
function legible(text: string): string {
  const shown = showHidden(text.slice(0, MAX_MESSAGE)).replaceAll(/[\t\n\r]/g, (character) =>
    nameOf(character),
  )
  return text.length > MAX_MESSAGE ? `${shown}...` : shown
}

/** Returns a finding about a whole file or bundle, without a position in its text. */
export function fileDiagnostic(
  code: DiagnosticCode,
  file: string,
  message: string,
  hint?: string,
): Diagnostic {
  const place = { file: legible(file), line: 1, column: 1 }
  return {
    code,
    severity: DIAGNOSTIC_CODES[code],
    ...place,
    message: legible(message),
    ...(hint === undefined ? {} : { hint: legible(hint) }),
  }
}

function locate({ source, mark }: Place): Pick<Diagnostic, 'file' | 'line' | 'column' | 'excerpt' | 'width'> {
  const line = lineOf(source, mark.start)
  const lineStart = source.lineStarts[line - 1] ?? 0
  const column = mark.start - lineStart + 1
  const nextLine = source.lineStarts[line]
  const text = source.text
    .slice(lineStart, nextLine === undefined ? undefined : nextLine - 1)
    .replace(/\r$/, '')
  const where = { file: source.path, line, column }
  if (text.trim() === '' || column > MAX_EXCERPT) return where
  const excerpt = text.slice(0, MAX_EXCERPT)
  const width = Math.max(1, Math.min(mark.end - mark.start, excerpt.length - column + 1))
  return { ...where, excerpt: showReturns(hasHidden(excerpt) ? showHidden(excerpt) : excerpt), width }
}

/**
 * Makes carriage returns within a line visible. On a terminal, the text after one would overwrite the text before it.
 */
function showReturns(line: string): string {
  return line.replaceAll('\r', nameOf('\r'))
}
