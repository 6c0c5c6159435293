import type { ReviewRequirement } from '../../domain/decision.ts'
import { type Freezes, isReviewerFrozen, isVoidVote } from '../../domain/freeze.ts'
import { isSignIn } from '../../domain/session.ts'
import { quorum } from '../../domain/quorum.ts'
import { currentVotes, type Thread } from '../../domain/thread.ts'
import { folded } from '../../domain/subject.ts'
import { type ReviewerEntry, type Tenant, withVouched } from '../../policy/language/snapshot.ts'

/**
 * The reviewers whose approvals of the current revision still count: they are in the directory, and do not own the
 * agent. A freeze since the vote voids the vote. The reviewers' groups come from the directory, or from the identity
 * provider at sign-in.
 */
export function approversOf(tenant: Tenant | undefined, thread: Thread, freezes: Freezes): ReviewerEntry[] {
  const { interactive = false, require_displayed = false } = thread.requirement
  return currentVotes(thread)
    .filter((vote) => vote.decision === 'approve' && !isOwner(tenant, thread, vote.reviewer))
    .filter((vote) => !isVoidVote(freezes, vote))
    .filter((vote) => !interactive || isSignIn(vote.via))
    .filter((vote) => !require_displayed || vote.displayed === true)
    .flatMap(({ reviewer, groups }) => {
      const entry = tenant?.reviewers.get(reviewer)
      return entry === undefined || isSubject(tenant, thread, entry)
        ? []
        : [groups === undefined ? entry : withVouched(entry, groups)]
    })
}

/**
 * True for the person for whom the agent says it works, by id or mail. A claim can only tighten: the person cannot
 * approve, but may reject.
 */
export function isSubject(
  tenant: Tenant | undefined,
  { agent, subjects = [] }: Thread,
  { id, email }: ReviewerEntry,
): boolean {
  if (subjects.length === 0 || tenant?.agents.get(agent)?.preventSelfReview === false) return false
  return [id, email].some((name) => name !== undefined && subjects.includes(folded(name)))
}

/**
 * True for an owner of the thread's agent. Owners never vote, unless the directory allows it for that agent
 * (docs/review-api.md).
 */
export function isOwner(tenant: Tenant | undefined, thread: Thread, reviewer: string): boolean {
  const agent = tenant?.agents.get(thread.agent)
  return agent !== undefined && agent.preventSelfReview && agent.owners.includes(reviewer)
}

/** True when reviewers of the tenant can fill every seat, now or after escalations. */
export function isFillable(
  tenant: Tenant | undefined,
  thread: Thread,
  { requirement, freezes }: { readonly requirement: ReviewRequirement; readonly freezes: Freezes },
): boolean {
  const able = [...(tenant?.reviewers.values() ?? [])].filter(
    (one) =>
      !isOwner(tenant, thread, one.id) &&
      !isSubject(tenant, thread, one) &&
      !isReviewerFrozen(freezes, one.id),
  )
  return quorum(requirement, able, Infinity).met
}

/** The remedy where no reviewers can fill the seats. */
export const NOT_FILLABLE = 'which no reviewers can fill: the agent withdraws the call and submits it again'
