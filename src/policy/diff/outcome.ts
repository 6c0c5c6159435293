import {
  lacksFlag,
  RISKS,
  VERDICTS,
  type ReviewRequirement,
  type Risk,
  type Verdict,
} from '../../domain/decision.ts'
import type { Direction } from '../check/change.ts'
import { duration } from '../language/time.ts'
import { hoursText } from '../language/working-time.ts'

/** The result of a call under one bundle. */
export type Result =
  | { readonly kind: 'refused' }
  | {
      readonly kind: 'decided'
      readonly verdict: Verdict
      readonly risk: Risk
      readonly requirement?: ReviewRequirement
      readonly by: readonly string[]
      /** The enforced rules that fired, by id; true when a condition could not be checked. */
      readonly fired?: ReadonlyMap<string, boolean>
    }

/**
 * The strictness of one result relative to another: -1 looser, 0 equal, 1 stricter; undefined when they are not
 * comparable.
 */
type Comparison = -1 | 0 | 1 | undefined

/** Returns the direction in which a decision changed; undefined when both decisions are equal. */
export function compareResults(before: Result, after: Result): Direction | undefined {
  if (before.kind === 'refused' || after.kind === 'refused') return compareRefusals(before, after)
  const verdict = sign(VERDICTS.indexOf(after.verdict) - VERDICTS.indexOf(before.verdict))
  if (verdict !== 0) return directionOf(verdict)
  const risk = sign(RISKS.indexOf(after.risk) - RISKS.indexOf(before.risk))
  const reviewers = compareRequirements(before.requirement, after.requirement)
  // The author orders the levels, so their order is clear even when the reviewers differ.
  if (risk !== 0 && reviewers === undefined) return directionOf(risk)
  if (risk === 0) return reviewers === 0 ? undefined : directionOf(reviewers)
  return directionOf(reviewers === 0 || reviewers === risk ? risk : undefined)
}

/** Compares results when a payload is refused. A refusal is as strict as a reject, but a different result. */
function compareRefusals(before: Result, after: Result): Direction | undefined {
  if (before.kind === after.kind) return undefined
  if (before.kind === 'decided') return before.verdict === 'reject' ? 'changes' : 'tightens'
  return after.kind === 'decided' && after.verdict !== 'reject' ? 'loosens' : 'changes'
}

function directionOf(comparison: Comparison): Direction {
  return comparison === undefined ? 'changes' : comparison < 0 ? 'loosens' : 'tightens'
}

function sign(difference: number): -1 | 0 | 1 {
  return difference < 0 ? -1 : difference > 0 ? 1 : 0
}

/**
 * Compares requirements. A stricter requirement has seats that are at least as hard to fill, allows no more time, and
 * drops no sign-in.
 */
function compareRequirements(
  before: ReviewRequirement | undefined,
  after: ReviewRequirement | undefined,
): Comparison {
  if (!before || !after) return 0
  const looser = isLooser(after, before)
  const stricter = isLooser(before, after)
  if (looser && stricter) return undefined
  return looser ? -1 : stricter ? 1 : 0
}

/** Returns true when the time of `a` may pause while the time of `b` counts. */
const waitsOvernight = (a: ReviewRequirement, b: ReviewRequirement): boolean =>
  a.working !== undefined && JSON.stringify(a.working) !== JSON.stringify(b.working)

/** Returns true when `a` requires less than `b` in some respect. */
function isLooser(a: ReviewRequirement, b: ReviewRequirement): boolean {
  if (a.expires_ms > b.expires_ms || waitsOvernight(a, b) || lacksFlag(a, b)) return true
  return b.seats.some((seat) => {
    const other = a.seats.find(({ group }) => group === seat.group)
    if (!other || other.approvals < seat.approvals) return true
    return other.escalate.some((one) => {
      const known = seat.escalate.find(({ group }) => group === one.group)
      return !known || one.after_ms < known.after_ms
    })
  })
}

/** Returns text such as `review/medium`, with the reviewers when `reviewers` is true. */
export function describeResult(result: Result, reviewers: boolean): string {
  if (result.kind === 'refused') return 'invalid'
  const { verdict, risk, requirement } = result
  return `${verdict}/${risk}${reviewers && requirement ? ` (${describeRequirement(requirement)})` : ''}`
}

/** Returns true when the reviewers should be printed. A changed verdict implies added or removed reviewers. */
export function tellsReviewers(before: Result, after: Result): boolean {
  return before.kind === 'decided' && after.kind === 'decided' && !!before.requirement && !!after.requirement
}

/** Returns text such as `1 of security, after 30m also board within 1h`. */
export function describeRequirement(requirement: ReviewRequirement): string {
  const { seats, expires_ms, interactive, require_comment, require_displayed, working } = requirement
  const who = seats.map(({ group, approvals, escalate }) => {
    const later = escalate.map((one) => `, after ${duration(one.after_ms)} also ${one.group}`)
    return `${approvals} of ${group}${later.join('')}`
  })
  const how = [
    ...(interactive === true ? ['signed in'] : []),
    ...(require_comment === true ? ['with a comment to reject'] : []),
    ...(require_displayed === true ? ['after each part was displayed'] : []),
  ]
  const needs = how.length === 0 ? '' : `, ${how.join(', ')},`
  return `${who.join(' and ')}${needs} within ${duration(expires_ms)}${working ? ` of ${hoursText(working)}` : ''}`
}

/** Returns a key of the verdict, the risk and the parts of the requirement that `describeResult` prints. */
export function resultKey(result: Result): string {
  if (result.kind === 'refused') return 'invalid'
  const { verdict, risk, requirement } = result
  const { remind_after_ms: _, ...compared } = requirement ?? { remind_after_ms: [] }
  return JSON.stringify([verdict, risk, requirement && compared])
}
