import type { ExplanationView } from '../contract/admin.ts'
import type { Diagnostic } from '../policy/report/diagnostics.ts'

/** A file of a bundle, with its path relative to the root, in forward slashes. */
export interface BundleFile {
  readonly path: string
  readonly text: string
}

/** A bundle and a call to evaluate. Without a call, the worker uses a call from the bundle's tests. */
export interface Question {
  readonly id: number
  readonly files: readonly BundleFile[]
  readonly request: string | undefined
}

export interface Reply extends Evaluated {
  readonly id: number
  /** The text of the call that was evaluated. */
  readonly request: string
}

export interface Evaluated {
  /** Errors first, as `countersign check` lists them. */
  readonly diagnostics: readonly Diagnostic[]
  /** Absent when errors in the files prevent the tests. */
  readonly tests?: readonly TestResult[]
  readonly decision?: Decision
  /** The reason for a missing decision. */
  readonly problem?: string
}

export interface TestResult {
  readonly name: string
  /** The failures of the test; empty when it passed. */
  readonly problems: readonly string[]
}

export interface Decision {
  readonly verdict: 'allow' | 'review' | 'reject'
  readonly explanation: ExplanationView
  /** The text that `countersign explain` prints. */
  readonly text: string
}
