import { VERDICTS } from '../../domain/decision.ts'
import { MISSING } from '../language/reading.ts'
import type { RuleIr } from '../language/rule.ts'
import { FALSE, not, TRUE, UNKNOWN, type Truth } from '../language/truth.ts'
import type { ChoiceContext } from './choices.ts'
import { fires, truthWhenMissing, type Formula, type RuleFormula, type Slot } from './formula.ts'
import { isCoveredBy, type RuleFacts, type Witness } from './rule.ts'

/** A rule with its possible outcomes for one tool. */
export interface Judged {
  readonly rule: RuleFormula
  readonly facts: RuleFacts | undefined
}

/** The most rules that are compared with one rule, so that a tool with thousands of rules does not take minutes. */
const MAX_RIVALS = 400
/** The most pairs that are compared in full because no example distinguishes them. */
const MAX_COMPARED = 8

/**
 * Returns an enforced, stricter rule that fires whenever this one does, so that this one never matters. A rule with
 * `risk:` also decides who reviews, so only a reject rule beats it.
 */
export function beaterOf(context: ChoiceContext, judged: Judged, all: readonly Judged[]): RuleIr | undefined {
  const { rule, facts } = judged
  if (facts === undefined || facts.neverFires || rule.rule.mode === 'shadow') return undefined
  let compared = 0
  for (const { rule: rival } of rivalsOf(rule.rule, all).slice(0, MAX_RIVALS)) {
    if (facts.witnesses.some((witness) => isDistinct(context, rival, witness))) continue
    if (++compared > MAX_COMPARED) return undefined
    const numbered = renumber(rival, rule.slots.length)
    if (isCoveredBy(context, rule, numbered)) return rival.rule
  }
  return undefined
}

function rivalsOf(rule: RuleIr, all: readonly Judged[]): readonly Judged[] {
  const least = rule.risk === undefined ? VERDICTS.indexOf(rule.verdict) + 1 : VERDICTS.indexOf('reject')
  return rule.verdict === 'reject'
    ? []
    : all.filter(
        ({ rule: other }) => other.rule.mode === 'enforced' && VERDICTS.indexOf(other.rule.verdict) >= least,
      )
}

/** Returns the rule with its tests numbered after those of another rule. */
function renumber(rule: RuleFormula, by: number): RuleFormula {
  const shift = (formula: Formula): Formula =>
    formula.kind === 'slot'
      ? { kind: 'slot', number: formula.number + by }
      : formula.kind === 'not'
        ? { kind: 'not', item: shift(formula.item) }
        : { kind: formula.kind, items: formula.items.map(shift) }
  const slots = rule.slots.map((slot) => ({ ...slot, number: slot.number + by }))
  return { ...rule, slots, formula: shift(rule.formula) }
}

/**
 * Returns true when the example fires its rule and the rival may not fire. This cheap check rules out that the rival
 * covers the rule.
 */
function isDistinct(context: ChoiceContext, rival: RuleFormula, witness: Witness): boolean {
  const known = new Map<number, readonly Truth[]>()
  for (const slot of rival.slots) {
    const truths = truthsOn(context, slot, witness)
    if (truths === undefined) return false
    known.set(slot.number, truths)
  }
  return possible(rival.formula, known).some((truth) => !fires(rival.rule, truth))
}

const ANY_TRUTH: readonly Truth[] = [FALSE, TRUE, UNKNOWN]

/** Returns the possible truths of a test on an example; undefined when they are unknown. */
function truthsOn(context: ChoiceContext, slot: Slot, witness: Witness): readonly Truth[] | undefined {
  const choice = witness.get(slot.field.name)
  if (choice === undefined) return ANY_TRUTH
  const { sample } = choice
  if (sample === undefined) return undefined
  if (sample === MISSING)
    return slot.whenMissing?.kind === 'defaults'
      ? undefined
      : [truthWhenMissing(slot, 0, context.truth).truth]
  return slot.field.fn === undefined ? [context.truth.ofValue(slot.test, sample)] : undefined
}

/** Returns every possible truth of a formula, as if its tests were independent. */
function possible(formula: Formula, known: ReadonlyMap<number, readonly Truth[]>): readonly Truth[] {
  if (formula.kind === 'slot') return known.get(formula.number) ?? ANY_TRUTH
  if (formula.kind === 'not') return possible(formula.item, known).map(not)
  const items = formula.items.map((item) => possible(item, known))
  const [settling, other]: readonly [Truth, Truth] = formula.kind === 'all' ? [FALSE, TRUE] : [TRUE, FALSE]
  const truths: Truth[] = []
  if (items.some((item) => item.includes(settling))) truths.push(settling)
  if (items.every((item) => item.includes(other))) truths.push(other)
  const unsettled = items.every((item) => item.includes(other) || item.includes(UNKNOWN))
  if (unsettled && items.some((item) => item.includes(UNKNOWN))) truths.push(UNKNOWN)
  return truths
}
