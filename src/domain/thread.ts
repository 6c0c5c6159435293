import type { FirstBecause } from './because.ts'
import type { ReviewRequirement, Risk } from './decision.ts'
import type { Ended } from './outcome.ts'
import type { Heading } from './heading.ts'

/** The head record of a thread. Each revision has its own record, so that a poll reads little. */
export interface Thread {
  readonly thread_id: string
  readonly tenant: string
  readonly agent: string
  readonly task_id: string
  readonly tool: string
  /** The version of the protocol, fixed when the thread opens: V2 when the first request had an action_hash. */
  readonly path: 'v1' | 'v2'
  readonly status: ThreadStatus
  readonly created_at: number
  /** Shortened subject, for lists. */
  readonly title?: string
  /** The random key of the tags in place of sensitive values. */
  readonly tag_key: string
  /** The heading of the current revision. */
  readonly heading: Heading
  /** The first value that made the rule fire that set the risk; absent without one. */
  readonly because?: FirstBecause
  /** Digest of the rules that fired, for lists of calls that are alike. */
  readonly rules_digest: string
  /** The agent's names for its workflow and its task. */
  readonly workflow?: string
  readonly label?: string
  /** True when an equal call was already waiting when this call arrived. In that case, chats are not notified. */
  readonly repeats?: true
  /** The number of events sent to destinations. */
  readonly sequence?: number
  /** Number of the current revision, from 1, and its time of submission. */
  readonly revision: number
  readonly submitted_at: number
  /** Digest of everything that a reviewer sees of the current revision; votes are bound to it. */
  readonly digest: string
  readonly payload_digest: string
  readonly action_hash?: string
  readonly risk: Risk
  readonly policy_risk: Risk
  /** The reasons of the deciding rules, or, once closed, the comments of the reviewers. */
  readonly message: string
  readonly requirement: ReviewRequirement
  /** The last time when policy asked for more than before, since the current revision. */
  readonly raised?: Raised
  /** The subjects that the agent named in any revision, folded (src/domain/subject.ts). */
  readonly subjects?: readonly string[]
  readonly votes: readonly Vote[]
  /** The time when a waiting thread or an uncollected approval is rejected as expired, ms since 1970. */
  readonly deadline?: number
  /** Reminders and escalations already announced for the current revision, by the `key` of their `Announcement`. */
  readonly announced: readonly string[]
  readonly revision_ids: readonly string[]
  readonly claim?: Claim
  /** The time when the thread ended without a reviewer. */
  readonly ended_at?: number
  /** The last question of the agent that was written, and the usual time between two questions, in ms. */
  readonly asked_at?: number
  readonly asks_every_ms?: number
  /** The agent stopped waiting: the time when the thread is withdrawn, unless the agent reads its decision before. */
  readonly left_until?: number
  /** The time when the agent withdrew the thread. */
  readonly withdrawn_at?: number
  readonly approval?: Approval
  /** How the call ended, as its agent said. */
  readonly ended?: readonly Ended[]
  /** The charges of the approval to limits; absent without charges, or after their reversal. */
  readonly charges?: readonly LimitCharge[]
  /** The time of the timer's next check; absent when time alone cannot change the thread. */
  readonly due_at?: number
  /** Epoch of the tenant's freezes when the thread opened; absent when the tenant had never had a freeze. */
  readonly freeze_epoch?: number
  /** W3C trace context of the request that opened the thread; traces of later acts link to it. */
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
  /** How the reviewer was identified: `key` for an API key, `link` or `oidc` for a session. */
  readonly via: 'key' | 'link' | 'oidc' | 'slack'
  /** Groups that the identity provider reported at sign-in; absent when the groups come from the directory. */
  readonly groups?: readonly string[]
  /** True when the reviewer's page said what it displayed. */
  readonly displayed?: true
  /** How long the call was on the reviewer's screen, ms; absent when no page said it. */
  readonly ms?: number
  /** Epoch of the store at the vote. */
  readonly epoch?: string
  /** Epoch of the tenant's freezes at the vote; absent when the tenant had never had a freeze. */
  readonly freeze_epoch?: number
}

/** A later bundle asked for more reviewers than the requirement so far. */
export interface Raised {
  /** ms since 1970. */
  readonly at: number
  /** The bundle revision that asked. */
  readonly policy: string
  /** The number of votes that were cast before. */
  readonly votes: number
  /** The added seats: `two of security-leads`. */
  readonly asks: string
}

/** A reviewer's claim on the thread. A claim only informs other reviewers, and expires. */
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
  /**
   * Epoch of the store at the approval. In a later epoch, the store may have lost the record that the approval was
   * used.
   */
  readonly epoch: string
  /** The rules that approved the call without a reviewer; absent for an approval by reviewers. */
  readonly rules?: readonly string[]
  /** The reviewers of each seat, in the order of the requirement; absent for an approval by rules. */
  readonly seated?: readonly (readonly string[])[]
  /** The time when the agent first read the approval. */
  readonly collected_at?: number
  /** SHA-256 of the proof; absent when the agent uses unsigned approvals. */
  readonly token_hash?: string
  readonly token_expires_at?: number
  readonly redeemed_at?: number
  /** How often a new proof replaced a lost one; absent for never. */
  readonly reissued?: number
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
  | 'reissue'
  | 'redeem'
  | 'revoke'
  | 'freeze'
  | 'withdraw'
  | 'raise'

