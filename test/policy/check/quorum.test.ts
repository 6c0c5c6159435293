import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { quorum } from '../../../src/domain/quorum.ts'
import { fillable } from '../../../src/policy/check/quorum.ts'
import type { AgentEntry, ReviewerEntry, Tenant } from '../../../src/policy/language/snapshot.ts'
import { people, requirement } from '../../domain/arbitraries.ts'
import { runs } from '../../runs.ts'

/** `fillable` looks at few reviewers of a tenant. Its answer equals the answer of a search through all of them. */

const reviewers = people.map((some) =>
  some.map((person): ReviewerEntry => ({ ...person, name: person.id, roles: [] })),
)

const agentOf = (owners: readonly string[], preventSelfReview: boolean): AgentEntry => ({
  id: 'bot',
  owners,
  tools: ['*'],
  signedApprovals: true,
  tokenTtlMs: 1,
  preventSelfReview,
})

const tenantOf = (some: readonly ReviewerEntry[]): Tenant => ({
  agents: new Map(),
  reviewers: new Map(some.map((person) => [person.id, person])),
})

describe('the seats that can be filled for an agent', () => {
  it('the seats are filled by its reviewers without its owners, whatever agents were checked before', () => {
    const ownersOf = fc.array(fc.tuple(fc.nat(20), fc.nat(20)), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(requirement, reviewers, ownersOf, fc.boolean(), (required, some, picks, prevents) => {
        const tenant = tenantOf(some)
        const canBeFilled = fillable(required, tenant)
        const all = [...tenant.reviewers.values()]
        for (const pick of picks) {
          const owners = pick.flatMap((index) => all[index % (all.length + 1)]?.id ?? [])
          const left = all.filter(({ id }) => !prevents || !owners.includes(id))
          const expected = quorum(required, left, Infinity).met
          expect(canBeFilled(agentOf(owners, prevents))).toBe(expected)
        }
        expect(canBeFilled(undefined)).toBe(quorum(required, all, Infinity).met)
      }),
      { numRuns: runs(3_000) },
    )
  })

  it('the seats are found among as many reviewers as there are seats and owners', () => {
    const looked = new Set<string>()
    const person = (id: string): ReviewerEntry => ({
      id,
      name: id,
      roles: [],
      get groups() {
        looked.add(id)
        return ['leads']
      },
    })
    const tenant = tenantOf(Array.from({ length: 100 }, (_, index) => person(`r${index}`)))
    const seats = [{ group: 'leads', approvals: 2, escalate: [] }]
    const canBeFilled = fillable({ seats, expires_ms: 1, remind_after_ms: [], interactive: false }, tenant)
    looked.clear()
    expect(canBeFilled(agentOf(['r0', 'r1'], true))).toBe(true)
    expect([...looked]).toEqual(['r2', 'r3'])
  })
})
