import { MISSING } from '../language/reading.ts'
import { foldCondition, joinPossible, type LeafNode } from '../evaluate/conditions.ts'
import { isDated } from '../evaluate/plan.ts'
import type { RuleIr } from '../language/rule.ts'
import { FALSE, TRUE, UNKNOWN, type Truth } from '../language/truth.ts'
import { combine, variablesOf, type ChoiceContext } from './choices.ts'
import { fires, truthOfCondition, truthWhenMissing, type OpenRule } from './open-rule.ts'
import type { RuleFacts, Witness } from './rule.ts'

/** A rule with its possible outcomes for one tool. */
export interface Judged extends OpenRule {
  readonly facts: RuleFacts | undefined
}

/**
 * The maximum number of rules to compare with one rule, so that a tool with thousands of rules does not take minutes.
 */
const MAX_RIVALS = 400
/** The maximum number of pairs to compare in full because no example distinguishes them. */
const MAX_COMPARED = 8

/** The enforced rules of a tool that are always in force and may beat others, by their least strict verdict. */
export type Rivals = Readonly<Record<'review' | 'reject', readonly Judged[]>>

export function rivalsAmong(all: readonly Judged[]): Rivals {
  const enforced = all.filter(({ rule }) => rule.enforced && rule.verdict !== 'allow' && !isDated(rule))
  const rejects = enforced.filter(({ rule }) => rule.onUnknown.rule.verdict === 'reject')
  return { review: enforced.slice(0, MAX_RIVALS), reject: rejects.slice(0, MAX_RIVALS) }
}

/**
 * Returns an enforced, stricter rule that fires whenever this rule does, so that this rule never matters. A rule with
 * `risk:` also decides who reviews, so only a reject rule beats it.
 */
export function beaterOf(context: ChoiceContext, judged: Judged, rivals: Rivals): RuleIr | undefined {
  const { rule, facts } = judged
  if (facts === undefined || facts.neverFires || !rule.enforced || rule.verdict === 'reject') return undefined
  const least = rule.verdict === 'allow' && rule.risk === undefined ? 'review' : 'reject'
  let compared = 0
  for (const rival of rivals[least]) {
    if (facts.witnesses.some((witness) => isDistinct(rival, witness))) continue
    if (++compared > MAX_COMPARED) return undefined
    if (isCoveredBy(context, judged, rival)) return rival.rule.ir
  }
  return undefined
}

/**
 * Returns true when the rival may not fire on an example that fires the rule. This cheap check proves that the rival
 * does not cover the rule.
 */
function isDistinct({ rule: rival, leaves }: OpenRule, witness: Witness): boolean {
  const known = new Map<LeafNode, readonly Truth[]>()
  for (const leaf of leaves) {
    const truths = truthsOn(leaf, witness)
    if (truths === undefined) return false
    known.set(leaf, truths)
  }
  const truths = foldCondition(rival.condition, (leaf) => known.get(leaf) ?? ANY_TRUTH, joinPossible)
  return truths.some((truth) => !fires(rival, truth))
}

const ANY_TRUTH: readonly Truth[] = [FALSE, TRUE, UNKNOWN]

/** Returns the possible truths of a test on an example; undefined when they are unknown. */
function truthsOn(leaf: LeafNode, witness: Witness): readonly Truth[] | undefined {
  const choice = witness.get(leaf.field.name)
  if (choice === undefined) return ANY_TRUTH
  const { sample } = choice
  if (sample === undefined) return undefined
  if (sample === MISSING)
    return leaf.whenMissing?.kind === 'defaults' ? undefined : [truthWhenMissing(leaf, 0).truth]
  return leaf.fn === undefined ? [leaf.check(sample)] : undefined
}

/**
 * Returns true when `other` fires whenever `rule` does and makes it redundant. Where `rule` matches on TRUE, so must
 * `other`.
 */
function isCoveredBy(context: ChoiceContext, one: OpenRule, another: OpenRule): boolean {
  const [{ rule }, { rule: other }] = [one, another]
  const variables = variablesOf(context, [...new Set([...one.leaves, ...another.leaves])])
  if (variables === undefined) return false
  let covered = true
  const complete = combine(variables, (truths) => {
    const own = truthOfCondition(rule.condition, truths)
    if (!fires(rule, own)) return true
    const theirs = truthOfCondition(other.condition, truths)
    covered = own === TRUE && rule.covers ? theirs === TRUE && other.covers : theirs !== FALSE
    return covered
  })
  return complete && covered
}
