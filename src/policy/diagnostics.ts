/** One finding about a policy bundle. Lines and columns start at 1. */
export interface Diagnostic {
  readonly code: string
  readonly severity: 'error' | 'warning'
  readonly file: string
  readonly line: number
  readonly column: number
  /** One lower-case sentence, user input in backticks. */
  readonly message: string
  readonly hint?: string
  /** The source line, for the caret. */
  readonly excerpt?: string
  /** Width of the marked part, in columns. */
  readonly width?: number
}
