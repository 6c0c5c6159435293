/**
 * Holds: pure rules, never async: thread states, quorum, tokens, digests, Merkle trees.
 * Imports: contract.
 * Start: thread.ts, then quorum.ts.
 */
import type { ReviewRequirement, Risk } from './decision.ts'
import type { Heading } from './heading.ts'

/** A review thread: its head record. What was proposed lies in one record per revision, so that a poll reads little. */
export interface Thread {
  readonly thread_id: string
  readonly tenant: string
  readonly agent: string
  readonly task_id: string
  readonly tool: string
  /** Fixed at birth: V2 when the first request carried an action_hash. */
  readonly path: 'v1' | 'v2'
  readonly status: ThreadStatus
  readonly created_at: number
  /** Shortened subject, for lists. */
  readonly title?: string
  /** What the current revision does, in one line; absent in a thread of before this was kept. */
  readonly heading?: Heading
  /** What the agent calls its workflow and its task. */
  readonly workflow?: string
  readonly label?: string
  /** An equal call waited already when this one came: chats are not told of it. */
  readonly repeats?: true
  /** How many events destinations were told of. */
  readonly sequence?: number
  /** Number of the current revision, from 1, and when it was submitted. */
  readonly revision: number
  readonly submitted_at: number
  /** Digest of everything a reviewer is shown of the current revision; votes are bound to it. */
  readonly digest: string
  readonly payload_digest: string
  readonly action_hash?: string
  readonly risk: Risk
  readonly policy_risk: Risk
  /** The reasons of the deciding rules, or, once closed, what the reviewers said. */
  readonly message: string
  readonly requirement: ReviewRequirement
  readonly votes: readonly Vote[]
  /** Waiting threads are rejected at this moment; an approval not collected by then is too. */
  readonly deadline?: number
  /** Reminders and escalations already announced for the current revision, by the `key` of their `Announcement`. */
  readonly announced: readonly string[]
  readonly revision_ids: readonly string[]
  readonly claim?: Claim
  /** When the thread ended without a person. */
  readonly ended_at?: number
  /** When its agent withdrew it. */
  readonly withdrawn_at?: number
  readonly approval?: Approval
  /** What the approval charges to limits; absent when that is nothing, and once it was taken back. */
  readonly charges?: readonly LimitCharge[]
  /** When the timer has to look at the thread next; absent when nothing can happen by time alone. */
  readonly due_at?: number
  /** Of the tenant's freezes when the thread was opened; absent when nothing had ever been frozen. */
  readonly freeze_epoch?: number
  /** W3C trace context of the request that opened the thread: what is done to the thread later refers to it. */
  readonly traceparent?: string
  readonly tracestate?: string
}

export type ThreadStatus = 'pending_review' | 'changes_requested' | 'approved' | 'rejected'

export interface Vote {
  readonly reviewer: string
  readonly decision: 'approve' | 'reject' | 'request_changes'
  readonly revision: number
  readonly comment?: string
  readonly at: number
  /** How the reviewer proved who it was: `key` for an API key, `link` or `oidc` for a session. */
  readonly via: 'key' | 'link' | 'oidc'
  /** As the identity provider said at sign-in; absent when the directory says it. */
  readonly groups?: readonly string[]
  /** Of the store when it was cast. */
  readonly epoch?: string
}

/** Who looks at the thread: a courtesy among reviewers that ends by itself. */
export interface Claim {
  readonly reviewer: string
  readonly expires_at: number
}

export interface LimitCharge {
  /** The counter's name. */
  readonly limit: string
  readonly window_ms: number
  readonly amount: number
}

export interface Approval {
  readonly at: number
  /** Of the store when it was given: an approval of another epoch may have been used, and the store forgot it. */
  readonly epoch: string
  /** Who filled which seat, in the order of the requirement; absent in a thread of before this was kept. */
  readonly seated?: readonly (readonly string[])[]
  /** When the agent first read it. */
  readonly collected_at?: number
  /** SHA-256 of the token; absent where the agent uses unsigned approvals. */
  readonly token_hash?: string
  readonly token_expires_at?: number
  readonly redeemed_at?: number
}

export type ThreadTrigger =
  | 'vote_counted'
  | 'quorum_met'
  | 'vote_reject'
  | 'vote_changes'
  | 'revise'
  | 'revise_rejected'
  | 'expire'
  | 'collect'
  | 'redeem'
  | 'revoke'
  | 'freeze'
  | 'withdraw'

