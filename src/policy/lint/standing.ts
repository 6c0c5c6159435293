import type { RuleIr } from '../language/rule.ts'
import type { OpenRule } from './open-rule.ts'
import { undecidedFields } from './optional.ts'
import type { RuleFacts } from './rule.ts'
import type { ToolContract } from '../evaluate/snapshot.ts'

/** The findings about a rule over all tools it applies to. A claim holds only when it holds for each tool. */
export interface Standing {
  neverFires: boolean
  alwaysFires: boolean
  neverTrue: boolean
  /** The rule that beats it; false when it is unbeaten for some tool. */
  beaten: RuleIr | false | undefined
  /** Fields that leave it undecided when they are missing, each with the first tool for which they do. */
  readonly undecidedBy: Map<string, string>
}

export function createStanding(): Standing {
  return {
    neverFires: true,
    alwaysFires: true,
    neverTrue: true,
    beaten: undefined,
    undecidedBy: new Map<string, string>(),
  }
}

/** Adds the facts for one more tool. Unknown facts void every claim. */
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
