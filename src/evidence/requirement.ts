import type { JsonObject, JsonValue } from '../contract/json.ts'
import { type Escalation, joinRequirements, type ReviewRequirement, type Seat } from '../domain/decision.ts'
import { canonicalJson } from '../domain/digest.ts'
import { eligible, escalatedGroups, type Person, quorum } from '../domain/quorum.ts'
import { holds, listOf, objectOf, textOf } from './record.ts'

/** What people have to do, as a record tells it; when they are reminded it does not say. By the functions that the gateway itself asks. */
export type ToldRequirement = ReviewRequirement

/** Far more seats and escalations than policy can ask for: each vote is held against all of them. */
const MOST_PEOPLE = 1_000

/** @throws BrokenLaw */
export function requirementOf({ seats, expires_ms, interactive }: JsonObject): ToldRequirement {
  holds(typeof expires_ms === 'number' && expires_ms > 0, 'its thread would never expire')
  const told = listOf(seats, 'seats').map(seatOf)
  holds(told.length > 0, 'nobody would have to approve')
  const people = told.reduce((sum, { approvals, escalate }) => sum + approvals + escalate.length, 0)
  holds(people <= MOST_PEOPLE, 'it asks for more people than there are')
  return {
    seats: told,
    expires_ms,
    remind_after_ms: [],
    ...(interactive === true ? { interactive } : {}),
  }
}

function seatOf(value: JsonValue): Seat {
  const { group, approvals, escalate = [] } = objectOf(value, 'a seat')
  holds(
    typeof approvals === 'number' && Number.isSafeInteger(approvals) && approvals > 0,
    'a seat takes nobody',
  )
  return {
    group: textOf(group, 'group'),
    approvals,
    escalate: listOf(escalate, 'escalate').map(escalationOf),
  }
}

function escalationOf(value: JsonValue): Escalation {
  const { group, after_ms } = objectOf(value, 'an escalation')
  holds(typeof after_ms === 'number' && after_ms >= 0, 'nobody knows when it escalates')
  return { group: textOf(group, 'group'), after_ms }
}

/** Distinct people who have to approve. */
const approvalsOf = ({ seats }: ToldRequirement): number =>
  seats.reduce((sum, { approvals }) => sum + approvals, 0)

/** While people are asked, what they have to do only becomes more: no group is asked for fewer, or gives way to another one sooner. @throws BrokenLaw */
export function holdsTighter(before: ToldRequirement, after: ToldRequirement): void {
  const both = joinRequirements(before, after)
  const tighter =
    canonicalJson(both as unknown as JsonValue) ===
    canonicalJson(joinRequirements(after, after) as unknown as JsonValue)
  holds(tighter, 'it asks less of people than the revision before')
}

/** A person who voted. Without `groups` only the directory knows them, and every seat may be theirs. */
export interface ToldPerson {
  readonly reviewer: string
  /** That an identity provider vouched for. */
  readonly groups?: readonly string[]
}

/** @throws BrokenLaw when the groups that stand beside a vote can fill no seat */
export function holdsEligible(
  requirement: ToldRequirement,
  { reviewer, groups }: ToldPerson,
  elapsed: number,
): void {
  if (groups === undefined) return
  holds(
    eligible(requirement, { id: reviewer, groups }, elapsed),
    `\`${reviewer}\` was in no group that is asked`,
  )
}

/** @throws BrokenLaw when these people cannot fill every seat, each another one */
export function holdsQuorum(
  requirement: ToldRequirement,
  approvers: readonly ToldPerson[],
  elapsed: number,
): void {
  const approvals = approvalsOf(requirement)
  holds(approvers.length >= approvals, `${approvers.length} approved, and ${approvals} have to`)
  // mostly so, and then enough people fill the seats whatever these are
  if (approvers.every(({ groups }) => groups === undefined)) return
  const anyGroup = requirement.seats.map(({ group }) => group)
  const people = approvers.map(({ reviewer, groups = anyGroup }): Person => ({ id: reviewer, groups }))
  holds(quorum(requirement, people, elapsed).met, 'those who approved are not in the groups that are asked')
}

/** @throws BrokenLaw when no seat gives way to that group by then */
export function holdsEscalated({ seats }: ToldRequirement, group: string, elapsed: number): void {
  const given = seats.some((seat) => escalatedGroups(seat, elapsed).includes(group))
  holds(given, `nothing goes to \`${group}\` by then`)
}

/** How often an escalation to that group can be told, of as many seats. */
export function givingWayTo({ seats }: ToldRequirement, group: string): number {
  return seats.flatMap(({ escalate }) => escalate).filter((one) => one.group === group).length
}