/** The whole life of a thread. What is not in the table cannot happen (docs/agent-api.md, docs/review-api.md). */
export const TRANSITIONS: Record<ThreadStatus, Partial<Record<ThreadTrigger, ThreadStatus>>> = {
  pending_review: {
    vote_counted: 'pending_review',
    quorum_met: 'approved',
    vote_reject: 'rejected',
    vote_changes: 'changes_requested',
    revise: 'pending_review',
    revise_rejected: 'rejected',
    expire: 'rejected',
    freeze: 'rejected',
    withdraw: 'rejected',
  },
  changes_requested: {
    revise: 'pending_review',
    revise_rejected: 'rejected',
    expire: 'rejected',
    freeze: 'rejected',
    withdraw: 'rejected',
  },
  approved: {
    collect: 'approved',
    redeem: 'approved',
    expire: 'rejected',
    revoke: 'rejected',
    freeze: 'rejected',
    withdraw: 'rejected',
  },
  rejected: {},
}

/** The status after `trigger`, or undefined when the trigger is not possible in `status`. */
export function transition(status: ThreadStatus, trigger: ThreadTrigger): ThreadStatus | undefined {
  return TRANSITIONS[status][trigger]
}

/** Can the thread still let an agent act? Not once it is rejected, and not once its approval was redeemed. */
export function canEnd({ status, approval }: Thread): boolean {
  return transition(status, 'freeze') !== undefined && approval?.redeemed_at === undefined
}

/** May the agent have acted on it? Nothing says so of an approval without a token, so it counts as used once it was read. */
export function isUsed({ collected_at, token_hash, redeemed_at }: Approval): boolean {
  return redeemed_at !== undefined || (collected_at !== undefined && token_hash === undefined)
}

/** Votes that count: those on the current revision. */
export function currentVotes(thread: Thread): Vote[] {
  return thread.votes.filter((vote) => vote.revision === thread.revision)
}

/** Time alone ends a waiting thread, and an approval that nobody collected. A collected approval is ended by its token's expiry only. */
export function isExpired(thread: Thread, now: number): boolean {
  if (thread.deadline === undefined || now < thread.deadline) return false
  return transition(thread.status, 'expire') !== undefined && thread.approval?.collected_at === undefined
}

/** The first reminder or escalation of the current revision that has come due and was not announced yet. */
export function dueAnnouncement(thread: Thread, now: number): Announcement | undefined {
  return upcomingAnnouncements(thread).find((one) => now >= one.at)
}

export interface Announcement {
  readonly key: string
  readonly kind: 'reminder' | 'escalation'
  readonly at: number
  /** The group that may fill the seat from now on. */
  readonly group?: string
}

function announcements(thread: Thread): Announcement[] {
  if (thread.status !== 'pending_review') return []
  const { remind_after_ms, seats } = thread.requirement
  const reminders = remind_after_ms.map((ms): Announcement => ({
    key: `remind:${ms}`,
    kind: 'reminder',
    at: thread.submitted_at + ms,
  }))
  const escalations = seats.flatMap((seat) =>
    seat.escalate.map((one): Announcement => ({
      key: `escalate:${seat.group}:${one.group}:${one.after_ms}`,
      kind: 'escalation',
      at: thread.submitted_at + one.after_ms,
      group: one.group,
    })),
  )
  return [...reminders, ...escalations].sort((a, b) => a.at - b.at || (a.key < b.key ? -1 : 1))
}

/** What will happen by time alone, and has not been announced. */
export function upcomingAnnouncements(thread: Thread): Announcement[] {
  return announcements(thread).filter((one) => !thread.announced.includes(one.key))
}

/** The claim that holds now. Nobody looks at what is decided. */
export function claimOf(thread: Thread, now: number): Claim | undefined {
  const waits = transition(thread.status, 'vote_counted') !== undefined
  return waits && thread.claim !== undefined && now < thread.claim.expires_at ? thread.claim : undefined
}

/** When something last happened to the thread: a revision, a vote, its end, or a use of its approval. */
export function changedAt({ submitted_at, votes, approval, ended_at }: Thread): number {
  const used = [approval?.collected_at ?? 0, approval?.redeemed_at ?? 0]
  return Math.max(submitted_at, ended_at ?? 0, ...used, ...votes.map((vote) => vote.at))
}

/** When the timer must look at the thread next (ms since 1970), or undefined when never. */
export function nextDue(thread: Thread): number | undefined {
  const waiting =
    transition(thread.status, 'expire') !== undefined && thread.approval?.collected_at === undefined
  const moments = upcomingAnnouncements(thread).map((one) => one.at)
  if (waiting && thread.deadline !== undefined) moments.push(thread.deadline)
  return moments.length > 0 ? Math.min(...moments) : undefined
}

/** Advice for the next poll in seconds: soon for a young thread, seldom for an old one. */
export function pollAfterSeconds(age: number): number {
  const minutes = age / 60_000
  if (minutes < 1) return 2
  if (minutes < 10) return 5
  return minutes < 60 ? 15 : 60
}
