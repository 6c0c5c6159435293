import { factOf } from './facts.ts'
import type { FieldIr, LimitIr, RuleIr } from './rule.ts'
import { leavesIn } from './tree.ts'

/** Returns true for a review or reject rule that checks `task.*` history but not `agent.*`. */
export function isTaskScoped(rule: Pick<RuleIr, 'verdict' | 'when' | 'unless'>): boolean {
  if (rule.verdict === 'allow') return false
  const sources = fieldsOf(rule).map(({ root }) => factOf(root)?.recorded)
  // An agent can evade the history of its task, because it chooses the task's id (docs/policy-language.md).
  return sources.includes('as task history') && !sources.includes('as agent history')
}

/** Returns every field that the conditions of a rule read. */
export function fieldsOf({ when, unless }: Pick<RuleIr, 'when' | 'unless'>): readonly FieldIr[] {
  return [when, unless].flatMap((node) => (node ? leavesIn(node).map(({ field }) => field) : []))
}

/** Returns the fields that a limit reads. */
export const fieldsOfLimit = ({ sum, per }: LimitIr): readonly FieldIr[] =>
  [sum, per].filter((field) => typeof field === 'object')
