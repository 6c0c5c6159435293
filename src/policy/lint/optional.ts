import { schemasAt } from '../check/path.ts'
import type { RuleFormula } from './formula.ts'
import type { RuleFacts } from './rule.ts'
import type { ToolContract } from '../evaluate/snapshot.ts'

/** Keywords by which a field may be required in some payloads only. */
const CONDITIONAL = ['if', 'not', 'anyOf', 'oneOf', 'dependentRequired', 'dependentSchemas', 'minProperties']

/**
 * The fields that leave a rule undecided when they are missing. Where a contract makes a field required under a condition, it
 * may be there whenever the rule asks: nothing is said.
 */
export function undecidedFields(
  tool: ToolContract,
  { slots }: RuleFormula,
  facts: RuleFacts | undefined,
): readonly string[] {
  return (facts?.undecidedBy ?? []).filter((name) => {
    const field = slots.find((slot) => slot.field.name === name)?.field
    return field !== undefined && (field.root !== 'payload' || isPlainlyOptional(tool, field.path))
  })
}

function isPlainlyOptional(tool: ToolContract, path: readonly (string | number)[]): boolean {
  return path.every((_, depth) =>
    schemasAt(tool.inputSchema, path.slice(0, depth)).every(
      (part) => !CONDITIONAL.some((keyword) => part[keyword] !== undefined),
    ),
  )
}
