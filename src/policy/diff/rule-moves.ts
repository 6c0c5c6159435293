import { RISKS, VERDICTS, type ReviewRequirement, type Risk } from '../../domain/decision.ts'
import type { Call } from '../language/snapshot.ts'
import { along, firingMoves, joinMoves, STILL, type Moves } from './moves.ts'
import { compareResults, type Result } from './outcome.ts'
import type { Side, SideRule } from './side.ts'

export type Sides = readonly [Side, Side]
/** A rule in both bundles; undefined where it is absent or in shadow. */
export type RulePair = readonly [SideRule | undefined, SideRule | undefined]

/** Returns the directions in which the change of one rule may move decisions. Up is stricter. */
export function ruleMoves([before, after]: RulePair, sides: Sides, base: Call): Moves {
  const one = after ?? before
  if (one === undefined) return STILL
  const firing =
    before && after
      ? firingMoves(before, after, base)
      : { up: after !== undefined, down: before !== undefined }
  const { more, fewer } = effectOf(one, sides)
  return joinMoves([
    ...(firing.up ? [more] : []),
    ...(firing.down ? [fewer] : []),
    ...(before && after ? [effectMoves(before, after, sides)] : []),
  ])
}

/** Returns the directions in which a rule moves decisions that fires on more calls, or on fewer. */
function effectOf(
  { rule: { verdict, covers, risk, onUnknown } }: SideRule,
  sides: Sides,
): { readonly more: Moves; readonly fewer: Moves } {
  if (verdict === 'allow')
    return {
      more: { up: risk !== undefined, down: true },
      fewer: { up: true, down: risk !== undefined },
    }
  // Without the rule, `unmatched` rejects the call.
  const isMatch =
    verdict === 'review' &&
    covers &&
    sides.some(({ bundle }) => bundle.ir.head.routing.unmatched === 'reject')
  const asks = onUnknown.rule.verdict === 'review'
  const mixed = isMatch || (asks && risk !== undefined && !haveRisingLevels(sides))
  return { more: { up: true, down: mixed }, fewer: { up: mixed, down: true } }
}

function effectMoves({ rule: one }: SideRule, { rule: other }: SideRule, sides: Sides): Moves {
  return joinMoves([
    along(VERDICTS.indexOf(other.verdict) - VERDICTS.indexOf(one.verdict)),
    along(VERDICTS.indexOf(other.onUnknown.rule.verdict) - VERDICTS.indexOf(one.onUnknown.rule.verdict)),
    other.verdict === one.verdict ? along(Number(one.covers) - Number(other.covers)) : STILL,
    riskMoves(one.risk, other.risk, sides),
    reviewerMoves(one.reviewers, other.reviewers),
  ])
}

export function riskMoves(before: Risk | undefined, after: Risk | undefined, sides: Sides): Moves {
  const [old = -1, current = -1] = [before, after].map((risk) => RISKS.findIndex((one) => one === risk))
  if (old === current) return STILL
  return haveRisingLevels(sides) ? along(current - old) : { up: true, down: true }
}

export function reviewerMoves(
  before: ReviewRequirement | undefined,
  after: ReviewRequirement | undefined,
): Moves {
  if (before === undefined || after === undefined) return along(Number(!!after) - Number(!!before))
  const direction = compareResults(reviewed('low', before), reviewed('low', after))
  return {
    up: direction === 'tightens' || direction === 'changes',
    down: direction === 'loosens' || direction === 'changes',
  }
}

/** Returns true when no level is looser than the level before, so that a higher risk is never looser. */
function haveRisingLevels(sides: Sides): boolean {
  return sides.every(({ bundle }) => {
    const { levels } = bundle.ir.head.routing
    const all = RISKS.map((risk) => reviewed(risk, levels[risk]))
    return all.slice(1).every((level, i) => compareResults(all[i] ?? level, level) === 'tightens')
  })
}

const reviewed = (risk: Risk, requirement: ReviewRequirement): Result => ({
  kind: 'decided',
  verdict: 'review',
  risk,
  requirement,
  by: [],
})
