import type { Risk, Verdict } from '../../domain/decision.ts'
import { foldCondition, joinPossible, truthOfLeaf, type ConditionNode } from '../evaluate/conditions.ts'
import { rulingOf, verdictOf } from '../evaluate/evaluate.ts'
import type { FieldIr, RoutingIr } from '../language/rule.ts'
import { FALSE, TRUE, UNKNOWN, type Truth } from '../language/truth.ts'
import { isInForce } from '../evaluate/plan.ts'
import type { Program } from '../evaluate/program.ts'
import type { Facts } from '../language/facts.ts'
import type { CompiledLimit, CompiledRule, Hit } from '../evaluate/run.ts'

/** The outcomes that a call may have had, by its evidence. */
export interface Possible {
  readonly verdicts: ReadonlySet<Verdict>
  readonly risks: ReadonlySet<Risk>
}

/** A possible state of a limit. */
export type LimitState = 'room' | 'full' | 'unmeasured'

export interface Unclear {
  readonly program: Program
  readonly routing: RoutingIr
  readonly facts: Facts
  /** True when the field's value at the time is unknown. */
  readonly isUnknown: (field: FieldIr) => boolean
  readonly statesOf: (limit: CompiledLimit) => readonly LimitState[]
}

/** The maximum number of combinations to try. With more combinations, every outcome counts as possible. */
const MOST_COMBINATIONS = 4_096
const ALL_TRUTHS: readonly Truth[] = [FALSE, TRUE, UNKNOWN]

/**
 * Returns the verdicts and risks for all possible values of the unknown fields. The result may include outcomes that no
 * value produces, because rules are treated as independent. A single verdict is therefore certain. Returns undefined
 * for too many combinations.
 */
export function possibleOutcomes({
  program,
  routing,
  facts,
  isUnknown,
  statesOf,
}: Unclear): Possible | undefined {
  const voices = [
    ...program.rules.map((rule) => hitsOfRule(rule, facts, isUnknown)),
    ...program.limits.map((limit) => statesOf(limit).map((state) => hitOfLimit(limit, state))),
  ]
  if (voices.reduce((product, hits) => product * hits.length, 1) > MOST_COMBINATIONS) return undefined
  const verdicts = new Set<Verdict>()
  const risks = new Set<Risk>()
  for (const hits of combinations(voices)) {
    const fired = hits.filter((hit) => hit !== undefined)
    const { tool, call } = facts
    const ruling = rulingOf({ hits: fired, tool, call }, routing, (hit) => hit.rule.enforced)
    verdicts.add(verdictOf(ruling))
    risks.add(ruling.risk)
  }
  return { verdicts, risks }
}

/** Returns the possible hits of a rule; undefined means that it did not fire. */
function hitsOfRule(
  rule: CompiledRule,
  facts: Facts,
  isUnknown: Unclear['isUnknown'],
): readonly (Hit | undefined)[] {
  if (!isInForce(rule, facts.call.at) || !rule.enforced) return [undefined]
  const hits = truthsOf(rule.condition, facts, isUnknown).map((truth) => {
    if (truth === FALSE || (truth !== TRUE && rule.verdict === 'allow')) return undefined
    return truth === TRUE ? rule.onTrue : rule.onUnknown
  })
  return [...new Set(hits)]
}

function hitOfLimit(limit: CompiledLimit, state: LimitState): Hit | undefined {
  if (state === 'room' || !limit.enforced) return undefined
  return state === 'full' ? limit.onTrue : limit.onUnknown
}

function truthsOf(condition: ConditionNode, facts: Facts, isUnknown: Unclear['isUnknown']): readonly Truth[] {
  return foldCondition<readonly Truth[]>(
    condition,
    (leaf) => (isUnknown(leaf.field) ? ALL_TRUTHS : [truthOfLeaf(leaf, facts)]),
    joinPossible,
  )
}

function* combinations<T>(lists: readonly (readonly T[])[], at = 0): Generator<readonly T[]> {
  const list = lists[at]
  if (list === undefined) {
    yield []
    return
  }
  for (const rest of combinations(lists, at + 1)) for (const one of list) yield [one, ...rest]
}
