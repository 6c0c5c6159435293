import type { JsonObject } from '../../contract/json.ts'
import type { ReviewRequirement, Risk } from '../../domain/decision.ts'
import { type Freezes, freezeSince, isVoidVote, NEVER_FROZEN } from '../../domain/freeze.ts'
import { type LegalHold, type LegalHolds, NO_LEGAL_HOLDS } from '../../domain/legal-hold.ts'
import { isSignIn } from '../../domain/session.ts'
import { type ThreadStatus, type ThreadTrigger, transition } from '../../domain/thread.ts'
import type { ReadEvent } from '../record/read-event.ts'
import { requireThat, textOf } from '../record/require.ts'
import type { Vouched, Voter } from './requirement.ts'
import type { RuleVerdicts } from './verdict.ts'

/** The key of a holder, and the previous key during an overlap. */
export interface LedgerKeys {
  readonly hash: string
  readonly old?: { readonly hash: string; readonly until: number }
}

/** The state of one tenant after its records so far, limited to the parts that the laws need. */
export interface Ledger {
  readonly threads: Map<string, LedgerThread>
  /** Holders of a key in force, as `agent:bot`, with the key. */
  readonly keys: Map<string, LedgerKeys>
  /** Unused links, by their SHA-256. */
  readonly links: Map<string, LedgerLink>
  /** Open sessions, by their SHA-256, and linked accounts, by their names. */
  readonly sessions: Map<string, LedgerSession>
  /** Sessions of each reviewer, and of each reviewer with each way to sign in, as `["ann"]` and `["ann","oidc"]`. */
  readonly signedIn: Map<string, SignedIn>
  /** All webhooks that ever existed, by id. */
  readonly webhooks: Map<string, LedgerWebhook>
  /** Settled deliveries. The value is true until the delivery is redelivered. */
  readonly settled: Map<string, boolean>
  /** The SHA-256 of all keys, links, sessions and proofs: each is random, and is issued only once. */
  readonly drawn: Set<string>
  /**
   * Threads with a violated law, on which later records depend, and actors without a credential, as `agent:bot`. Each
   * of these is reported only once.
   */
  readonly broken: Set<string>
  readonly ruled: RuleVerdicts
  /** Allowed calls whose outcome policy expects, by the number of their record, until it is known. */
  readonly expected: Map<number, { readonly agent: string; readonly task: string; readonly tool: string }>
  freezes: Freezes
  /** The number up to which disclosures expired. */
  expired: number
  /** The numbers of records whose loss was accepted, as pairs of first and last. */
  readonly lost: [first: number, last: number][]
  legalHolds: LegalHolds<LedgerLegalHold>
  /** The number of the last log that was started. */
  log: number
  /** The number of records so far. */
  records: number
  /** The previous record. */
  last?: ReadEvent<JsonObject>
  /** The record that must be next, because the commit of the previous record wrote it as well. */
  due?: Due
  /** The number of calls that were decided immediately. */
  allowed: number
  rejected: number
  /** Votes with a display, by whether the export has what their digest covers. */
  displays: { readonly checked: number; readonly unchecked: number }
}

export interface LedgerLegalHold extends LegalHold {
  /** The number of records before it. */
  readonly after: number
}

export interface LedgerLink {
  readonly reviewer: string
  readonly expires_at: number
}

export interface LedgerSession {
  readonly reviewer: string
  readonly via: string
  readonly groups: Vouched
}

export interface SignedIn {
  readonly open: number
  /** The number of such sessions for each set of groups. */
  readonly groups: Map<Vouched, number>
  /** The time when the last of these sessions would expire, ms since 1970, even if it has already ended. */
  readonly until: number
}

export interface LedgerWebhook {
  readonly gone: boolean
  readonly pings: number
  /** The settled deliveries of events without a thread, by event. A redelivered delivery counts once. */
  readonly announced: ReadonlyMap<string, number>
}

export interface Due {
  readonly type: ReadEvent['type']
  readonly thread: string
}

/** A thread after its records so far. Verbs guard this state, so later records must be consistent with it. */
export interface LedgerThread {
  readonly agent: string
  readonly task: string
  readonly tool: string
  readonly freeze_epoch: number
  /** True when the thread was opened with an action hash. In that case, every revision has an action hash. */
  readonly hashed: boolean
  /** ms since 1970. */
  readonly opened_at: number
  /** The number of the last record that needed the thread in the store. */
  seen_at?: number
  status: ThreadStatus
  risk: Risk
  revision: number
  submitted_at: number
  requirement: ReviewRequirement
  /** The bundle and the heading template of the current revision. */
  shown: { readonly bundle: string; readonly template?: string }
  /** Votes on the current revision, in the order they were cast. */
  votes: readonly LedgerVote[]
  /** Digests that voters of earlier revisions saw. Each revision has its own nonce, so no digest repeats. */
  seen: readonly string[]
  /** Reminders and escalations of the current revision. */
  announced: readonly string[]
  /** The reviewer who claimed the thread. The claim may have expired. */
  claimed?: string | undefined
  /** Events of the thread that webhooks may have received. */
  happened: readonly string[]
  approval?: LedgerApproval
}

export interface LedgerVote extends Voter {
  /** Epoch of the freezes at the vote. */
  readonly freeze_epoch: number
  readonly decision: string
  readonly digest: string
  readonly via: string
  readonly displayed: boolean
  /** True for a vote of before a raise: its reviewer may vote again. */
  readonly raised?: true
}

