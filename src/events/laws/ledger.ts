import type { ReviewRequirement, Risk } from '../../domain/decision.ts'
import { type Freezes, freezeSince, NEVER_FROZEN } from '../../domain/freeze.ts'
import { type ThreadStatus, type ThreadTrigger, transition } from '../../domain/thread.ts'
import type { ReadEvent } from '../read-event.ts'
import { requireThat, textOf } from '../require.ts'
import type { Vouched, Voter } from './requirement.ts'
import type { RuleVerdicts } from './verdict.ts'

/** The key of a holder, and the one before it while their overlap lasts. */
export interface LedgerKeys {
  readonly hash: string
  readonly old?: { readonly hash: string; readonly until: number }
}

/** The state of one tenant that follows from its records so far, as far as their laws need it. */
export interface Ledger {
  readonly threads: Map<string, LedgerThread>
  /** Who holds a key now, as `agent:bot`, and which. */
  readonly keys: Map<string, LedgerKeys>
  /** By the SHA-256 of links that nobody has used. */
  readonly links: Map<string, LedgerLink>
  /** By the SHA-256 of open sessions. */
  readonly sessions: Map<string, LedgerSession>
  /** Those of each reviewer, and those by each way, as `["ann"]` and `["ann","oidc"]`. */
  readonly signedIn: Map<string, SignedIn>
  /** Every webhook that there ever was, by its id. */
  readonly webhooks: Map<string, LedgerWebhook>
  /** Deliveries that came to their end, and whether nobody has asked for them again since. */
  readonly settled: Map<string, boolean>
  /** The SHA-256 of all keys, links, sessions and tokens: each is drawn by lot, and comes once. */
  readonly drawn: Set<string>
  /** Threads of which a record broke a law, because later ones rest on it; and who acted without a credential, as `agent:bot`. Each is told once. */
  readonly broken: Set<string>
  readonly ruled: RuleVerdicts
  freezes: Freezes
  /** The record before this one. */
  last?: ReadEvent
  /** What was written in the same commit as the record before, and so comes next. */
  due?: Due
  /** Calls decided at once. */
  allowed: number
  rejected: number
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
  /** How many of these sessions have which groups. */
  readonly groups: Map<Vouched, number>
  /** When the last of them is over by its lifetime, ms since 1970; perhaps of one that has ended. */
  readonly until: number
}

export interface LedgerWebhook {
  readonly gone: boolean
  readonly pings: number
  /** Of what belongs to no thread: deliveries that came to their end, by their event. One that was asked for again counts once. */
  readonly told: ReadonlyMap<string, number>
}

export interface Due {
  readonly type: ReadEvent['type']
  readonly thread: string
}

/** A thread as its records tell it: state that verbs guard, so that what follows must fit. */
export interface LedgerThread {
  readonly agent: string
  readonly task: string
  readonly tool: string
  readonly freeze_epoch: number
  /** Opened with an action hash: every revision has one. */
  readonly hashed: boolean
  /** ms since 1970. */
  readonly opened_at: number
  status: ThreadStatus
  risk: Risk
  revision: number
  submitted_at: number
  requirement: ReviewRequirement
  /** On the current revision, in the order they were cast. */
  votes: readonly LedgerVote[]
  /** What voters of earlier revisions saw: each has its own nonce, so none comes again. */
  seen: readonly string[]
  /** Reminders and escalations of the current revision. */
  announced: readonly string[]
  /** Who has claimed it, perhaps too long ago. */
  claimed?: string | undefined
  /** The events that webhooks may have got of it. */
  happened: readonly string[]
  approval?: LedgerApproval
}

export interface LedgerVote extends Voter {
  readonly decision: string
  readonly digest: string
  readonly via: string
}

export interface LedgerApproval {
  readonly at: number
  readonly collected?: true
  readonly token?: LedgerToken
  readonly redeemed?: true
  readonly released?: true
}

