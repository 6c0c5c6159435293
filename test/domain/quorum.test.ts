import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ReviewRequirement } from '../../src/domain/decision.ts'
import { eligible, escalatedGroups, type Person, quorum } from '../../src/domain/quorum.ts'
import { elapsed, people, requirement } from './arbitraries.ts'
import { runs } from '../runs.ts'

const RUNS = { numRuns: runs(3_000) }

/** May the person sit there now, said once more and in other words. */
function may(seat: ReviewRequirement['seats'][number], person: Person, time: number): boolean {
  const welcome = new Set([
    seat.group,
    ...seat.escalate.flatMap((one) => (one.after_ms <= time ? [one.group] : [])),
  ])
  return person.groups.some((group) => welcome.has(group))
}

/** Every way to put people on chairs: the most chairs that can be filled at once. */
function mostChairs(required: ReviewRequirement, voters: readonly Person[], time: number): number {
  const chairs = required.seats.flatMap((seat) => Array.from({ length: seat.approvals }, () => seat))
  const best = (chair: number, free: readonly Person[]): number => {
    const seat = chairs[chair]
    if (seat === undefined) return 0
    const filled = free
      .filter((person) => may(seat, person, time))
      .map(
        (person) =>
          1 +
          best(
            chair + 1,
            free.filter((other) => other !== person),
          ),
      )
    return Math.max(best(chair + 1, free), ...filled)
  }
  return best(0, voters)
}

const filled = (seats: readonly { filledBy: readonly string[] }[]): string[] =>
  seats.flatMap((seat) => seat.filledBy)

describe('the quorum', () => {
  it('fills as many seats as any assignment of voters could', () => {
    fc.assert(
      fc.property(requirement, people, elapsed, (required, voters, time) => {
        const { met, seats } = quorum(required, voters, time)
        const most = mostChairs(required, voters, time)
        expect(filled(seats)).toHaveLength(most)
        expect(met).toBe(most === required.seats.reduce((sum, seat) => sum + seat.approvals, 0))
      }),
      RUNS,
    )
  })

  it('seats every voter once, and only where the voter is allowed', () => {
    fc.assert(
      fc.property(requirement, people, elapsed, (required, voters, time) => {
        const doubled = [...voters, ...voters]
        const { seats } = quorum(required, doubled, time)
        expect(new Set(filled(seats)).size).toBe(filled(seats).length)
        for (const [i, seat] of seats.entries()) {
          expect(seat.filledBy.length).toBeLessThanOrEqual(seat.approvals)
          for (const id of seat.filledBy) {
            const person = voters.find((one) => one.id === id) as Person
            expect(may(required.seats[i] as ReviewRequirement['seats'][number], person, time)).toBe(true)
          }
        }
      }),
      RUNS,
    )
  })

  it('is monotone: another voter or more time never reverts it', () => {
    fc.assert(
      fc.property(requirement, people, people, elapsed, elapsed, (required, voters, others, early, late) => {
        fc.pre(early <= late && quorum(required, voters, early).met)
        const more = [...voters, ...others.map((one) => ({ ...one, id: `more-${one.id}` }))]
        expect(quorum(required, more, early).met).toBe(true)
        expect(quorum(required, voters, late).met).toBe(true)
      }),
      RUNS,
    )
  })

  it('does not depend on the order of the votes', () => {
    fc.assert(
      fc.property(requirement, people, elapsed, (required, voters, time) => {
        expect(quorum(required, voters.toReversed(), time).met).toBe(quorum(required, voters, time).met)
      }),
      RUNS,
    )
  })

  it('is not met without a vote', () => {
    fc.assert(
      fc.property(requirement, elapsed, (required, time) => {
        expect(quorum(required, [], time).met).toBe(false)
      }),
    )
  })

  it('calls exactly the reviewers eligible who may fill a seat', () => {
    fc.assert(
      fc.property(requirement, people, elapsed, (required, voters, time) => {
        for (const person of voters) {
          expect(eligible(required, person, time)).toBe(
            required.seats.some((seat) => may(seat, person, time)),
          )
        }
      }),
      RUNS,
    )
  })

  it('adds an escalation group at its time, and not one millisecond before', () => {
    const seat = { group: 'a', approvals: 1, escalate: [{ group: 'b', after_ms: 1_000 }] }
    expect(escalatedGroups(seat, 999)).toEqual([])
    expect(escalatedGroups(seat, 1_000)).toEqual(['b'])
  })
})
