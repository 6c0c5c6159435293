import type { ExplanationView } from '../../contract/admin.ts'
import type { Call, Outcome, Snapshot } from '../language/snapshot.ts'

/** A snapshot that also explains its decisions. */
export interface ExplainingSnapshot extends Snapshot {
  /**
   * Decides a call as if the directory permitted the agent to use the tool. Inline tests and `explain` use this
   * function.
   */
  readonly judge: (call: Call) => Promise<Outcome>
  /** Returns the limits that apply to calls of a tool. */
  limitsOf(tool: string): readonly LimitFacts[]
  /** Decides like `judge`, and shows the values read and the result of each rule. */
  explain(call: Call): Promise<Explanation>
  /** Explains a call whose agent may not use the tool: no rule reads it. */
  explainDenied(call: Call): Promise<Explanation>
  /** Explains the call as if its tool had no contract. */
  explainUnknown(call: Call): Explanation
}

/** A limit as its author wrote it. */
export interface LimitFacts {
  readonly id: string
  readonly mode: 'enforced' | 'shadow'
  /** The scope of the counter: `agent`, `tenant`, `task`, or a field. */
  readonly per: string
  readonly withinMs: number
  readonly atMost: number
  /** True when the limit sums a sensitive field. */
  readonly sensitive: boolean
}

export type Answer = 'yes' | 'no' | 'cannot tell'

/** The reasons for a decision, rule by rule. Plain data: `countersign explain --format json` prints it. */
export interface Explanation {
  readonly revision: string
  /** The outcome without values of sensitive fields; the limits are in `limits`. */
  readonly outcome: Omit<Outcome, 'limits'>
  /** Every rule that applies to the tool, in id order. */
  readonly rules: readonly RuleExplanation[]
  /** Every limit that applies to the tool. */
  readonly limits: readonly LimitExplanation[]
}

export type LimitExplanation = ExplanationView['limits'][number]

export type RuleExplanation = Omit<ExplanationView['rules'][number], 'conditions'> & {
  readonly conditions: ConditionExplanation
}

export type ConditionExplanation =
  | {
      readonly kind: 'all' | 'any' | 'not'
      readonly answer: Answer
      readonly items: readonly ConditionExplanation[]
    }
  | {
      readonly kind: 'test'
      readonly answer: Answer
      readonly field: string
      readonly test: string
      /** JSON text of the value, `missing`, or `(sensitive)`. */
      readonly read: string
      /** The result of the field's function, such as `[with, select]`. */
      readonly returned?: string
      readonly problem?: string
      /** The members of entries that decide, such as `payload.lines[3].cents 20001`. */
      readonly entries?: readonly string[]
    }
