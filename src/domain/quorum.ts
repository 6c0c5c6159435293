import type { ReviewRequirement, Seat } from './decision.ts'

/** Quorum (docs/review-api.md): a different reviewer fills each seat of every group. */

export interface Person {
  readonly id: string
  readonly groups: readonly string[]
}

export interface SeatState {
  readonly group: string
  readonly approvals: number
  /** Groups that may also fill the seat, because of an escalation. */
  readonly escalatedTo: readonly string[]
  readonly filledBy: readonly string[]
}

export interface Quorum {
  readonly met: boolean
  readonly seats: readonly SeatState[]
}

/**
 * Assigns voters to seats by bipartite matching. Each voter fills one seat. A reviewer in two groups fills the seat
 * that lets the most seats be filled. `elapsed` is the age of the revision in ms, which determines the escalations that
 * have happened.
 */
export function quorum(
  requirement: ReviewRequirement,
  approvers: readonly Person[],
  elapsed: number,
): Quorum {
  const chairs = requirement.seats.flatMap((seat) => Array.from({ length: seat.approvals }, () => seat))
  const seated = match(chairs, distinct(approvers), elapsed)
  const seats = requirement.seats.map((seat) => ({
    group: seat.group,
    approvals: seat.approvals,
    escalatedTo: escalatedGroups(seat, elapsed),
    filledBy: chairs.flatMap((chair, i) => (chair === seat && seated[i] ? [seated[i].id] : [])),
  }))
  return { met: seats.every((seat) => seat.filledBy.length === seat.approvals), seats }
}

/** True when `person` may fill any seat. */
export function eligible(requirement: ReviewRequirement, person: Person, elapsed: number): boolean {
  return requirement.seats.some((seat) => fits(seat, person, elapsed))
}

/** Groups whose reviewers may fill a seat at that age. */
export function groupsBy({ seats }: Pick<ReviewRequirement, 'seats'>, elapsed: number): string[] {
  const escalated = seats.flatMap((seat) => escalatedGroups(seat, elapsed))
  return [...new Set([...seats.map(({ group }) => group), ...escalated])]
}

/** Groups whose reviewers may fill a seat at any time. */
export const groupsEver = (requirement: Pick<ReviewRequirement, 'seats'>): string[] =>
  groupsBy(requirement, Infinity)

export function escalatedGroups(seat: Seat, elapsed: number): string[] {
  return seat.escalate.filter((one) => elapsed >= one.after_ms).map((one) => one.group)
}

function fits(seat: Seat, person: Person, elapsed: number): boolean {
  return (
    person.groups.includes(seat.group) ||
    escalatedGroups(seat, elapsed).some((group) => person.groups.includes(group))
  )
}

function distinct(people: readonly Person[]): Person[] {
  return [...new Map(people.map((person) => [person.id, person])).values()]
}

/** Finds augmenting paths (Kuhn). Returns the person for each seat. */
function match(chairs: readonly Seat[], people: readonly Person[], elapsed: number): (Person | undefined)[] {
  const seated: (Person | undefined)[] = chairs.map(() => undefined)
  const place = (person: Person, tried: Set<number>): boolean => {
    for (const [i, chair] of chairs.entries()) {
      if (tried.has(i) || !fits(chair, person, elapsed)) continue
      tried.add(i)
      const holder = seated[i]
      if (holder === undefined || place(holder, tried)) {
        seated[i] = person
        return true
      }
    }
    return false
  }
  for (const person of people) place(person, new Set())
  return seated
}
