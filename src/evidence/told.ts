import type { Risk, Verdict } from '../domain/decision.ts'
import { type Freezes, freezeSince, NEVER_FROZEN } from '../domain/freeze.ts'
import { type ThreadStatus, type ThreadTrigger, transition } from '../domain/thread.ts'
import { holds, textOf, type ToldRecord } from './record.ts'
import type { ToldPerson, ToldRequirement } from './requirement.ts'

/** What the records so far have told of a tenant: as much of its state as their laws need. */
/** The key of a holder, and the one before it while their overlap lasts. */
export interface ToldKeys {
  readonly hash: string
  readonly old?: { readonly hash: string; readonly until: number }
}

export interface Told {
  readonly threads: Map<string, ToldThread>
  /** Who holds a key now, as `agent:bot`, and which. */
  readonly keys: Map<string, ToldKeys>
  /** By the SHA-256 of links that nobody has used. */
  readonly links: Map<string, ToldLink>
  /** By the SHA-256 of open sessions. */
  readonly sessions: Map<string, ToldSession>
  /** Those of each reviewer, and those by each way, as `["ann"]` and `["ann","oidc"]`. */
  readonly signedIn: Map<string, SignedIn>
  /** Every webhook that there ever was, by its id. */
  readonly webhooks: Map<string, ToldWebhook>
  /** Deliveries that came to their end, and whether nobody has asked for them again since. */
  readonly settled: Map<string, boolean>
  /** The SHA-256 of all keys, links, sessions and tokens: each is drawn by lot, and comes once. */
  readonly drawn: Set<string>
  /** Threads of which a record broke a law, because later ones rest on it; and who acted without a credential, as `agent:bot`. Each is told once. */
  readonly broken: Set<string>
  /** Verdicts of rules and limits, as their decisions told them, by bundle and id. */
  readonly ruled: Map<string, Verdict>
  freezes: Freezes
  /** The record before this one. */
  last?: ToldRecord
  /** What was written in the same commit as the record before, and so comes next. */
  due?: Due
  /** Calls decided at once. */
  allowed: number
  rejected: number
}

export interface ToldLink {
  readonly reviewer: string
  readonly expires_at: number
}

export interface ToldSession {
  readonly reviewer: string
  readonly via: string
  readonly groups: Vouched
}

/** As JSON: the groups that an identity provider vouched for; undefined where only the directory knows them. */
export type Vouched = string | undefined

export interface SignedIn {
  readonly open: number
  /** How many of these sessions have which groups. */
  readonly groups: Map<Vouched, number>
  /** When the last of them is over by its lifetime, ms since 1970; perhaps of one that has ended. */
  readonly until: number
}

export interface ToldWebhook {
  readonly gone: boolean
  readonly pings: number
  /** Of what belongs to no thread: deliveries that came to their end, by their event. One that was asked for again counts once. */
  readonly told: ReadonlyMap<string, number>
}

export interface Due {
  readonly type: ToldRecord['type']
  readonly thread: string
}

/** A thread as its records tell it: state that verbs guard, so that what follows must fit. */
export interface ToldThread {
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
  requirement: ToldRequirement
  /** On the current revision, in the order they were cast. */
  votes: readonly ToldVote[]
  /** What voters of earlier revisions saw: each has its own nonce, so none comes again. */
  seen: readonly string[]
  /** Reminders and escalations of the current revision. */
  announced: readonly string[]
  /** Who has claimed it, perhaps too long ago. */
  claimed?: string | undefined
  /** What has happened to it that webhooks are told of: types of records. */
  happened: readonly string[]
  approval?: ToldApproval
}

export interface ToldVote extends ToldPerson {
  readonly decision: string
  readonly digest: string
  readonly via: string
}

export interface ToldApproval {
  readonly at: number
  readonly collected?: true
  readonly token?: ToldToken
  readonly redeemed?: true
  readonly released?: true
}

export interface ToldToken {
  readonly hash: string
  readonly expires_at: number
  /** Of the agent when the token was minted. */
  readonly key: string | undefined
}

export function nothingTold(): Told {
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

/** The thread that the record is about, and says so: its task, its tool and a revision that there was. @throws BrokenLaw */
export function threadOf(told: Told, record: ToldRecord): ToldThread {
  const thread = told.threads.get(textOf(record.thread, 'thread_id'))
  holds(thread !== undefined, 'its thread was never opened')
  holds(record.task === thread.task, 'its thread belongs to another task')
  holds(record.tool === thread.tool, 'its thread is about another tool')
  const { revision = 0 } = record
  holds(revision >= 1 && revision <= thread.revision, `its thread has no revision ${revision}`)
  return thread
}

/** The same for acts on what is there now: the current revision. @throws BrokenLaw */
export function currentThread(told: Told, record: ToldRecord): ToldThread {
  const thread = threadOf(told, record)
  holds(record.revision === thread.revision, `its thread is at revision ${thread.revision} by then`)
  return thread
}

/** The same for acts that a freeze stops. @throws BrokenLaw */
export function livingThread(told: Told, record: ToldRecord): ToldThread {
  const thread = currentThread(told, record)
  holds(!isDead(told, thread), 'a freeze had ended its thread')
  return thread
}

/** What was under way when it was frozen never comes back to life. */
export function isDead({ freezes }: Told, thread: ToldThread): boolean {
  return freezeSince(freezes, thread) !== undefined
}

/** Moves the thread as the table of the domain does. @throws BrokenLaw for a move that is not in it */
export function move(thread: ToldThread, trigger: ThreadTrigger): void {
  const status = transition(thread.status, trigger)
  holds(status !== undefined, `its thread was ${thread.status} by then`)
  thread.status = status
  // Nobody asks again for the votes on what is over, and there may be millions of such threads.
  if (status === 'rejected' || trigger === 'redeem') thread.votes = NO_VOTES
}

const NO_VOTES: readonly ToldVote[] = []

/** The agent whose thread it is did it. @throws BrokenLaw */
export function holdsAgent({ agent }: ToldThread, { actor }: ToldRecord): void {
  holds(actor.kind === 'agent' && actor.id === agent, `its thread is of the agent \`${agent}\``)
}

/** A hash of what nobody can draw a second time. @throws BrokenLaw */
export function holdsDrawn({ drawn }: Told, hash: string, what: string): void {
  holds(!drawn.has(hash), `this ${what} was there before`)
  drawn.add(hash)
}

/** Clocks of instances may differ by that much. */
export const SLACK_MS = 1_000

/** When its time is up: of a waiting thread, and of an approval that nobody collects. ms since 1970. */
export function deadlineOf({ approval, submitted_at, requirement }: ToldThread): number {
  return (approval?.at ?? submitted_at) + requirement.expires_ms
}

/** Expiry always rejects: nothing else can happen to a thread whose time is up. @throws BrokenLaw */
export function holdsInTime(thread: ToldThread, { at }: ToldRecord): void {
  holds(at < deadlineOf(thread) + SLACK_MS, 'the time of its thread was up')
}
