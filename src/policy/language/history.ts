import type { FieldIr, FieldRoot, NodeIr, RuleIr } from './rule.ts'

/** History that an agent can evade by choosing another task id (docs/policy-language.md). */
const TASK_HISTORY: readonly FieldRoot[] = ['task.tools', 'task.labels']
const AGENT_HISTORY: readonly FieldRoot[] = ['agent.tools', 'agent.labels']

/** Returns true for a review or reject rule that checks `task.*` history but not `agent.*`. */
export function isTaskScoped(rule: Pick<RuleIr, 'verdict' | 'when' | 'unless'>): boolean {
  if (rule.verdict === 'allow') return false
  const roots = fieldsOf(rule).map(({ root }) => root)
  return (
    roots.some((root) => TASK_HISTORY.includes(root)) && !roots.some((root) => AGENT_HISTORY.includes(root))
  )
}

/** Returns every field that the conditions of a rule read. */
export function fieldsOf({ when, unless }: Pick<RuleIr, 'when' | 'unless'>): readonly FieldIr[] {
  return [when, unless].flatMap((node) => (node ? fieldsIn(node) : []))
}

function fieldsIn(node: NodeIr): readonly FieldIr[] {
  if (node.kind === 'leaf') return [node.field]
  return node.kind === 'not' ? fieldsIn(node.item) : node.items.flatMap(fieldsIn)
}