export interface LedgerToken {
  readonly hash: string
  readonly expires_at: number
  /** Of the agent when the token was minted. */
  readonly key: string | undefined
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
    freezes: NEVER_FROZEN,
    allowed: 0,
    rejected: 0,
  }
}

/** The name of `Ledger.signedIn` for a reviewer, and for a reviewer and a way in. */
export const wayOf = (...names: readonly string[]): string => JSON.stringify(names)

/** The key under which the record's actor acts: the one that is named, or the only one. */
export function keyHeld({ keys }: Ledger, { actor: { kind, id, key } }: ReadEvent): string | undefined {
  const { hash, old } = keys.get(`${kind}:${id}`) ?? {}
  return key !== undefined && old?.hash.startsWith(key) === true ? old.hash : hash
}

/** The thread that the record is about, and says so: its task, its tool and a revision that there was. @throws LawBroken */
export function threadOf(ledger: Ledger, record: ReadEvent): LedgerThread {
  const thread = ledger.threads.get(textOf(record.thread, 'thread_id'))
  requireThat(thread !== undefined, 'its thread was never opened')
  requireThat(record.task === thread.task, 'its thread belongs to another task')
  requireThat(record.tool === thread.tool, 'its thread is about another tool')
  const { revision = 0 } = record
  requireThat(revision >= 1 && revision <= thread.revision, `its thread has no revision ${revision}`)
  return thread
}

/** The same for acts on what is there now: the current revision. @throws LawBroken */
export function currentThread(ledger: Ledger, record: ReadEvent): LedgerThread {
  const thread = threadOf(ledger, record)
  requireThat(record.revision === thread.revision, `its thread is at revision ${thread.revision} by then`)
  return thread
}

/** The same for acts that a freeze stops. @throws LawBroken */
export function openThread(ledger: Ledger, record: ReadEvent): LedgerThread {
  const thread = currentThread(ledger, record)
  requireThat(!isFrozenSince(ledger, thread), 'a freeze had ended its thread')
  return thread
}

/** What was under way when it was frozen never comes back to life. */
export function isFrozenSince({ freezes }: Ledger, thread: LedgerThread): boolean {
  return freezeSince(freezes, thread) !== undefined
}

/** Moves the thread as the table of the domain does. @throws LawBroken for a move that is not in it */
export function move(thread: LedgerThread, trigger: ThreadTrigger): void {
  const status = transition(thread.status, trigger)
  requireThat(status !== undefined, `its thread was ${thread.status} by then`)
  thread.status = status
  // Nobody asks again for the votes on what is over, and there may be millions of such threads.
  if (status === 'rejected' || trigger === 'redeem') thread.votes = NO_VOTES
}

const NO_VOTES: readonly LedgerVote[] = []

/** The agent whose thread it is did it. @throws LawBroken */
export function requireAgent({ agent }: LedgerThread, { actor }: ReadEvent): void {
  requireThat(actor.kind === 'agent' && actor.id === agent, `its thread is of the agent \`${agent}\``)
}

/** A hash of what nobody can draw a second time. @throws LawBroken */
export function requireFresh({ drawn }: Ledger, hash: string, what: string): void {
  requireThat(!drawn.has(hash), `this ${what} was there before`)
  drawn.add(hash)
}

/** Clocks of instances may differ by that much. */
export const CLOCK_SKEW_MS = 1_000

/** When its time is up: of a waiting thread, and of an approval that nobody collects. ms since 1970. */
export function deadlineOf({ approval, submitted_at, requirement }: LedgerThread): number {
  return (approval?.at ?? submitted_at) + requirement.expires_ms
}

/** Expiry always rejects: nothing else can happen to a thread whose time is up. @throws LawBroken */
export function requireInTime(thread: LedgerThread, { at }: ReadEvent): void {
  requireThat(at < deadlineOf(thread) + CLOCK_SKEW_MS, 'the time of its thread was up')
}
