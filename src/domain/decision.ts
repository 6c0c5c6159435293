/**
 * The decision algebra: verdicts and risks are ordered, everything combines by "the stricter of the two".
 * Because every operation here is a max, a min or a union, the order of rules and files can never matter.
 */

export const VERDICTS = ['allow', 'review', 'reject'] as const
export const RISKS = ['low', 'medium', 'high', 'critical'] as const

export type Verdict = (typeof VERDICTS)[number]
export type Risk = (typeof RISKS)[number]

/** People of one group who must approve. After an escalation its group may fill the same seats. */
export interface Seat {
  readonly group: string
  readonly approvals: number
  readonly escalate: readonly Escalation[]
}

/** `after_ms` counts from the moment the revision was submitted. */
export interface Escalation {
  readonly group: string
  readonly after_ms: number
}

/** What people must do before a held call may run: every seat filled, in time. */
export interface ReviewRequirement {
  readonly seats: readonly Seat[]
  readonly expires_ms: number
  readonly remind_after_ms: readonly number[]
  /** Only somebody who has signed in to the console may vote: a key shows that a program has it, not that a person is there. */
  readonly interactive?: boolean
}

export function strictest(a: Verdict, b: Verdict): Verdict {
  return VERDICTS.indexOf(a) >= VERDICTS.indexOf(b) ? a : b
}

export function maxRisk(a: Risk, b: Risk): Risk {
  return RISKS.indexOf(a) >= RISKS.indexOf(b) ? a : b
}

/** True when `risk` is strictly above `limit`. */
export function riskAbove(risk: Risk, limit: Risk): boolean {
  return RISKS.indexOf(risk) > RISKS.indexOf(limit)
}

/** The join of two requirements: per group the larger number of approvals, the shorter time, a sign-in when either asks for it. Never looser than either. */
export function joinRequirements(a: ReviewRequirement, b: ReviewRequirement): ReviewRequirement {
  return {
    seats: joinBy([...a.seats, ...b.seats].map(inOrder), (seat) => seat.group, joinSeats),
    expires_ms: Math.min(a.expires_ms, b.expires_ms),
    remind_after_ms: [...new Set([...a.remind_after_ms, ...b.remind_after_ms])].sort((x, y) => x - y),
    ...(a.interactive === true || b.interactive === true ? { interactive: true } : {}),
  }
}

/**
 * Escalation widens the circle of people who may fill a seat. Both requirements must hold, so only a group that
 * both would let in may step in, and at the later of the two moments.
 */
function joinSeats(a: Seat, b: Seat): Seat {
  const escalate = a.escalate.flatMap((one) => {
    const other = b.escalate.find((entry) => entry.group === one.group)
    return other ? [{ group: one.group, after_ms: Math.max(one.after_ms, other.after_ms) }] : []
  })
  return { group: a.group, approvals: Math.max(a.approvals, b.approvals), escalate }
}

/** The escalations of a seat by group: a join of equal things is equal to the byte. */
function inOrder(seat: Seat): Seat {
  const escalate = [...seat.escalate].sort((a, b) => (a.group < b.group ? -1 : a.group > b.group ? 1 : 0))
  return { ...seat, escalate }
}

/** Merges entries of equal key and sorts by key, so that a join is commutative to the byte. */
function joinBy<T>(items: readonly T[], key: (item: T) => string, join: (a: T, b: T) => T): T[] {
  const merged = new Map<string, T>()
  for (const item of items) {
    const known = merged.get(key(item))
    merged.set(key(item), known === undefined ? item : join(known, item))
  }
  return [...merged].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item)
}
