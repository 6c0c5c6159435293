import { describe, expect, it } from 'vitest'
import type { ReviewRequirement, Risk } from '../../../src/domain/decision.ts'
import { compareResults, type Result } from '../../../src/policy/diff/outcome.ts'

const HOUR_MS = 3_600_000
const requirement = (seats: Record<string, number>, hours = 4): ReviewRequirement => ({
  seats: Object.entries(seats).map(([group, approvals]) => ({ group, approvals, escalate: [] })),
  expires_ms: hours * HOUR_MS,
  remind_after_ms: [],
})
const review = (risk: Risk, seats: Record<string, number>, hours?: number): Result => ({
  kind: 'decided',
  verdict: 'review',
  risk,
  by: [],
  requirement: requirement(seats, hours),
})
const signedIn: Result = {
  kind: 'decided',
  verdict: 'review',
  risk: 'medium',
  by: [],
  requirement: { ...requirement({ team: 1 }), interactive: true },
}
const allow: Result = { kind: 'decided', verdict: 'allow', risk: 'low', by: [] }
const reject: Result = { kind: 'decided', verdict: 'reject', risk: 'low', by: [] }
const invalid: Result = { kind: 'refused' }
const team = review('medium', { team: 1 })

describe('the direction of a change', () => {
  it.each<[string, Result, Result, string | undefined]>([
    ['nothing', team, team, undefined],
    ['a review allowed', team, allow, 'loosens'],
    ['a review rejected, whatever its risk', review('critical', { team: 1 }), reject, 'tightens'],
    ['one approval fewer', review('medium', { team: 2 }), team, 'loosens'],
    ['one group more', team, review('medium', { team: 1, security: 1 }), 'tightens'],
    ['more time', team, review('medium', { team: 1 }, 8), 'loosens'],
    ['another group', team, review('medium', { interns: 1 }), 'changes'],
    [
      'fewer approvals and less time',
      review('medium', { team: 2 }),
      review('medium', { team: 1 }, 1),
      'changes',
    ],
    ['a lower risk with people of another level', review('high', { security: 1 }, 1), team, 'loosens'],
    [
      'a higher risk with fewer people',
      review('medium', { team: 2 }),
      review('high', { team: 1 }),
      'changes',
    ],
    ['a sign-in no longer asked for', signedIn, team, 'loosens'],
    ['a sign-in asked for', team, signedIn, 'tightens'],
    ['a sign-in for an approval', review('medium', { team: 2 }), signedIn, 'changes'],
    ['a sign-in as before', signedIn, signedIn, undefined],
    ['a lower risk of a reject', { ...reject, risk: 'high' }, reject, 'loosens'],
    ['an invalid payload allowed', invalid, allow, 'loosens'],
    ['a review invalid', team, invalid, 'tightens'],
    ['an invalid payload rejected', invalid, reject, 'changes'],
    ['invalid as before', invalid, invalid, undefined],
  ])('%s', (_, before, after, direction) => {
    expect(compareResults(before, after)).toBe(direction)
  })

  it('an escalation to more people, or earlier, is looser', () => {
    const escalated = (after_ms: number): Result =>
      ({
        ...team,
        requirement: {
          ...requirement({}),
          seats: [{ group: 'team', approvals: 1, escalate: [{ group: 'leads', after_ms }] }],
        },
      }) as Result
    expect(compareResults(team, escalated(HOUR_MS))).toBe('loosens')
    expect(compareResults(escalated(HOUR_MS), escalated(HOUR_MS / 2))).toBe('loosens')
    expect(compareResults(escalated(HOUR_MS), team)).toBe('tightens')
  })
})
