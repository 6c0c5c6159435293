import type { CheckedRuleFile } from '../check/rules.ts'
import { OPERATORS, type Test } from '../language/operators.ts'
import type { RuleIr } from '../language/rule.ts'
import type { ToolContract } from '../language/snapshot.ts'
import { leavesIn } from '../language/tree.ts'

/**
 * Reports allow rules that cap one amount of an irreversible tool, when no limit caps the total.
 * An agent splits a large amount into many small ones.
 */
export function reportAmounts(tool: ToolContract, files: readonly CheckedRuleFile[]): void {
  if (tool.reversibility !== 'irreversible') return
  const isLimited = files.some(({ file }) => file.limits.some(({ mode }) => mode === 'enforced'))
  if (isLimited) return
  for (const { file, reader, places } of files) {
    for (const rule of file.rules) {
      const at = places.get(rule.id)
      const field = boundedBy(rule)
      if (at === undefined || field === undefined) continue
      reader.report(
        'amount-without-limit',
        at,
        `rule \`${rule.id}\` bounds \`${field}\` of one call, and no limit bounds the calls of \`${tool.name}\` over time`,
        `add a limit with \`sum: ${field}\` or \`count: calls\` under \`limits:\``,
      )
    }
  }
}

/** Returns the payload field whose number decides an enforced allow rule; undefined without one. */
function boundedBy({ verdict, mode, when, unless }: RuleIr): string | undefined {
  if (verdict !== 'allow' || mode !== 'enforced') return undefined
  const leaves = [when, unless].flatMap((node) => (node ? leavesIn(node) : []))
  return leaves.find(({ field, test }) => field.root === 'payload' && comparesNumber(test))?.field.name
}

/** Returns true for a test of a number. The length of a list is not an amount. */
function comparesNumber(test: Test): boolean {
  if (test.op === 'and') return test.tests.some(comparesNumber)
  if (test.op === 'count') return false
  return 'test' in test ? comparesNumber(test.test) : OPERATORS[test.op].of === 'number'
}