export interface LedgerApproval {
  readonly at: number
  readonly collected?: true
  readonly token?: LedgerToken
  readonly redeemed?: true
  /** The number of the record by which the call may run; 0 once its outcome is known. */
  readonly ran?: number
  readonly released?: true
}

export interface LedgerToken {
  readonly hash: string
  readonly expires_at: number
  /** The agent's key when the proof was minted. */
  readonly key: string | undefined
  /** How often a new proof replaced a lost one. */
  readonly reissued?: number
}

export function emptyLedger(): Ledger {
  return {
    threads: new Map(),
    keys: new Map(),
    links: new Map(),
    sessions: new Map(),
    signedIn: new Map(),
    webhooks: new Map(),
    settled: new Map(),
    drawn: new Set(),
    broken: new Set(),
    ruled: new Map(),
    expected: new Map(),
    freezes: NEVER_FROZEN,
    expired: 0,
    lost: [],
    legalHolds: NO_LEGAL_HOLDS,
    log: 1,
    records: 0,
    allowed: 0,
    rejected: 0,
    displays: { checked: 0, unchecked: 0 },
  }
}

/** The name in `Ledger.signedIn` of a reviewer, and of a reviewer with a way to sign in. */
export const wayOf = (...names: readonly string[]): string => JSON.stringify(names)

/** Votes on the current revision that no freeze of their reviewer has voided. */
export const standingVotes = ({ freezes }: Ledger, { votes }: LedgerThread): LedgerVote[] =>
  votes.filter((vote) => !isVoidVote(freezes, vote))

/** The votes that count under the requirement, which may ask for more than when they were cast. */
export function countedVotes(ledger: Ledger, thread: LedgerThread): LedgerVote[] {
  const { interactive, require_displayed } = thread.requirement
  return standingVotes(ledger, thread)
    .filter(({ via }) => interactive !== true || isSignIn(via))
    .filter(({ displayed }) => require_displayed !== true || displayed)
}

/** The actor's key for the record: the key that the record names, or the only key. */
export function keyHeld({ keys }: Ledger, { actor: { kind, id, key } }: ReadEvent): string | undefined {
  const { hash, old } = keys.get(`${kind}:${id}`) ?? {}
  return key !== undefined && old?.hash.startsWith(key) === true ? old.hash : hash
}

/** The record's thread. Requires the thread's task, its tool and an existing revision. @throws LawBroken */
export function threadOf(ledger: Ledger, record: ReadEvent): LedgerThread {
  const thread = ledger.threads.get(textOf(record.thread, 'thread_id'))
  requireThat(thread !== undefined, 'its thread was never opened')
  requireThat(record.task === thread.task, 'its thread belongs to another task')
  requireThat(record.tool === thread.tool, 'its thread is about another tool')
  const { revision = 0 } = record
  requireThat(revision >= 1 && revision <= thread.revision, `its thread has no revision ${revision}`)
  return thread
}

/** Requires the same for an act on the current revision. @throws LawBroken */
export function currentThread(ledger: Ledger, record: ReadEvent): LedgerThread {
  const thread = threadOf(ledger, record)
  requireThat(
    record.revision === thread.revision,
    `its thread was at revision ${thread.revision} at that time`,
  )
  return thread
}

/** True when a freeze has permanently cancelled the thread. */
export function isFrozenSince({ freezes }: Ledger, thread: LedgerThread): boolean {
  return freezeSince(freezes, thread) !== undefined
}

/** Moves the thread according to the domain's table of transitions. @throws LawBroken for an impossible move */
export function move(thread: LedgerThread, trigger: ThreadTrigger): void {
  const status = transition(thread.status, trigger)
  requireThat(status !== undefined, `its thread was ${thread.status} at that time`)
  thread.status = status
  // no law needs the votes of an ended thread, and there may be millions of such threads
  if (status === 'rejected' || trigger === 'redeem') thread.votes = NO_VOTES
}

const NO_VOTES: readonly LedgerVote[] = []

/** Requires the thread's own agent as the actor. @throws LawBroken */
export function requireAgent({ agent }: LedgerThread, { actor }: ReadEvent): void {
  requireThat(actor.kind === 'agent' && actor.id === agent, `its thread belongs to agent \`${agent}\``)
}

/** Requires the hash of a random value to be new. @throws LawBroken */
export function requireFresh({ drawn }: Ledger, hash: string, what: string): void {
  requireThat(!drawn.has(hash), `this ${what} appeared before`)
  drawn.add(hash)
}

/** Maximum difference between the clocks of instances. */
export const CLOCK_SKEW_MS = 1_000

/** The time when a waiting thread or an uncollected approval expires, ms since 1970. */
export function deadlineOf({ approval, submitted_at, requirement }: LedgerThread): number {
  const { expires_ms, working_ms = expires_ms } = requirement
  return approval === undefined ? submitted_at + expires_ms : approval.at + working_ms
}

/** Requires an act before the deadline, because expiry always rejects. @throws LawBroken */
export function requireInTime(thread: LedgerThread, { at }: ReadEvent): void {
  requireThat(at < deadlineOf(thread) + CLOCK_SKEW_MS, 'its thread had expired')
}

/** The proof in force, or the last one. @throws LawBroken */
export function tokenOf({ approval }: LedgerThread): LedgerToken {
  const token = approval?.token
  requireThat(token !== undefined, 'its token was never minted')
  return token
}
