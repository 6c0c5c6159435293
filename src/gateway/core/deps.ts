import type { Verdict } from '../../domain/decision.ts'
import type { SessionTimes } from '../../domain/session.ts'
import type { SignInProblem } from '../../contract/sign-in-problems.ts'
import type { ExplainingSnapshot } from '../../policy/evaluate/explanation.ts'
import type { BundleText } from '../../policy/language/snapshot.ts'
import type { Diagnostic } from '../../policy/report/diagnostics.ts'
import type { IndexEntry, CommitResult, Guard, Store, Write } from '../../store/store.ts'
import type { EvidenceRecord } from './event-record.ts'
import type { KnownDestinations, KnownFreezes, Noted, Sweep } from './caches.ts'
import type { Budget, Budgets } from '../../domain/budget.ts'
import type { LegalHolds } from '../../domain/legal-hold.ts'
import type { Caller } from './caller.ts'
import type { ByteSemaphore } from './byte-semaphore.ts'
import type { Thread } from '../../domain/thread.ts'
import type { Versioned } from './records.ts'
import type { MakeNotice } from './notice.ts'
import type { Origin } from './trace-context.ts'

/** Dependencies of all verbs. No verb creates a clock, a random source or a policy itself. */
export interface Deps {
  readonly store: Store
  readonly policies: Policies
  readonly keys: KeyCache
  /**
   * The last time that each call was added to the history. A lost entry costs only one extra write, because a commit
   * that omits the write guards the store's epoch.
   */
  readonly noted: Map<string, Noted>
  /**
   * The time of the timer's check, ms since 1970, of counters that a commit of this instance charged, by tenant and
   * counter. A lost entry costs only one extra write.
   */
  readonly scheduled: Map<string, number>
  /** The thread at which the next deletion of ended threads continues, by tenant; undefined for the oldest. */
  readonly forgetting: Map<string, IndexEntry | undefined>
  /**
   * Threads that agents polled, by their id. Every poll reads the thread's version, and parses only a changed thread.
   */
  readonly threads: Map<string, Versioned<Thread>>
  /**
   * When this instance first showed a revision to a reviewer, ms since 1970. Without this time, a vote looks slower
   * than it was.
   */
  readonly shown: Map<string, number>
  /** Questions of agents that wait, by thread. Without an entry, the time of the last question is a minute old. */
  readonly asking: Map<string, { readonly since: number; count: number; last: number }>
  /** `bytes` unpredictable bytes. */
  random(bytes: number): Uint8Array
  /**
   * A 26-character id that sorts by time. The id is unique within the process and, because of its randomness, across
   * processes.
   */
  nextId(): string
  /** Unique for every commit attempt. */
  nextCommitId(): string
  /** Key of the salted commitments in evidence. Anyone with this key can open them. */
  readonly commitmentSecret: Uint8Array
  readonly sessions: SessionTimes
  /** Lifetime of a linked account, ms. */
  readonly chatLinkMs: number
  /** The budgets of the settings; the bundle in force may lower them. */
  readonly budgets: Budgets
  /**
   * Destinations of webhooks by tenant. A stale entry is harmless, because every commit that uses an entry guards its
   * record.
   */
  readonly destinations: Map<string, KnownDestinations>
  /**
   * Freezes by tenant. A stale entry is harmless, because every commit that lets an agent act guards the record of
   * freezes.
   */
  readonly freezes: Map<string, KnownFreezes>
  /** Legal holds by tenant, so that a read parses only a changed record. */
  readonly legalHolds: Map<string, Versioned<LegalHolds>>
  /** Sweeps in progress, by tenant. A lost entry costs only time, because the sweep starts again. */
  readonly sweeps: Map<string, Sweep>
  /**
   * Epochs of the store by tenant. A stale entry is harmless, because every commit that depends on an epoch guards it.
   */
  readonly epochs: Map<string, string>
  /** The part of a commit that writes the deliveries of its notices. */
  enqueue(deps: Deps, tenant: string, notices: readonly MakeNotice[]): Promise<Enqueued>
  /** Called when deliveries of a tenant are durable. A missed call is harmless, because the worker also polls. */
  enqueued(tenant: string): void
  /** Bounds the memory of large deliveries until they are written. */
  readonly outboxRoom: ByteSemaphore
  /** The URL of a thread in the console. */
  threadUrl(thread: string): string
  /** Time limit of one store call, ms. */
  readonly storeDeadlineMs: number
  /** Origin of the request that the verb serves. */
  readonly origin?: Origin | undefined
  /**
   * Receives every record for counters and log lines, once the record is durable. Must not throw. An observation may be
   * lost, but its record is durable.
   */
  observe(observation: Observation): void
}

/** The guards and writes that deliveries add to a commit. */
export interface Enqueued {
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
  /** Releases the room that a large commit reserved, after the commit has ended. */
  readonly leave?: () => void
}

/** The snapshot in force, and the result of the last load. */
export interface Policies {
  current(): ExplainingSnapshot | undefined
  status(): PolicyStatus
  /** Loads a bundle that does not take effect. */
  trial(files: readonly BundleText[]): Promise<TrialResult>
}

export type TrialResult =
  | { readonly ok: true; readonly snapshot: ExplainingSnapshot }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

export interface PolicyStatus {
  /** When the snapshot in force was loaded, ms since 1970. */
  readonly loadedAt?: number
  /** Git commit of the bundle in force, when the directory is a checkout. */
  readonly commit?: string
  readonly lastLoad?: {
    readonly ok: boolean
    readonly at: number
    readonly revision?: string
    readonly diagnostics: readonly Diagnostic[]
  }
}

/**
 * Agents by their credential. A stale entry is harmless, because every act with the credential guards or reads the
 * key's record.
 */
export type KeyCache = Map<string, Caller>

export type Observation =
  | { readonly kind: 'evidence'; readonly record: EvidenceRecord; readonly origin?: Origin | undefined }
  | {
      readonly kind: 'evaluated'
      readonly verdict: Verdict
      readonly seconds: number
      readonly fault?: 'engine_error' | 'engine_mismatch' | undefined
      readonly traceparent?: string | undefined
    }
  | { readonly kind: 'validated'; readonly result: 'valid' | 'invalid' | 'expired' | 'used' }
  | { readonly kind: 'revision'; readonly result: 'accepted' | 'rejected' }
  /** A commit ended: applied, refused (`result`) or failed (`error`). */
  | {
      readonly kind: 'commit'
      readonly tenant: string
      readonly commitId: string
      readonly seconds: number
      readonly result?: CommitResult
      readonly error?: unknown
    }
  /** A request was refused because a budget is exhausted, or the disk is nearly full. */
  | { readonly kind: 'over_budget'; readonly budget: Budget | 'disk' }
  /** The gateway repeated the first answer for an Idempotency-Key. */
  | { readonly kind: 'replayed'; readonly decision: Verdict }
  /** A held command whose contract has no `files`. */
  | { readonly kind: 'unbound'; readonly tool: string }
  /** A vote was counted; `lookedMs` is the longest time that the reviewer can have seen the revision. */
  | {
      readonly kind: 'voted'
      readonly decision: 'approve' | 'reject' | 'request_changes'
      readonly lookedMs: number
      readonly thread_id: string
    }
  | {
      readonly kind: 'sign_in_failed'
      readonly via: 'link' | 'oidc'
      readonly problem: 'refused' | SignInProblem
    }
