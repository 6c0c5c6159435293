/**
 * The decision algebra: verdicts and risks are ordered, and the stricter of two always wins. Every operation here is a
 * max, a min or a union, so the order of rules and files never matters.
 */

export const VERDICTS = ['allow', 'review', 'reject'] as const
export const RISKS = ['low', 'medium', 'high', 'critical'] as const

export type Verdict = (typeof VERDICTS)[number]
export type Risk = (typeof RISKS)[number]

/**
 * The reviewers of one group who must approve. After an escalation, the group of the escalation may fill the same
 * seats.
 */
export interface Seat {
  readonly group: string
  readonly approvals: number
  readonly escalate: readonly Escalation[]
}

/** An escalation of a seat. `after_ms` counts from the submission of the revision. */
export interface Escalation {
  readonly group: string
  readonly after_ms: number
}

/** The hours in which the time of a review level counts. */
export interface WorkingTime {
  /** An IANA time zone. */
  readonly timezone: string
  /** Days of the week, from `mon`. */
  readonly days: readonly string[]
  /** Minutes after midnight, local time. */
  readonly opens: number
  readonly closes: number
  /** Days off, as `2027-01-01`. */
  readonly holidays: readonly string[]
}

/** Conditions under which a held call may run: reviewers must fill every seat in time. */
export interface ReviewRequirement {
  readonly seats: readonly Seat[]
  readonly expires_ms: number
  readonly remind_after_ms: readonly number[]
  /** Every time of the requirement counts only in these hours. Absent once the times count around the clock. */
  readonly working?: WorkingTime
  /** The working time in `expires_ms`, which counts around the clock. An uncollected approval ends after this time. */
  readonly working_ms?: number
  /**
   * Only a reviewer with a console session may vote. A key only proves that a program has the key, not that a person is
   * present.
   */
  readonly interactive?: boolean
  /** A rejection needs a comment. */
  readonly require_comment?: boolean
  /** An approval needs proof that each part to see was displayed (docs/review-api.md). */
  readonly require_displayed?: boolean
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

/**
 * The join of two requirements, which is at least as strict as each. The join has the larger number of approvals for
 * each group and the shorter time, and requires a session when either does.
 */
export function joinRequirements(a: ReviewRequirement, b: ReviewRequirement): ReviewRequirement {
  return {
    seats: joinBy([...a.seats, ...b.seats].map(inOrder), (seat) => seat.group, joinSeats),
    expires_ms: Math.min(a.expires_ms, b.expires_ms),
    remind_after_ms: [...new Set([...a.remind_after_ms, ...b.remind_after_ms])].sort((x, y) => x - y),
    ...eitherOf(a, b),
    ...workingOf(a, b),
  }
}

/** A requirement without a time limit of its own, as `reviewers:` of a rule without `expires`. */
export const UNLIMITED_MS = Number.MAX_SAFE_INTEGER

/**
 * The hours that both requirements share. Otherwise time counts around the clock, so that the join never waits longer
 * than either. A requirement without a time limit has no say.
 */
function workingOf(a: ReviewRequirement, b: ReviewRequirement): Pick<ReviewRequirement, 'working'> {
  if (a.expires_ms >= UNLIMITED_MS) return b.working ? { working: b.working } : {}
  if (b.expires_ms >= UNLIMITED_MS) return a.working ? { working: a.working } : {}
  const same = JSON.stringify(a.working) === JSON.stringify(b.working)
  return same && a.working ? { working: a.working } : {}
}

/**
 * The requirement of a revision: at least as strict as the requirement before. Times of working hours count anew from
 * the revision, because their length around the clock depends on its day.
 */
export function revisedRequirement(before: ReviewRequirement, after: ReviewRequirement): ReviewRequirement {
  const { working_ms, expires_ms, remind_after_ms } = after
  if (working_ms === undefined) return joinRequirements(before, after)
  const seats = before.seats.map((seat) => ({
    ...seat,
    escalate: seat.escalate.map((one) => escalationIn(after, seat.group, one)),
  }))
  return { ...joinRequirements({ ...before, seats, expires_ms, remind_after_ms }, after), working_ms }
}

/**
 * The join of a thread's requirement and the one that policy asks for now. The thread keeps its own times: its deadline
 * and its reminders.
 */
export function raisedRequirement(before: ReviewRequirement, now: ReviewRequirement): ReviewRequirement {
  const { working: _, ...joined } = joinRequirements(before, now)
  const { expires_ms, remind_after_ms, working_ms } = before
  return { ...joined, expires_ms, remind_after_ms, ...(working_ms === undefined ? {} : { working_ms }) }
}

const COUNTS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']

/** The seats that a raise adds to the requirement before it: `two of security-leads`. */
export function asksOf(before: ReviewRequirement, after: ReviewRequirement): string {
  const had = new Map(before.seats.map((seat) => [seat.group, seat.approvals]))
  const more = after.seats.filter(({ group, approvals }) => approvals > (had.get(group) ?? 0))
  if (more.length === 0) return 'a stricter review'
  return more.map(({ group, approvals }) => `${COUNTS[approvals] ?? approvals} of ${group}`).join(' and ')
}

function escalationIn({ seats }: ReviewRequirement, group: string, one: Escalation): Escalation {
  const seat = seats.find((other) => other.group === group)
  return seat?.escalate.find((other) => other.group === one.group) ?? one
}

const FLAGS = ['interactive', 'require_comment', 'require_displayed'] as const

/** The flags that either requirement has. */
function eitherOf(
  a: ReviewRequirement,
  b: ReviewRequirement,
): Pick<ReviewRequirement, (typeof FLAGS)[number]> {
  return Object.fromEntries(
    FLAGS.flatMap((flag) => (a[flag] === true || b[flag] === true ? [[flag, true]] : [])),
  )
}

/** True when `b` has a flag that `a` lacks. */
export const lacksFlag = (a: ReviewRequirement, b: ReviewRequirement): boolean =>
  FLAGS.some((flag) => b[flag] === true && a[flag] !== true)

/**
 * Joins two seats. An escalation lets more reviewers fill a seat, but both requirements must be met. A group may
 * therefore step in only when both seats allow it, and at the later of the two times.
 */
function joinSeats(a: Seat, b: Seat): Seat {
  const escalate = a.escalate.flatMap((one) => {
    const other = b.escalate.find((entry) => entry.group === one.group)
    return other ? [{ group: one.group, after_ms: Math.max(one.after_ms, other.after_ms) }] : []
  })
  return { group: a.group, approvals: Math.max(a.approvals, b.approvals), escalate }
}

/** Sorts the escalations of a seat by group, so that joins of equal seats have equal bytes. */
function inOrder(seat: Seat): Seat {
  const escalate = [...seat.escalate].sort((a, b) => (a.group < b.group ? -1 : a.group > b.group ? 1 : 0))
  return { ...seat, escalate }
}

/** Merges entries with equal keys and sorts by key, so that a join is commutative to the byte. */
function joinBy<T>(items: readonly T[], key: (item: T) => string, join: (a: T, b: T) => T): T[] {
  const merged = new Map<string, T>()
  for (const item of items) {
    const known = merged.get(key(item))
    merged.set(key(item), known === undefined ? item : join(known, item))
  }
  return [...merged].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item)
}
