import { truthOfValue, valueOfLeaf, type ConditionNode, type LeafNode } from './conditions.ts'
import { describeTest, describeUnknown } from '../language/words.ts'
import { fieldText } from '../language/fields.ts'
import { and, FALSE, not, or, TRUE, UNKNOWN, type Truth } from '../language/truth.ts'
import type { Applied } from '../language/reading.ts'
import { compileFieldRead } from '../language/field-reader.ts'
import type { Facts } from '../language/facts.ts'
import type { LeafTrace, Trace } from './run.ts'
import { NOTHING } from '../language/when-missing.ts'
import { isSensitive } from '../language/sensitive.ts'

/** Traces a condition. Evaluates every part, even those that a decision skips. */
export function traceNode(node: ConditionNode, facts: Facts): Trace {
  if (node.kind === 'leaf') return traceLeaf(node, facts)
  if (node.kind === 'not') {
    const item = traceNode(node.item, facts)
    return { kind: 'not', truth: not(item.truth), items: [item] }
  }
  const items = node.items.map((item) => traceNode(item, facts))
  const [join, empty] = node.kind === 'all' ? ([and, TRUE] as const) : ([or, FALSE] as const)
  return { kind: node.kind, truth: items.map((item) => item.truth).reduce<Truth>(join, empty), items }
}

function traceLeaf(leaf: LeafNode, facts: Facts): LeafTrace {
  const { field, test } = leaf
  const value = valueOfLeaf(leaf, facts)
  const truth = truthOfValue(leaf, value)
  const read = compileFieldRead(field, isSensitive(facts.tool.sensitive, field.name))(facts)
  const given: Pick<LeafTrace, 'returned'> =
    field.fn === undefined || value === NOTHING ? {} : { returned: value as Applied }
  const trace = {
    kind: 'leaf',
    truth,
    field: fieldText(field),
    test: describeTest(test),
    read,
    ...given,
  } as const
  return truth === UNKNOWN && value !== NOTHING ? { ...trace, problem: describeUnknown(test, value) } : trace
}
