import {
  leavesOf,
  resultOf,
  truthOfValue,
  type ConditionNode,
  type LeafNode,
} from '../evaluate/conditions.ts'
import type { CompiledRule } from '../evaluate/run.ts'
import { MISSING } from '../language/reading.ts'
import { allOf, anyOf, FALSE, not, TRUE, type Truth } from '../language/truth.ts'
import { valueWhenMissing, valueWhenNull } from '../schema/when-missing.ts'

/** A rule for one tool whose leaves have no truths yet. Each leaf is listed once. */
export interface OpenRule {
  readonly rule: CompiledRule
  readonly leaves: readonly LeafNode[]
}

export function openRule(rule: CompiledRule): OpenRule {
  return { rule, leaves: leavesOf(rule.condition) }
}

/** Returns the truth of a condition from the truths of its leaves. */
export function truthOfCondition(node: ConditionNode, truths: ReadonlyMap<LeafNode, Truth>): Truth {
  if (node.kind === 'leaf') return truths.get(node) ?? FALSE
  if (node.kind === 'not') return not(truthOfCondition(node.item, truths))
  return node.kind === 'all'
    ? allOf(node.items, truthOfCondition, truths)
    : anyOf(node.items, truthOfCondition, truths)
}

/** Returns true when a rule fires on this truth value. */
export function fires({ verdict }: Pick<CompiledRule, 'verdict'>, truth: Truth): boolean {
  return verdict === 'allow' ? truth === TRUE : truth !== FALSE
}

/**
 * Returns the truth of a leaf when its field is missing from step `depth` of its path, and whether a value replaced the
 * field.
 */
export function truthWhenMissing(
  leaf: LeafNode,
  depth: number,
): { readonly truth: Truth; readonly replaced: boolean } {
  const { whenMissing, field } = leaf
  const parent = typeof field.path[depth] === 'number' ? [] : {}
  const value = valueWhenMissing(whenMissing, field, parent, depth)
  return { truth: truthOfValue(leaf, resultOf(leaf, value)), replaced: value !== MISSING }
}

/** Returns the truth of a leaf when its field is null. */
export function truthWhenNull(leaf: LeafNode): Truth {
  return truthOfValue(leaf, resultOf(leaf, valueWhenNull(leaf.whenMissing, leaf.test)))
}
