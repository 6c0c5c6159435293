import { CST, Lexer } from 'yaml'
import { MAX_YAML_DEPTH } from '../text/bounds.ts'
import type { DiagnosticCode } from '../report/diagnostics.ts'
import { fileBounds } from '../text/file-bounds.ts'
import type { Findings, Source } from './source.ts'
import { findHidden, nameOf } from '../text/text.ts'

/** The tokens that no policy may contain. */
const REFUSED: Readonly<Record<string, readonly [DiagnosticCode, string]>> = {
  anchor: ['yaml-anchor', 'anchors are not part of the policy language'],
  alias: ['yaml-anchor', 'aliases are not part of the policy language'],
  tag: ['yaml-tag', 'tags are not part of the policy language'],
  'directive-line': ['yaml-directive', 'directives are not part of the policy language'],
}
const NODE_TOKENS = new Set([
  'scalar',
  'double-quoted-scalar',
  'single-quoted-scalar',
  'flow-map-start',
  'flow-seq-start',
  'seq-item-ind',
  'map-value-ind',
  'comma',
])

interface Scan {
  readonly source: Source
  readonly findings: Findings
  offset: number
  nodes: number
  readonly mostNodes: number
  documents: number
  /** True after `...`. */
  ended: boolean
  content: boolean
  flow: number
  /** The columns at which the open block collections begin. */
  readonly columns: number[]
  lineStart: number
  /** Offset of a line end that only some programs recognize; -1 without such a line end. */
  oddBreak: number
  clean: boolean
  /** The type of the last token. */
  before: string
}

/**
 * Scans the tokens in one linear pass, before the parser builds anything. Refuses tokens outside the language, and
 * depths or node counts that would cost the parser too much. Returns the tokens; undefined when the text must not be
 * parsed.
 */
export function scanTokens(source: Source, findings: Findings): readonly string[] | undefined {
  const scan: Scan = {
    source,
    findings,
    offset: 0,
    nodes: 0,
    mostNodes: fileBounds(source.path).nodes,
    documents: 0,
    ended: false,
    content: false,
    flow: 0,
    columns: [],
    lineStart: 0,
    oddBreak: -1,
    clean: true,
    before: '',
  }
  checkBreaks(scan)
  if (!checkConflicts(scan)) return undefined
  const lexemes: string[] = []
  for (const lexeme of new Lexer().lex(source.text)) {
    lexemes.push(lexeme)
    const type = CST.tokenType(lexeme) ?? 'plain'
    if (!scanToken(scan, type, lexeme)) return undefined
    if (!isAnnouncement(type, lexeme)) advance(scan, lexeme)
  }
  return scan.clean ? lexemes : undefined
}

/** The marks of a merge conflict. */
const CONFLICT = /^(?:<{7}|>{7}|\|{7})(?= |\r?$)|^={7}(?=\r?$)/gm

/** Returns false at a merge conflict. Reports only its marks, because the lines between them have two versions. */
function checkConflicts({ source, findings }: Scan): boolean {
  const marks = [...source.text.matchAll(CONFLICT)]
  if (!marks.some(([mark]) => mark.startsWith('<') || mark.startsWith('>'))) return true
  for (const { 0: mark, index } of marks) {
    const at = { start: index, end: index + mark.length }
    findings.add(
      'merge-conflict',
      { source, mark: at },
      `\`${mark}\` is the mark of a merge conflict`,
      RESOLVE,
    )
  }
  return false
}

const RESOLVE = 'keep the lines that you want, and remove the three marks'

const ODD_BREAK = /\r(?!\n)|[\x85\u2028\u2029]/

/**
 * Reports the first line end that other programs recognize and the lexer does not. YAML ends a line at a carriage
 * return. YAML 1.1 and many editors also end a line at NEL, LS and PS, even in comments. A rule that editors show could
 * be part of a comment for this lexer, and a pull request would not show the difference.
 */
function checkBreaks(scan: Scan): void {
  const { source, findings } = scan
  const start = source.text.search(ODD_BREAK)
  scan.oddBreak = start
  if (start < 0) return
  const mark = { start, end: start + 1 }
  findings.add('hidden-character', { source, mark }, ...describeBreak(source.text, start))
  scan.clean = false
}

function describeBreak(text: string, at: number): readonly [message: string, hint: string] {
  if (text[at] === '\r')
    return ['a carriage return without a line feed ends the line for some readers only', LINE_ENDS]
  const code = text.charCodeAt(at).toString(16)
  return [
    `${nameOf(text, at)} ends the line for some readers only`,
    `${LINE_ENDS}; a pattern finds the character as \`\\x{${code}}\``,
  ]
}

