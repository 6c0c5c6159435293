import type { RuleIr } from '../language/rule.ts'
import type { OpenRule } from './open-rule.ts'
import { undecidedFields } from './optional.ts'
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
