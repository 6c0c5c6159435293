import { isDeepStrictEqual } from 'node:util'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import {
  type Escalation,
  revisedRequirement,
  type ReviewRequirement,
  type Seat,
} from '../../domain/decision.ts'
import { eligible, escalatedGroups, groupsEver, type Person, quorum } from '../../domain/quorum.ts'
import { listOf, objectOf, requireThat, textOf } from '../record/require.ts'

/**
 * A number far above the seats and escalations that policy can require. Each vote is checked against all seats and
 * escalations.
 */
const MOST_PEOPLE = 1_000

/** Parses a requirement. @throws LawBroken */
export function requirementOf({ seats, expires_ms, ...flags }: JsonObject): ReviewRequirement {
  const { interactive, require_comment, require_displayed, working_ms } = flags
  requireThat(typeof expires_ms === 'number' && expires_ms > 0, 'its thread would never expire')
  const asked = listOf(seats, 'seats').map(seatOf)
  requireThat(asked.length > 0, 'no reviewer would have to approve')
  const people = asked.reduce((sum, { approvals, escalate }) => sum + approvals + escalate.length, 0)
  requireThat(people <= MOST_PEOPLE, 'it requires more reviewers than exist')
  return {
    seats: asked,
    expires_ms,
    remind_after_ms: [],
    ...(interactive === true ? { interactive } : {}),
    ...(require_comment === true ? { require_comment } : {}),
    ...(require_displayed === true ? { require_displayed } : {}),
    ...(working_ms === undefined ? {} : { working_ms: workedOf(working_ms, expires_ms) }),
  }
}

function workedOf(worked: JsonValue, expires_ms: number): number {
  const fits = typeof worked === 'number' && worked > 0 && worked <= expires_ms
  requireThat(fits, 'its working time is longer than its time')
  return worked
}

function seatOf(value: JsonValue): Seat {
  const { group, approvals, escalate = [] } = objectOf(value, 'a seat')
  requireThat(
    typeof approvals === 'number' && Number.isSafeInteger(approvals) && approvals > 0,
    'a seat accepts no reviewer',
  )
  return {
    group: textOf(group, 'group'),
    approvals,
    escalate: listOf(escalate, 'escalate').map(escalationOf),
  }
}

function escalationOf(value: JsonValue): Escalation {
  const { group, after_ms } = objectOf(value, 'an escalation')
  requireThat(typeof after_ms === 'number' && after_ms >= 0, 'the time of an escalation is missing')
  return { group: textOf(group, 'group'), after_ms }
}

/** The number of different reviewers who must approve. */
const approvalsOf = ({ seats }: ReviewRequirement): number =>
  seats.reduce((sum, { approvals }) => sum + approvals, 0)

/**
 * Requires a revision to be at least as strict: no group needs fewer approvals or escalates to another group sooner.
 * @throws LawBroken
 */
export function requireTighter(before: ReviewRequirement, after: ReviewRequirement): void {
  const both = revisedRequirement(before, after)
  requireThat(
    isDeepStrictEqual(both, revisedRequirement(after, after)),
    'it is less strict than the previous revision',
  )
}

/**
 * A reviewer who voted. Without `groups`, only the directory knows the groups, and the reviewer may fill any seat.
 */
export interface Voter {
  readonly reviewer: string
  /** Groups that an identity provider vouched for. */
  readonly groups?: readonly string[]
}

/**
 * Requires an eligible voter.
 *
 * @throws LawBroken when the groups of the vote cannot fill any seat
 */
export function requireEligible(
  requirement: ReviewRequirement,
  { reviewer, groups }: Voter,
  elapsed: number,
): void {
  if (groups === undefined) return
  requireThat(
    eligible(requirement, { id: reviewer, groups }, elapsed),
    `\`${reviewer}\` was in no group that may vote`,
  )
}

/**
 * Requires a filled quorum.
 *
 * @throws LawBroken when these reviewers cannot fill every seat, each by a different reviewer
 */
export function requireQuorum(
  requirement: ReviewRequirement,
  approvers: readonly Voter[],
  elapsed: number,
): void {
  const approvals = approvalsOf(requirement)
  requireThat(approvers.length >= approvals, `${approvers.length} approved, but ${approvals} must approve`)
  // the usual case: enough reviewers fill the seats in any order
  if (approvers.every(({ groups }) => groups === undefined)) return
  const anyGroup = requirement.seats.map(({ group }) => group)
  const people = approvers.map(({ reviewer, groups = anyGroup }): Person => ({ id: reviewer, groups }))
  requireThat(
    quorum(requirement, people, elapsed).met,
    'the reviewers who approved are not in the groups that may vote',
  )
}

/**
 * Requires an escalation.
 *
 * @throws LawBroken when no seat escalates to that group by then
 */
export function requireEscalated({ seats }: ReviewRequirement, group: string, elapsed: number): void {
  const given = seats.some((seat) => escalatedGroups(seat, elapsed).includes(group))
  requireThat(given, `no seat escalates to \`${group}\` at that time`)
}

/** The number of possible announcements of escalations to that group, one for each such seat. */
export function givingWayTo({ seats }: ReviewRequirement, group: string): number {
  return seats.flatMap(({ escalate }) => escalate).filter((one) => one.group === group).length
}

/** The groups that an identity provider vouched for, as JSON; undefined when only the directory knows them. */
export type Vouched = string | undefined

export const NOT_VOUCHED = 'only a single sign-on vouches for groups'

/**
 * Requires the groups that a vote names to match an open session of the reviewer. They have at least the session's
 * groups that can fill a seat, and no others than the session's.
 *
 * @param sessions the groups of each open session
 * @throws LawBroken
 */
export function requireVouched(
  sessions: Iterable<Vouched>,
  { reviewer, via, groups }: Voter & { readonly via: string },
  requirement: ReviewRequirement,
): void {
  if (via !== 'oidc' && via !== 'slack') return requireThat(groups === undefined, NOT_VOUCHED)
  const wanted = groupsEver(requirement)
  const vouched = [...sessions].some((text) => {
    if (text === undefined || groups === undefined) return text === groups
    const all = JSON.parse(text) as string[]
    const named = all.filter((group) => wanted.includes(group) || groups.includes(group))
    return JSON.stringify(named) === JSON.stringify(groups)
  })
  requireThat(vouched, `no single sign-on of \`${reviewer}\` vouched for these groups`)
}
