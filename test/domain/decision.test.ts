import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  joinRequirements,
  maxRisk,
  revisedRequirement,
  RISKS,
  type ReviewRequirement,
  riskAbove,
  strictest,
  VERDICTS,
} from '../../src/domain/decision.ts'
import { quorum } from '../../src/domain/quorum.ts'
import { clocked } from '../../src/policy/language/working-time.ts'
import { anyRequirement, elapsed, people, requirement } from './arbitraries.ts'
import { runs } from '../runs.ts'

const RUNS = { numRuns: runs(5_000) }

describe('joining review requirements', () => {
  it('is commutative, byte for byte', () => {
    fc.assert(
      fc.property(anyRequirement, anyRequirement, (a, b) => {
        expect(joinRequirements(a, b)).toEqual(joinRequirements(b, a))
      }),
      RUNS,
    )
  })

  it('is associative', () => {
    fc.assert(
      fc.property(anyRequirement, anyRequirement, anyRequirement, (a, b, c) => {
        expect(joinRequirements(joinRequirements(a, b), c)).toEqual(
          joinRequirements(a, joinRequirements(b, c)),
        )
      }),
      RUNS,
    )
  })

  it('is idempotent', () => {
    fc.assert(
      fc.property(anyRequirement, anyRequirement, (a, b) => {
        const joined = joinRequirements(a, b)
        expect(joinRequirements(joined, joined)).toEqual(joined)
        expect(joinRequirements(joined, a)).toEqual(joined)
      }),
      RUNS,
    )
  })

  it('waits no longer than either, whatever the day and hour', () => {
    const hour = fc.integer({ min: 0, max: 24 * 14 })
    fc.assert(
      fc.property(requirement, requirement, hour, (a, b, hours) => {
        const at = Date.UTC(2026, 10, 23) + hours * 3_600_000
        const wait = (one: ReviewRequirement): number => clocked(one, at).expires_ms
        expect(wait(joinRequirements(a, b))).toBeLessThanOrEqual(Math.min(wait(a), wait(b)))
      }),
      RUNS,
    )
  })

  it('adds nothing: a requirement joined with itself stays the same, in order', () => {
    const byGroup = <T extends { readonly group: string }>(all: readonly T[]): T[] =>
      all.toSorted((a, b) => a.group.localeCompare(b.group))
    fc.assert(
      fc.property(requirement, (a) => {
        const seats = byGroup(a.seats).map((seat) => ({ ...seat, escalate: byGroup(seat.escalate) }))
        const remind_after_ms = a.remind_after_ms.toSorted((x, y) => x - y)
        expect(joinRequirements(a, a)).toEqual({ ...a, seats, remind_after_ms })
      }),
      RUNS,
    )
  })

  it('lets only a group escalate that both name, at the later time', () => {
    const asking = (...escalate: { group: string; after_ms: number }[]): ReviewRequirement => ({
      seats: [{ group: 'a', approvals: 1, escalate }],
      expires_ms: 9,
      remind_after_ms: [],
    })
    const joined = joinRequirements(
      asking({ group: 'c', after_ms: 3 }, { group: 'b', after_ms: 1 }),
      asking({ group: 'b', after_ms: 2 }, { group: 'd', after_ms: 1 }),
    )
    expect(joined.seats).toEqual([{ group: 'a', approvals: 1, escalate: [{ group: 'b', after_ms: 2 }] }])
  })

  it('is never looser: voters who fill the joined seats fill those of both, at every moment', () => {
    fc.assert(
      fc.property(requirement, requirement, people, elapsed, (a, b, voters, time) => {
        fc.pre(quorum(joinRequirements(a, b), voters, time).met)
        expect(quorum(a, voters, time).met).toBe(true)
        expect(quorum(b, voters, time).met).toBe(true)
      }),
      RUNS,
    )
  })

  it('is never looser in time: it ends no later, and reminds at least as often', () => {
    fc.assert(
      fc.property(requirement, requirement, (a, b) => {
        const joined = joinRequirements(a, b)
        expect(joined.expires_ms).toBe(Math.min(a.expires_ms, b.expires_ms))
        for (const ms of [...a.remind_after_ms, ...b.remind_after_ms])
          expect(joined.remind_after_ms).toContain(ms)
      }),
      RUNS,
    )
  })
})

describe('a sign-in', () => {
  it('is required by the join when either side requires it', () => {
    fc.assert(
      fc.property(requirement, requirement, (a, b) => {
        const asked = a.interactive === true || b.interactive === true
        expect(joinRequirements(a, b).interactive === true).toBe(asked)
      }),
      RUNS,
    )
  })
})

describe('verdicts and risks', () => {
  it('the stricter verdict wins, whatever the order', () => {
    for (const [i, a] of VERDICTS.entries()) {
      for (const [j, b] of VERDICTS.entries()) expect(strictest(a, b)).toBe(VERDICTS[Math.max(i, j)])
    }
  })

  it('the higher risk wins, and ranks above the lower', () => {
    for (const [i, a] of RISKS.entries()) {
      for (const [j, b] of RISKS.entries()) {
        expect(maxRisk(a, b)).toBe(RISKS[Math.max(i, j)])
        expect(riskAbove(a, b)).toBe(i > j)
      }
    }
  })
})

describe('the requirement of a revision', () => {
  it('asks at least for the reviewers of the requirement before, and is stable', () => {
    fc.assert(
      fc.property(requirement, requirement, (before, after) => {
        const now = clocked(after, Date.UTC(2026, 10, 27, 17, 30))
        const revised = revisedRequirement(before, now)
        const joined = joinRequirements(before, now)
        const needs = ({ seats }: ReviewRequirement): unknown =>
          seats.map(({ group, approvals, escalate }) => [group, approvals, escalate.map((one) => one.group)])
        expect(needs(revised)).toEqual(needs(joined))
        expect(revisedRequirement(before, revised)).toEqual(revised)
        if (now.working_ms === undefined) expect(revised).toEqual(joined)
        else expect([revised.expires_ms, revised.working_ms]).toEqual([now.expires_ms, now.working_ms])
      }),
      RUNS,
    )
  })
})
