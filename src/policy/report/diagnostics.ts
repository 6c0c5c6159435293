/** One finding about a policy bundle. Lines and columns start at 1. */
export interface Diagnostic {
  readonly code: string
  readonly severity: 'error' | 'warning'
  readonly file: string
  readonly line: number
  readonly column: number
  /** One lower-case sentence, with user input in backticks. */
  readonly message: string
  readonly hint?: string
  /** The source line, for the caret. */
  readonly excerpt?: string
  /** Width of the marked part, in columns. */
  readonly width?: number
}

/** Every code of a diagnostic. docs/diagnostics.md has one entry for each code, and a test compares both. */
export const DIAGNOSTIC_CODES = {
  'bundle-unreadable': 'error',
  'bundle-changing': 'error',
  'bundle-too-large': 'error',
  'too-many-files': 'error',
  'load-timeout': 'error',
  'load-crashed': 'error',
  'missing-file': 'error',
  'unexpected-file': 'error',
  'file-unreadable': 'error',
  'file-too-large': 'error',
  'not-utf8': 'error',
  'bad-lock': 'error',
  'lock-mismatch': 'error',
  'hidden-character': 'error',
  'not-nfc': 'error',
  'look-alike': 'warning',
  'empty-file': 'error',
  'merge-conflict': 'error',
  'unusual-space': 'error',
  'yaml-syntax': 'error',
  'yaml-anchor': 'error',
  'yaml-tag': 'error',
  'yaml-directive': 'error',
  'yaml-documents': 'error',
  'yaml-depth': 'error',
  'yaml-nodes': 'error',
  'duplicate-key': 'error',
  'key-not-text': 'error',
  'unsafe-number': 'error',
  'unknown-key': 'error',
  'missing-key': 'error',
  'wrong-type': 'error',
  'bad-value': 'error',
  'bad-summary': 'error',
  'bad-schema': 'error',
  'bad-pattern': 'error',
  'loose-pattern': 'warning',
  'duplicate-tool': 'error',
  'duplicate-source': 'error',
  'duplicate-id': 'error',
  'verdict-count': 'error',
  'expired-rule': 'warning',
  'empty-match': 'error',
  'unknown-tool': 'error',
  'unknown-field': 'error',
  'undeclared-field': 'warning',
  'test-type': 'error',
  'literal-type': 'error',
  'literal-enum': 'error',
  'literal-range': 'error',
  'literal-form': 'error',
  'field-as-text': 'error',
  'star-as-text': 'warning',
  'entry-by-index': 'error',
  'missing-means-type': 'error',
  'missing-means-unused': 'warning',
  'unknown-function': 'error',
  'unknown-test': 'error',
  'unknown-list': 'error',
  'unknown-condition': 'error',
  'condition-cycle': 'error',
  'unused-condition': 'warning',
  'unknown-group': 'error',
  'unknown-owner': 'error',
  'level-understaffed': 'error',
  'levels-understaffed': 'warning',
  'reviewers-understaffed': 'error',
  'level-order': 'error',
  'test-failed': 'error',
  'near-duplicate-label': 'warning',
  'reviewers-unused': 'warning',
  'allow-above-limit': 'warning',
  'never-fires': 'warning',
  'always-fires': 'warning',
  'always-beaten': 'warning',
  contradiction: 'warning',
  'optional-field': 'warning',
  'task-scoped-history': 'warning',
  'history-ends': 'warning',
  'summary-leaves-out': 'warning',
  'money-decimals': 'warning',
  'functions-unchecked': 'warning',
  'options-unchecked': 'warning',
  'open-pattern': 'warning',
  'rest-unread': 'warning',
  'amount-without-limit': 'warning',
  'effects-unconfirmed': 'warning',
  'tool-without-rule': 'warning',
  'proof-unsigned': 'warning',
  'tool-without-agent': 'warning',
  'only-catch-all': 'warning',
  'unbounded-integer': 'warning',
  'tool-without-contract': 'warning',
  'untested-rule': 'warning',
} as const satisfies Record<string, Diagnostic['severity']>

export type DiagnosticCode = keyof typeof DIAGNOSTIC_CODES

/** Sorts findings by file, line, column and code, so that their order is always the same. */
export function sortDiagnostics(found: readonly Diagnostic[]): readonly Diagnostic[] {
  return found.toSorted(
    (a, b) => compare(a.file, b.file) || a.line - b.line || a.column - b.column || compare(a.code, b.code),
  )
}

