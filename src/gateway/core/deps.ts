import type { Verdict } from '../../domain/decision.ts'
import type { SessionTimes } from '../../domain/session.ts'
import type { SignInProblem } from '../../contract/sign-in-problems.ts'
import type { ExplainingSnapshot } from '../../policy/evaluate/explanation.ts'
import type { Diagnostic } from '../../policy/report/diagnostics.ts'
import type { CommitResult, Store } from '../../store/store.ts'
import type { EvidenceRecord } from './event-record.ts'
import type { KnownDestinations, KnownFreezes, Noted, Sweep } from './caches.ts'
import type { Budget, Budgets } from '../../domain/budget.ts'
import type { Caller } from './caller.ts'
import type { ByteSemaphore } from '../webhooks/byte-semaphore.ts'
import type { Origin } from './trace-context.ts'

/** What every verb needs. No verb reaches for a clock, a random source or a policy by itself. */
export interface Deps {
  readonly store: Store
  readonly policies: Policies
  readonly keys: KeyCache
  /** When which call was last noted in the history. Losing it costs a write, never a note: whoever leaves the write out guards that the store has forgotten nothing. */
  readonly noted: Map<string, Noted>
  /** When this instance first showed which revision to whom, ms since 1970. Losing it makes a vote look slower than it was. */
  readonly shown: Map<string, number>
  /** `bytes` unpredictable bytes. */
  random(bytes: number): Uint8Array
  /** A 26-character id that sorts by time, unique within the process and, by its randomness, everywhere. */
  nextId(): string
  /** Unique for every commit attempt. */
  nextCommitId(): string
  /** Key of the salted commitments in evidence: who holds it can open them. */
  readonly commitmentSecret: Uint8Array
  readonly sessions: SessionTimes
  /** As the settings have them; the bundle in force may have smaller ones. */
  readonly budgets: Budgets
  /** Destinations of webhooks by tenant. A stale entry is harmless: every commit that uses one guards it. */
  readonly destinations: Map<string, KnownDestinations>
  /** Freezes by tenant. A stale entry is harmless: every commit that lets an agent act guards it. */
  readonly freezes: Map<string, KnownFreezes>
  /** Of freezes, by tenant, while they are under way. Losing one costs time: it begins again. */
  readonly sweeps: Map<string, Sweep>
  /** Epochs of the store by tenant. A stale entry is harmless: every commit that rests on one guards it. */
  readonly epochs: Map<string, string>
  /** Called when deliveries of a tenant are durable. The call may be lost: the worker looks by itself. */
  enqueued(tenant: string): void
  /** Bounds the memory of large deliveries until they are written. */
  readonly outboxRoom: ByteSemaphore
  /** Where people look at a thread: a page of the console. */
  threadUrl(thread: string): string
  /** Longest time one store call may take, ms. */
  readonly storeDeadlineMs: number
  /** Of the request that a verb works for. */
  readonly origin?: Origin | undefined
  /** Told of every record after it is durable: counters and log lines. Must not throw; may be lost, never the truth. */
  observe(observation: Observation): void
}

/** The snapshot in force, and how the last load went. */
export interface Policies {
  current(): ExplainingSnapshot | undefined
  status(): PolicyStatus
}

export interface PolicyStatus {
  /** ms since 1970 at which the snapshot in force was loaded. */
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

/** Agents by the credential they were identified by. A stale entry is harmless: what acts on it guards or reads the key's record. */
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
  /** A commit has ended: applied, refused (`result`) or failed (`error`). */
  | {
      readonly kind: 'commit'
      readonly tenant: string
      readonly seconds: number
      readonly result?: CommitResult
      readonly error?: unknown
    }
  /** Something was refused because a budget is spent, or the disk is nearly full. */
  | { readonly kind: 'over_budget'; readonly budget: Budget | 'disk' }
  /** The first answer was given again, under its Idempotency-Key. */
  | { readonly kind: 'replayed'; readonly decision: Verdict }
  /** A vote was counted; `lookedMs` is the longest time that the voter can have looked at the revision. */
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
