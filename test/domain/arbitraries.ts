import fc from 'fast-check'
import { type ReviewRequirement, UNLIMITED_MS, type WorkingTime } from '../../src/domain/decision.ts'
import type { Person } from '../../src/domain/quorum.ts'

/** Few groups and people, so that they meet. */
export const GROUPS = ['a', 'b', 'c'] as const
const group = fc.constantFrom(...GROUPS)
const HOURS = [1, 2, 3].map((n) => n * 3_600_000)

const escalation = fc.record({ group, after_ms: fc.constantFrom(...HOURS) })

const office = (days: readonly string[]): WorkingTime => ({
  timezone: 'UTC',
  days,
  opens: 480,
  closes: 1_080,
  holidays: [],
})

export const requirement: fc.Arbitrary<ReviewRequirement> = fc.record(
  {
    seats: fc.uniqueArray(
      fc.record({
        group,
        approvals: fc.integer({ min: 1, max: 2 }),
        escalate: fc.uniqueArray(escalation, { maxLength: 2, selector: (one) => one.group }),
      }),
      { minLength: 1, maxLength: 3, selector: (seat) => seat.group },
    ),
    expires_ms: fc.constantFrom(...HOURS),
    remind_after_ms: fc.uniqueArray(fc.constantFrom(...HOURS), { maxLength: 2 }),
    interactive: fc.constant(true),
    working: fc.constantFrom(office(['mon']), office(['sat', 'sun'])),
  },
  { requiredKeys: ['seats', 'expires_ms', 'remind_after_ms'] },
)

/** Requirements of levels, and of rules, which may have no time limit. */
export const anyRequirement: fc.Arbitrary<ReviewRequirement> = fc.oneof(
  requirement,
  requirement.map(({ seats }) => ({ seats, expires_ms: UNLIMITED_MS, remind_after_ms: [] })),
)

export const people: fc.Arbitrary<Person[]> = fc
  .array(fc.subarray([...GROUPS]), { maxLength: 6 })
  .map((memberships) => memberships.map((groups, i) => ({ id: `p${i}`, groups })))

export const elapsed = fc.constantFrom(0, ...HOURS.flatMap((ms) => [ms - 1, ms]))
