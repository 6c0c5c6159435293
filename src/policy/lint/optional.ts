import { schemasAt } from '../check/path.ts'
import type { OpenRule } from './open-rule.ts'
import type { RuleFacts } from './rule.ts'
import type { ToolContract } from '../language/snapshot.ts'

/** Keywords that can make a field required in only some payloads. */
const CONDITIONAL = ['if', 'not', 'anyOf', 'oneOf', 'dependentRequired', 'dependentSchemas', 'minProperties']

/**
 * Returns the fields that leave a rule undecided when they are missing. Omits fields that a contract may require
 * conditionally, because they may be present whenever the rule reads them.
 */
export function undecidedFields(
  tool: ToolContract,
  { leaves }: OpenRule,
  facts: RuleFacts | undefined,
): readonly string[] {
  return (facts?.undecidedBy ?? []).filter((name) => {
    const field = leaves.find((leaf) => leaf.field.name === name)?.field
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
