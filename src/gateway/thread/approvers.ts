import { type Freezes, isVoidVote } from '../../domain/freeze.ts'
import { currentVotes, type Thread } from '../../domain/thread.ts'
import { type ReviewerEntry, type Tenant, withVouched } from '../../policy/language/snapshot.ts'

/**
 * The reviewers whose approvals of the current revision still count: they are in the directory, and do not own the
 * agent. A freeze since the vote voids the vote. The reviewers' groups come from the directory, or from the identity
 * provider at sign-in.
 */
export function approversOf(tenant: Tenant | undefined, thread: Thread, freezes: Freezes): ReviewerEntry[] {
  const { interactive = false } = thread.requirement
  return currentVotes(thread)
    .filter((vote) => vote.decision === 'approve' && !isOwner(tenant, thread, vote.reviewer))
    .filter((vote) => !isVoidVote(freezes, vote))
    .filter((vote) => !interactive || vote.via !== 'key')
    .flatMap(({ reviewer, groups }) => {
      const entry = tenant?.reviewers.get(reviewer)
      return entry === undefined ? [] : [groups === undefined ? entry : withVouched(entry, groups)]
    })
}

/**
 * True for an owner of the thread's agent. Owners never vote, unless the directory allows it for that agent
 * (docs/review-api.md).
 */
export function isOwner(tenant: Tenant | undefined, thread: Thread, reviewer: string): boolean {
  const agent = tenant?.agents.get(thread.agent)
  return agent !== undefined && agent.preventSelfReview && agent.owners.includes(reviewer)
}
