import type { ReviewRequirement, Risk, Verdict } from '../../domain/decision.ts'
import type { ConditionNode, LeafNode } from './conditions.ts'
import type { EngineCall } from './engine.ts'
import type { Facts } from '../language/facts.ts'
import type { LimitIr, RuleFileIr, RuleIr } from '../language/rule.ts'
import type { FiredRule } from '../language/snapshot.ts'

/** One evaluation: the facts and the hits. A new object for each call. */
export interface Run extends Facts, EngineCall {
  readonly hits: Hit[]
}

/** A rule or a limit that fired. Each rule prepares its hit once, so that a run need not allocate it. */
export interface Hit {
  readonly rule: CompiledRule | CompiledLimit
  readonly fired: FiredRule
}

/** The properties of a rule or a limit that a decision needs. */
interface Voice {
  readonly verdict: Verdict
  readonly enforced: boolean
  /** True when firing on TRUE is a match: false for limits and for review rules of a `tools: ['*']` file. */
  readonly covers: boolean
  readonly risk: Risk | undefined
  readonly reviewers: ReviewRequirement | undefined
  readonly onTrue: Hit
  readonly onUnknown: Hit
}

export interface CompiledLimit extends Voice {
  readonly condition: undefined
  readonly ir: LimitIr
  /** The summed field; absent when the limit counts calls. */
  readonly sum: LeafNode | undefined
  /** The field that selects the counter; absent when the limit is per agent, tenant or task. */
  readonly per: LeafNode | undefined
}

export interface CompiledRule extends Voice {
  /** The rule applies from this time on, in ms since 1970. */
  readonly fromMs: number | undefined
  /** The rule applies only before this time. */
  readonly untilMs: number | undefined
  readonly condition: ConditionNode
  readonly ir: RuleIr
  readonly file: RuleFileIr
}

/**
 * Adds the hits of a rule or a limit, which name it.
 *
 * @param unknown the verdict when a condition is unknown; absent when it is the same
 */
export function withHits<T extends CompiledRule | CompiledLimit>(
  voice: Omit<T, 'onTrue' | 'onUnknown'>,
  { facts, unknown }: { readonly facts: Omit<FiredRule, 'unknown'>; readonly unknown?: Verdict | undefined },
): T {
  const rule = { ...voice } as T
  const hits: { onTrue: Hit; onUnknown: Hit } = rule
  const verdict = unknown ?? facts.verdict
  hits.onTrue = { rule, fired: { ...facts, unknown: false } }
  const unchecked = verdict === facts.verdict ? rule : { ...rule, verdict }
  hits.onUnknown = { rule: unchecked, fired: { ...facts, verdict, unknown: true } }
  return rule
}
