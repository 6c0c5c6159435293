import type { RuleFileIr, RuleIr } from './ir.ts'
import type { FieldRead, Call, FiredRule, ToolContract } from './snapshot.ts'
import type { Truth } from './kleene.ts'
import type { LocalTime } from './time.ts'

/** One evaluation: the trusted facts of the call, and what fired. A fresh object for each call. */
export interface Run {
  readonly call: Call
  readonly tool: ToolContract
  readonly clock: (at: number) => LocalTime
  readonly hits: Hit[]
}

/** A rule that fired. Prepared once per rule, so that a run allocates nothing for it. */
export interface Hit {
  readonly rule: CompiledRule
  readonly fired: FiredRule
}

export interface CompiledRule {
  readonly ir: RuleIr
  readonly file: RuleFileIr
  readonly condition: Condition
  readonly onTrue: Hit
  readonly onUnknown: Hit
}

/** A compiled condition: fast to ask, and able to show how it came to its answer. */
export interface Condition {
  readonly truth: (run: Run) => Truth
  readonly trace: (run: Run) => Trace
}

/** How a condition came to its answer. */
export type Trace =
  | { readonly kind: 'all' | 'any' | 'not'; readonly truth: Truth; readonly items: readonly Trace[] }
  | LeafTrace

export interface LeafTrace {
  readonly kind: 'leaf'
  readonly truth: Truth
  /** As written, with its function: `domain(payload.to)`. */
  readonly field: string
  readonly test: string
  readonly read: FieldRead
  /** Why it could not be checked: `missing`, `not a number`. Never a value. */
  readonly problem?: string
}
