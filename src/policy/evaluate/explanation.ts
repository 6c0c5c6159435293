import type { Verdict } from '../../domain/decision.ts'
import type { Call, Outcome, Snapshot } from './snapshot.ts'

/** A snapshot that also says why it decides as it does. */
export interface ExplainingSnapshot extends Snapshot {
  /** Decides as if the directory permitted the agent the tool: for inline tests and `explain`. */
  readonly judge: (call: Call) => Promise<Outcome>
  /** The limits that apply to calls of a tool. */
  limitsOf(tool: string): readonly LimitFacts[]
  /** Decides like `judge` and shows, rule by rule, the values that were read and the result. */
  explain(call: Call): Promise<Explanation>
  /** Explains the call as if its tool had no contract. */
  explainUnknown(call: Call): Explanation
}

/** What the author wrote of a limit, for people. */
export interface LimitFacts {
  readonly id: string
  readonly mode: 'enforced' | 'shadow'
  /** `agent`, `tenant`, `task`, or a field. */
  readonly per: string
  readonly withinMs: number
  readonly atMost: number
  /** It adds up a sensitive field. */
  readonly sensitive: boolean
}

export type Answer = 'yes' | 'no' | 'cannot tell'

/** Why a call was decided as it was, rule by rule. Plain data: what `countersign explain --format json` prints. */
export interface Explanation {
  readonly revision: string
  /** Values of sensitive fields are left out, and limits stand below. */
  readonly outcome: Omit<Outcome, 'limits'>
  /** Every rule that applies to the tool, in id order. */
  readonly rules: readonly RuleExplanation[]
  /** Every limit that applies to the tool. */
  readonly limits: readonly LimitExplanation[]
}

export interface LimitExplanation {
  readonly id: string
  readonly verdict: 'review' | 'reject'
  readonly mode: 'enforced' | 'shadow'
  readonly file: string
  readonly line: number
  readonly reason: string
  /** `cannot tell`: it could not be measured, and fires; `not used`: `missing_means` says that the call uses nothing of it. */
  readonly result: 'room' | 'full' | 'cannot tell' | 'not used'
  /** What the call uses; left out when that is the value of a sensitive field. */
  readonly amount?: number
  readonly at_most: number
  readonly within_ms: number
  /** `agent`, `tenant`, `task`, or a field. */
  readonly per: string
}

export interface RuleExplanation {
  readonly id: string
  readonly verdict: Verdict
  readonly mode: 'enforced' | 'shadow'
  readonly file: string
  readonly line: number
  readonly reason: string
  /** `cannot tell` fires a review or reject rule and not an allow rule; `over` is past its `until`. */
  readonly result: 'fired' | 'not fired' | 'cannot tell' | 'over'
  readonly fired: boolean
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
      /** JSON text of the value read, `missing`, or `(sensitive)`. */
      readonly read: string
      /** What the function of the field made of it, such as `[with, select]`. */
      readonly returned?: string
      readonly problem?: string
    }