/** All possible transitions of a thread (docs/agent-api.md, docs/review-api.md). */
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
    raise: 'pending_review',
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
    reissue: 'approved',
    redeem: 'approved',
    vote_reject: 'rejected',
    expire: 'rejected',
    revoke: 'rejected',
    freeze: 'rejected',
    withdraw: 'rejected',
    raise: 'pending_review',
  },
  rejected: {},
}

/** The status after `trigger`, or undefined when the trigger is not possible in `status`. */
export function transition(status: ThreadStatus, trigger: ThreadTrigger): ThreadStatus | undefined {
  return TRANSITIONS[status][trigger]
}

/** True while the thread can still let an agent act. False once the thread is rejected, or its approval is redeemed. */
export function canEnd({ status, approval }: Thread): boolean {
  return transition(status, 'freeze') !== undefined && approval?.redeemed_at === undefined
}

/**
 * True when the agent may have acted on the approval. An approval without a proof counts as used once the agent has
 * read it.
 */
export function isUsed({ collected_at, token_hash, redeemed_at }: Approval): boolean {
  return redeemed_at !== undefined || (collected_at !== undefined && token_hash === undefined)
}

/**
 * The time since which no agent, reviewer or timer can change the thread, ms since 1970. Undefined while it may change.
 * A collected approval can change until its proof expires.
 */
export function overSince(thread: Thread): number | undefined {
  const { status, approval, ended_at = 0, submitted_at, votes } = thread
  if (status === 'rejected') return Math.max(ended_at, submitted_at, ...votes.map(({ at }) => at))
  if (status !== 'approved' || approval?.collected_at === undefined) return undefined
  const { redeemed_at, token_expires_at, collected_at } = approval
  return redeemed_at ?? token_expires_at ?? collected_at
}

/** Votes on the current revision, of each reviewer the last. Only these votes count. */
export function currentVotes(thread: Thread): Vote[] {
  const votes = thread.votes.filter((vote) => vote.revision === thread.revision)
  return votes.filter((vote, i) => !votes.slice(i + 1).some(({ reviewer }) => reviewer === vote.reviewer))
}

/**
 * True when time alone has ended the thread: a waiting thread, or an uncollected approval. A collected approval ends
 * only when its proof expires.
 */
export function isExpired(thread: Thread, now: number): boolean {
  if (thread.deadline === undefined || now < thread.deadline) return false
  return transition(thread.status, 'expire') !== undefined && thread.approval?.collected_at === undefined
}

/** True when the agent stopped waiting for the thread and did not return in time. */
export function isAbandoned(thread: Thread, now: number): boolean {
  if (thread.left_until === undefined || now < thread.left_until) return false
  return transition(thread.status, 'withdraw') !== undefined && thread.approval?.collected_at === undefined
}

/** The first due reminder or escalation of the current revision that was not announced yet. */
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

/** Future reminders and escalations that were not announced yet. */
export function upcomingAnnouncements(thread: Thread): Announcement[] {
  return announcements(thread).filter((one) => !thread.announced.includes(one.key))
}

/** The time by which the thread needs a vote: its next escalation or its end, ms since 1970. */
export function urgentAt(thread: Thread): number {
  const escalations = upcomingAnnouncements(thread).filter(({ kind }) => kind === 'escalation')
  const moments = escalations.map(({ at }) => at)
  return Math.min(thread.deadline ?? Number.MAX_SAFE_INTEGER, ...moments)
}

/** The claim in force. A decided thread has no claim. */
export function claimOf(thread: Thread, now: number): Claim | undefined {
  const waits = transition(thread.status, 'vote_counted') !== undefined
  return waits && thread.claim !== undefined && now < thread.claim.expires_at ? thread.claim : undefined
}

/** Time of the thread's last change: a revision, a vote, its end, or a use of its approval. */
export function changedAt({ submitted_at, votes, approval, ended_at }: Thread): number {
  const used = [approval?.collected_at ?? 0, approval?.redeemed_at ?? 0]
  return Math.max(submitted_at, ended_at ?? 0, ...used, ...votes.map((vote) => vote.at))
}

/** The time of the timer's next check of the thread (ms since 1970), or undefined for never. */
export function nextDue(thread: Thread): number | undefined {
  const waiting =
    transition(thread.status, 'expire') !== undefined && thread.approval?.collected_at === undefined
  const moments = upcomingAnnouncements(thread).map((one) => one.at)
  if (waiting && thread.deadline !== undefined) moments.push(thread.deadline)
  if (waiting && thread.left_until !== undefined) moments.push(thread.left_until)
  return moments.length > 0 ? Math.min(...moments) : undefined
}

/** Suggested seconds until the next poll: few for a young thread, many for an old thread. */
export function pollAfterSeconds(age: number): number {
  const minutes = age / 60_000
  if (minutes < 1) return 2
  if (minutes < 10) return 5
  return minutes < 60 ? 15 : 60
}

/** The times of the filter `expires_within`, ms. */
export const WITHIN_MS = { '15m': 15 * 60_000, '1h': 60 * 60_000, '4h': 4 * 60 * 60_000 } as const
