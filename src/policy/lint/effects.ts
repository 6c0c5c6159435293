import type { CheckedTool } from '../check/tool.ts'
import type { LeafNode } from '../evaluate/conditions.ts'
import type { RuleIr } from '../language/rule.ts'
import type { Truth } from '../language/truth.ts'
import type { Doc } from '../yaml/parse.ts'
import type { Reader } from '../yaml/shape.ts'
import { combine, variablesOf, type ChoiceContext } from './choices.ts'
import { fires, truthOfCondition, type OpenRule } from './open-rule.ts'

/*
 * Rules that rest on `tool.reversibility` of contracts that no person has confirmed. The import takes that value from
 * the server's own annotations, which prove nothing.
 */

/** Returns true when only the server declares the contract's `reversibility`. */
export function isUnconfirmed({ contract, confirmed }: CheckedTool): boolean {
  return contract.source !== undefined && contract.reversibility !== undefined && confirmed !== true
}

/**
 * Returns true when the unconfirmed value may let a call of the tool run. An allow rule may allow by it. Another value
 * may make a stricter rule hold calls that an allow rule lets pass.
 *
 * @param hasAllow true when an enforced rule allows calls of the tool
 */
export function restsOnClaim(context: ChoiceContext, open: OpenRule, hasAllow: boolean): boolean {
  const { rule, leaves } = open
  if (context.doubtful !== true || !rule.enforced || !leaves.some(isClaim)) return false
  return rule.verdict === 'allow' || (hasAllow && isEased(context, open))
}

const isClaim = ({ field }: LeafNode): boolean => field.root === 'tool.reversibility'

/** Returns true when the rule may fire by another value, on a call for which it does not fire by the server's value. */
function isEased(context: ChoiceContext, open: OpenRule): boolean {
  const byClaim = firing({ ...context, doubtful: false }, open)
  const byAny = firing(context, open)
  if (byClaim === undefined || byAny === undefined) return true
  return [...byAny].some((answers) => !byClaim.has(answers))
}

/** Returns the answers to all other tests with which the rule may fire. Undefined when there are too many. */
function firing(context: ChoiceContext, { rule, leaves }: OpenRule): ReadonlySet<string> | undefined {
  const variables = variablesOf(context, leaves)
  if (variables === undefined) return undefined
  const others = leaves.filter((leaf) => !isClaim(leaf))
  const answers = (truths: ReadonlyMap<LeafNode, Truth>): string =>
    others.map((leaf) => truths.get(leaf)).join()
  const found = new Set<string>()
  const complete = combine(variables, (truths) => {
    if (fires(rule, truthOfCondition(rule.condition, truths))) found.add(answers(truths))
    return true
  })
  return complete ? found : undefined
}

/** Reports a rule that rests on what servers say about some tools. */
export function reportUnconfirmed(
  { reader, at }: { readonly reader: Reader; readonly at: Doc },
  { id }: RuleIr,
  [first, ...others]: readonly string[],
): void {
  if (first === undefined) return
  const more = others.length === 0 ? '' : ` and of ${others.length} more tools`
  reader.report(
    'effects-unconfirmed',
    at,
    `rule \`${id}\` rests on what the MCP server says about \`${first}\`${more}, and no person has confirmed it`,
    'find out what the tool does, then write `confirmed: true` under `source:` of its contract',
  )
}
