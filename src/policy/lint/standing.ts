import { schemasAt } from '../check/path.ts'
import type { RuleIr } from '../language/rule.ts'
import type { OpenRule } from './open-rule.ts'
import type { RuleFacts } from './rule.ts'
import type { ToolContract } from '../language/snapshot.ts'

/**
 * The findings about a rule across all tools that it applies to. A finding applies only when it applies to each tool.
 */
export interface Standing {
  neverFires: boolean
  alwaysFires: boolean
  neverTrue: boolean
  /** The rule that beats this rule; false when this rule is unbeaten for some tool. */
  beaten: RuleIr | false | undefined
  /** Fields that leave the rule undecided when they are missing, each with the first tool where this happens. */
  readonly undecidedBy: Map<string, string>
  /** The tools for which the rule rests on what only their server says. */
  readonly claimed: string[]
}

export function createStanding(): Standing {
  return {
    neverFires: true,
    alwaysFires: true,
    neverTrue: true,
    beaten: undefined,
    undecidedBy: new Map<string, string>(),
    claimed: [],
  }
}

/** Adds the facts for one more tool. Unknown facts void every finding. */
export function addFacts(
  standing: Standing,
  tool: ToolContract,
  rule: OpenRule,
  facts: RuleFacts | undefined,
): void {
  standing.neverFires &&= facts?.neverFires === true
  standing.alwaysFires &&= facts?.alwaysFires === true
  standing.neverTrue &&= facts?.neverTrue === true
  for (const field of undecidedFields(tool, rule, facts)) {
    if (!standing.undecidedBy.has(field)) standing.undecidedBy.set(field, tool.name)
  }
}

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
