import { MISSING } from '../language/reading.ts'
import { TRUE, UNKNOWN } from '../language/truth.ts'
import { isDated } from '../evaluate/plan.ts'
import { combine, variablesOf, type Choice, type ChoiceContext, type Variable } from './choices.ts'
import { fires, truthOfCondition, type OpenRule } from './open-rule.ts'

/**
 * The possible outcomes of a rule for one tool. `undefined` in place of these facts means that the analysis was too
 * large.
 */
export interface RuleFacts {
  readonly neverFires: boolean
  readonly alwaysFires: boolean
  readonly neverTrue: boolean
  /** Fields that alone leave the rule undecided when they are missing. */
  readonly undecidedBy: readonly string[]
  readonly witnesses: readonly Witness[]
}

/** Values that make the rule fire, by field. A field without a known value is absent. */
export type Witness = ReadonlyMap<string, Choice>

const MAX_WITNESSES = 3

export function factsOf(context: ChoiceContext, { rule, leaves }: OpenRule): RuleFacts | undefined {
  const variables = variablesOf(context, leaves)
  if (variables === undefined) return undefined
  const seen = { fires: false, rests: isDated(rule), isTrue: false }
  const undecided = new Set<string>()
  const witnesses: Witness[] = []
  const optional = variables.filter(({ choices }) => choices.some((one) => one.undecided)).length
  const mayBeUndecided = rule.verdict === 'allow' ? 0 : optional
  const complete = combine(variables, (truths, chosen) => {
    const truth = truthOfCondition(rule.condition, truths)
    if (fires(rule, truth)) seen.fires = true
    else seen.rests = true
    if (truth === TRUE) {
      seen.isTrue = true
      if (witnesses.length < MAX_WITNESSES) witnesses.push(witnessOf(variables, chosen))
    }
    if (truth === UNKNOWN && mayBeUndecided > 0) noteUndecided(variables, chosen, undecided)
    const knowsAll = seen.fires && seen.rests && witnesses.length === MAX_WITNESSES
    return !knowsAll || undecided.size < mayBeUndecided
  })
  if (!complete) return undefined
  return {
    neverFires: !seen.fires,
    alwaysFires: !seen.rests,
    neverTrue: !seen.isTrue,
    undecidedBy: [...undecided],
    witnesses,
  }
}

function witnessOf(variables: readonly Variable[], chosen: readonly Choice[]): Witness {
  return new Map(
    variables.flatMap(({ name }, index) => (chosen[index] ? [[name, chosen[index]] as const] : [])),
  )
}

function noteUndecided(
  variables: readonly Variable[],
  chosen: readonly Choice[],
  undecided: Set<string>,
): void {
  const first = chosen.findIndex((choice) => choice.unknown)
  const name = variables[first]?.name
  if (name === undefined || chosen[first]?.undecided !== true) return
  if (chosen.findLastIndex((choice) => choice.unknown) !== first) return
  // Fields are treated as independent, but a field inside a present field may always be present.
  const inside = variables.some(
    (outer, index) => isInside(name, outer.name) && chosen[index]?.sample !== MISSING,
  )
  if (!inside) undecided.add(name)
}

function isInside(name: string, outer: string): boolean {
  return name.startsWith(`${outer}.`) || name.startsWith(`${outer}[`)
}