const LINE_ENDS = 'end lines with a line feed'

/**
 * Returns true for a control character that is not in the text. The lexer uses such characters to announce documents,
 * scalars and the ends of unclosed brackets. A control character in the text is part of a scalar, whose value is
 * checked when it is read.
 */
function isAnnouncement(type: string, lexeme: string): boolean {
  return type === 'doc-mode' || type === 'flow-error-end' || (type === 'scalar' && lexeme === '\x1f')
}

function scanToken(scan: Scan, type: string, lexeme: string): boolean {
  const refused = REFUSED[type]
  if (refused) refuse(scan, refused[0], refused[1], lexeme.length)
  if (type !== 'comment' && !isAnnouncement(type, lexeme)) checkHidden(scan, lexeme)
  if (type === 'plain' && scan.before !== 'block-scalar-header') checkSpaces(scan, lexeme)
  if (type !== 'scalar') scan.before = type
  checkDocuments(scan, type)
  if (NODE_TOKENS.has(type)) scan.nodes++
  if (scan.nodes > scan.mostNodes) {
    return refuse(scan, 'yaml-nodes', `the file has more than ${scan.mostNodes} parts`, 1)
  }
  if (depthAfter(scan, type) > MAX_YAML_DEPTH) {
    return refuse(scan, 'yaml-depth', `the nesting is deeper than ${MAX_YAML_DEPTH}`, 1)
  }
  return true
}

function checkHidden(scan: Scan, lexeme: string): void {
  const at = findHidden(lexeme)
  if (at < 0) return
  const start = scan.offset + at
  if (start === scan.oddBreak) return
  const message = `hidden character ${nameOf(lexeme, at)}`
  scan.findings.add('hidden-character', { source: scan.source, mark: { start, end: start + 1 } }, message)
  scan.clean = false
}

/** Unusual spaces in place of a space or an indentation, where YAML treats them as letters. */
const ODD_SPACE =
  /^[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]|(?<=[:,?[\]{}-])[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]|[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000](?=#|$)/mu

function checkSpaces(scan: Scan, lexeme: string): void {
  const at = lexeme.search(ODD_SPACE)
  if (at < 0) return
  const start = scan.offset + at
  const message = `${nameOf(lexeme, at)} replaces a space: ${SPACES[lexeme[at] ?? ''] ?? 'an unusual space'}`
  const mark = { start, end: start + 1 }
  scan.findings.add(
    'unusual-space',
    { source: scan.source, mark },
    message,
    'type the space anew, by the space bar',
  )
  scan.clean = false
}

const SPACES: Readonly<Record<string, string>> = {
  '\u00a0': 'a no-break space',
  '\u202f': 'a narrow no-break space',
  '\u3000': 'an ideographic space',
}

function checkDocuments(scan: Scan, type: string): void {
  if (type === 'doc-start') {
    if (scan.content || scan.ended || ++scan.documents > 1)
      refuse(scan, 'yaml-documents', 'a file holds one document', 3)
  } else if (type === 'doc-end') scan.ended = true
  else if (NODE_TOKENS.has(type)) {
    scan.content = true
    if (scan.ended) refuse(scan, 'yaml-documents', 'text follows the end of the document', 1)
  }
}

const FLOW_STEPS: Readonly<Record<string, number>> = {
  'flow-map-start': 1,
  'flow-seq-start': 1,
  'flow-map-end': -1,
  'flow-seq-end': -1,
}

/**
 * Returns the nesting depth after this token: open flow brackets plus block collections, counted by their start column.
 */
function depthAfter(scan: Scan, type: string): number {
  scan.flow += FLOW_STEPS[type] ?? 0
  const begins = type === 'explicit-key-ind' || (NODE_TOKENS.has(type) && type !== 'map-value-ind')
  if (scan.flow === 0 && begins) openColumn(scan.columns, scan.offset - scan.lineStart)
  return scan.flow + scan.columns.length
}

function openColumn(columns: number[], column: number): void {
  while ((columns.at(-1) ?? -1) > column) columns.pop()
  if (columns.at(-1) !== column) columns.push(column)
}

function advance(scan: Scan, lexeme: string): void {
  const lastBreak = lexeme.lastIndexOf('\n')
  if (lastBreak >= 0) scan.lineStart = scan.offset + lastBreak + 1
  scan.offset += lexeme.length
}

function refuse(scan: Scan, code: DiagnosticCode, message: string, width: number): false {
  const mark = { start: scan.offset, end: scan.offset + width }
  scan.findings.add(code, { source: scan.source, mark }, message)
  scan.clean = false
  return false
}