/**
 * Prints findings as text: `file:line:col`, the excerpt with a caret, and the hint. Ends with a newline unless empty.
 */
export function printDiagnostics(
  found: readonly Diagnostic[],
  { color = false }: { readonly color?: boolean } = {},
): string {
  const paint = color ? PAINTS : PLAIN
  return found.map((one) => printDiagnostic(one, paint)).join('')
}

/**
 * Prints findings for people. Combines warnings that differ only in names into one, with a count and the other places.
 */
export function printFolded(
  found: readonly Diagnostic[],
  options: { readonly color?: boolean } = {},
): string {
  const groups = new Map<string, Diagnostic[]>()
  for (const one of found) {
    const key =
      one.severity === 'error' ? String(groups.size) : `${one.code} ${one.message.replaceAll(/`[^`]*`/g, '')}`
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  return [...groups.values()].map((group) => printGroup(group, options)).join('')
}

const SHOWN_PLACES = 3

function printGroup(
  [first, ...others]: readonly Diagnostic[],
  options: { readonly color?: boolean },
): string {
  if (first === undefined) return ''
  if (others.length === 0) return printDiagnostics([first], options)
  const places = others.slice(0, SHOWN_PLACES).map(({ file, line, column }) => `${file}:${line}:${column}`)
  const more = others.length - places.length
  const rest = more > 0 ? ` and ${more} more` : ''
  const counted = { ...first, message: `${first.message} (${others.length + 1} such warnings)` }
  return `${printDiagnostics([counted], options)}  also: ${places.join(', ')}${rest}\n`
}

/** Prints findings as one JSON document. Ends with a newline. */
export function printDiagnosticsJson(found: readonly Diagnostic[]): string {
  return `${JSON.stringify(found, null, 2)}\n`
}

type Paint = (text: string) => string
type Paints = Readonly<Record<'error' | 'warning' | 'place' | 'hint', Paint>>

const same: Paint = (text) => text
const PLAIN: Paints = { error: same, warning: same, place: same, hint: same }

const sgr =
  (code: number): Paint =>
  (text) =>
    `\u001B[${code}m${text}\u001B[0m`
const PAINTS: Paints = { error: sgr(31), warning: sgr(33), place: sgr(1), hint: sgr(36) }

function printDiagnostic(one: Diagnostic, paint: Paints): string {
  const level = paint[one.severity]
  const place = paint.place(`${one.file}:${one.line}:${one.column}:`)
  const lines = [`${place} ${level(`${one.severity} ${one.code}:`)} ${one.message}`]
  if (one.excerpt !== undefined) {
    const gutter = `${one.line} | `
    const [start, width] = [one.column - 1, one.width ?? 1]
    const marked = one.excerpt.slice(start, start + width)
    // Carets also mark the part that the excerpt omits.
    const carets = cellsOf(marked, '^') + '^'.repeat(Math.max(0, width - marked.length))
    lines.push(`  ${gutter}${one.excerpt}`)
    lines.push(
      `  ${' '.repeat(gutter.length)}${cellsOf(one.excerpt.slice(0, start), ' ')}${level(carets || '^')}`,
    )
  }
  if (one.hint !== undefined) lines.push(`  ${paint.hint('hint:')} ${one.hint}`)
  return `${lines.join('\n')}\n`
}

/** Repeats `fill` for each terminal cell of the text. Keeps tabs before a mark. */
function cellsOf(text: string, fill: ' ' | '^'): string {
  return Array.from(text, (character) => {
    if (character === '\t' && fill === ' ') return character
    if (NO_CELL.test(character)) return ''
    return TWO_CELLS.test(character) ? fill.repeat(2) : fill
  }).join('')
}

/** Combining marks, which share the cell of the preceding letter. */
const NO_CELL = /^[\p{Mn}\p{Me}]$/u
/** East Asian letters and symbols, full-width forms and emoji. */
const TWO_CELLS =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u{1100}-\u{115f}\u{ac00}-\u{d7a3}\u{3000}-\u{303e}\u{30fb}\u{30fc}\u{ff01}-\u{ff60}\u{ffe0}-\u{ffe6}\p{Emoji_Presentation}]$/u

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
