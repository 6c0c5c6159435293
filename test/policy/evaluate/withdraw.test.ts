import { describe, expect, it } from 'vitest'
import { countWithdrawn, withdraw } from '../../../src/policy/evaluate/withdraw.ts'
import type { AgentEntry, Directory, ReviewerEntry, Tenant } from '../../../src/policy/language/snapshot.ts'

/** A newer directory takes away, and gives nothing. */

const reviewer = (id: string, more: Partial<ReviewerEntry> = {}): ReviewerEntry => ({
  id,
  name: id,
  groups: ['desk', 'leads'],
  roles: ['admin'],
  ...more,
})
const agent = (id: string, tools: readonly string[]): AgentEntry => ({
  id,
  owners: ['olga'],
  tools,
  signedApprovals: true,
  tokenTtlMs: 1,
  preventSelfReview: true,
})
const named = <T extends { readonly id: string }>(entries: readonly T[]): Map<string, T> =>
  new Map(entries.map((one) => [one.id, one]))
const directoryOf = (
  reviewers: readonly ReviewerEntry[],
  agents: readonly AgentEntry[] = [],
  groups: readonly (readonly [string, string])[] = [],
): Directory => ({
  tenants: new Map([['acme', { reviewers: named(reviewers), agents: named(agents) }]]),
  groups: new Map(groups),
})
const acme = ({ tenants }: Directory): Tenant => tenants.get('acme') as Tenant
const left = (before: ReviewerEntry, after: ReviewerEntry | undefined): ReviewerEntry | undefined =>
  acme(withdraw(directoryOf([before]), directoryOf(after ? [after] : []))).reviewers.get(before.id)

describe('a withdrawal', () => {
  it.each([
    ['is gone', undefined],
    ['has another name', reviewer('erin2')],
    ['has another address', reviewer('erin', { email: 'e@acme.example' })],
    ['has another subject', reviewer('erin', { subject: 's' })],
  ])('takes a reviewer who %s', (_, after) => {
    expect(left(reviewer('erin'), after)).toBeUndefined()
  })

  it('takes groups and roles, even from those of an identity provider, and gives none', () => {
    const after = reviewer('erin', { groups: ['leads', 'board'], roles: [] })
    expect(left(reviewer('erin'), after)).toMatchObject({ groups: ['leads'], roles: [], withdrawn: ['desk'] })
    const more = reviewer('erin', { groups: ['desk', 'leads', 'board'], name: 'Erin' })
    expect(left(reviewer('erin'), more)).toEqual(reviewer('erin'))
  })

  it('gives no reviewer, agent or tool that only the newer directory has', () => {
    const before = directoryOf([reviewer('ann')], [agent('bot', ['pay'])])
    const newer = directoryOf(
      [reviewer('ann'), reviewer('eve')],
      [agent('bot', ['pay', 'wire']), agent('spy', ['*'])],
    )
    expect(withdraw(before, newer)).toEqual(before)
  })

  it('restricts an agent to the tools of both directories', () => {
    const before = directoryOf([], [agent('bot', ['ledger.*'])])
    const newer = directoryOf([], [agent('bot', ['ledger.read', 'mail.*'])])
    expect(acme(withdraw(before, newer)).agents.get('bot')).toEqual({
      ...agent('bot', ['ledger.*']),
      within: ['ledger.read', 'mail.*'],
    })
  })

  it('takes everything of a tenant that is gone, and names of groups that changed', () => {
    const before = directoryOf([reviewer('ann')], [agent('bot', ['*'])], [['Desk', 'desk']])
    const rest = withdraw(before, { tenants: new Map(), groups: new Map([['Desk', 'board']]) })
    expect(rest).toEqual(directoryOf([]))
    expect(countWithdrawn(before, rest, 'reviewers')).toEqual({ withdrawn: 1, all: 1 })
    expect(countWithdrawn(before, rest, 'agents')).toEqual({ withdrawn: 1, all: 1 })
    expect(countWithdrawn(before, before, 'agents')).toEqual({ withdrawn: 0, all: 1 })
  })
})
