import type { KeptWords } from './disclose.ts'
import type { Retention } from './retention.ts'
import type { JsonValue } from '../../contract/json.ts'
import type { ReviewRequirement, Risk, Verdict } from '../../domain/decision.ts'
import type { BundleFile, BundleText, Directory, ToolContract } from './snapshot.ts'
import type { Diagnostic } from '../report/diagnostics.ts'
import type { Budgets } from '../../domain/budget.ts'
import type { FieldRoot } from './facts.ts'
import type { FunctionName } from './function-names.ts'
import type { LevelView } from './level-view.ts'
import type { Test } from './operators.ts'
import type { Tree } from './tree.ts'

/**
 * A checked bundle as plain data, which the child process sends to the gateway. The gateway builds closures and engines
 * from this data. Structured cloning preserves every value.
 */
export interface BundleIr {
  readonly head: BundleHead
  readonly tools: readonly ToolIr[]
  readonly ruleFiles: readonly RuleFileIr[]
  /** The files, which reviewers can read. */
  readonly texts: readonly BundleText[]
}

export interface BundleHead {
  readonly revision: string
  readonly commit?: string
  readonly files: readonly BundleFile[]
  /** Rules and limits. */
  readonly ruleCount: number
  readonly diagnostics: readonly Diagnostic[]
  readonly directory: Directory
  readonly routing: RoutingIr
}

export interface RoutingIr {
  readonly unmatched: 'review' | 'reject'
  readonly allowUpTo: Risk
  /** An IANA time zone. */
  readonly timezone: string
  readonly levels: Readonly<Record<Risk, ReviewRequirement>>
  readonly views: Readonly<Record<Risk, LevelView>>
  readonly retention: Retention
  readonly keeps: KeptWords
  /** The settings also limit each budget; the smaller limit applies. */
  readonly budgets: Partial<Budgets>
}

export interface ToolIr {
  readonly contract: ToolContract
  /** Indexes into `ruleFiles`, ascending. */
  readonly ruleFiles: readonly number[]
}

export interface RuleFileIr {
  readonly path: string
  /** True for a `tools: ['*']` file, whose review rules never count as a match (docs/policy-language.md). */
  readonly catchAll: boolean
  readonly missingMeans: readonly MissingMeans[]
  readonly rules: readonly RuleIr[]
  readonly limits: readonly LimitIr[]
}

export interface MissingMeans {
  readonly field: string
  /** Absent for `nothing`. */
  readonly value?: JsonValue
}

export interface RuleIr {
  readonly id: string
  readonly verdict: Verdict
  readonly reason: string
  readonly mode: 'enforced' | 'shadow'
  readonly line: number
  readonly when?: NodeIr
  readonly unless?: NodeIr
  /** The verdict of a reject rule that cannot be checked; absent for a reject. */
  readonly unknown?: 'review'
  readonly risk?: Risk
  readonly reviewers?: ReviewRequirement
  /** The rule applies from this time on, in ms since 1970. */
  readonly fromMs?: number | undefined
  /** The rule applies only before this time, in ms since 1970. */
  readonly untilMs?: number | undefined
}

export interface LimitIr {
  readonly id: string
  readonly verdict: 'review' | 'reject'
  readonly reason: string
  readonly mode: 'enforced' | 'shadow'
  readonly line: number
  readonly risk?: Risk
  /** The summed field; absent for `count: calls`. */
  readonly sum?: FieldIr
  /** An integer. */
  readonly atMost: number
  readonly withinMs: number
  readonly per: 'agent' | 'tenant' | 'task' | FieldIr
}

/** A test of a field of the call. */
export interface LeafIr {
  readonly kind: 'leaf'
  readonly field: FieldIr
  readonly test: Test
}

export type NodeIr = Tree<LeafIr>

export interface FieldIr {
  /** The canonical name, without `fn()`: `payload.a[0]`. */
  readonly name: string
  readonly root: FieldRoot
  /** Keys and indexes below `payload`; empty for every other root. */
  readonly path: readonly (string | number)[]
  readonly fn?: FunctionName
}
