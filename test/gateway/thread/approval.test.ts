import { describe, expect, it } from 'vitest'
import { NEVER_FROZEN } from '../../../src/domain/freeze.ts'
import type { Thread, Vote } from '../../../src/domain/thread.ts'
import { approversOf } from '../../../src/gateway/thread/approvers.ts'
import type { AgentEntry, ReviewerEntry, Tenant } from '../../../src/policy/language/snapshot.ts'

const reviewer = (id: string, ...groups: string[]): [string, ReviewerEntry] => [
  id,
  { id, name: id, groups, roles: [] },
]
const bot = { id: 'bot', owners: ['olga'], preventSelfReview: true } as unknown as AgentEntry
const tenant: Tenant = {
  agents: new Map([['bot', bot]]),
  reviewers: new Map([reviewer('ann', 'desk'), reviewer('ben', 'desk'), reviewer('olga', 'desk')]),
}

const vote = (name: string, more: Partial<Vote> = {}): Vote => ({
  reviewer: name,
  decision: 'approve',
  revision: 1,
  at: 0,
  via: 'key',
  ...more,
})

/** Returns the reviewers whose approvals count, each with their groups. */
function counted(votes: readonly Vote[], interactive?: boolean): string[] {
  const seats = [{ group: 'desk', approvals: 1, escalate: [] }]
  const asked = interactive === undefined ? {} : { interactive }
  const requirement = { seats, expires_ms: 1, remind_after_ms: [], ...asked }
  const thread = { agent: 'bot', revision: 1, requirement, votes } as unknown as Thread
  return approversOf(tenant, thread, NEVER_FROZEN).map(({ id, groups }) => `${id}: ${groups.join(' ')}`)
}

describe('the approvals that count towards a quorum', () => {
  it('belong to the current revision and to reviewers in the directory who do not own the agent', () => {
    const votes = [
      vote('ann'),
      vote('ben', { revision: 0 }),
      vote('olga'),
      vote('nobody'),
      vote('ben', { decision: 'reject' }),
    ]
    expect(counted(votes)).toEqual(['ann: desk'])
    expect(counted(votes, false)).toEqual(['ann: desk'])
  })

  it('only approvals in a session count when the level requires signing in', () => {
    const votes = [vote('ann', { via: 'key' }), vote('ben', { via: 'link' })]
    expect(counted(votes)).toEqual(['ann: desk', 'ben: desk'])
    expect(counted(votes, true)).toEqual(['ben: desk'])
    expect(counted([vote('ann', { via: 'oidc' })], true)).toEqual(['ann: desk'])
  })

  it('approvals count by the groups that an identity provider vouches for, only for reviewers in the directory', () => {
    const votes = [
      vote('ann', { via: 'oidc', groups: ['leads'] }),
      vote('ben', { via: 'oidc', groups: [] }),
      vote('nobody', { via: 'oidc', groups: ['desk'] }),
    ]
    expect(counted(votes)).toEqual(['ann: leads', 'ben: '])
  })
})
