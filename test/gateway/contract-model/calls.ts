import type { Pay, Risk, Tool } from './policy.ts'

/* Calls to the gateway and to the model, and the answers of both. */

/**
 * The answer that the gateway has to give: the HTTP status, and the members that the test compares.
 * Absent members must be absent.
 */
export interface Expected {
  readonly http: number
  readonly code?: string
  readonly status?: string
  /** `new`: the id of a thread that this call opens. */
  readonly thread_id?: string
  readonly action_hash?: string
  /** The expiry of the token; present when the answer must have a token. */
  readonly tokenUntil?: number
  readonly starts?: string
  readonly valid?: boolean
  readonly reason?: string
  readonly task_id?: string
  readonly revision?: number
  readonly replayed?: boolean
}

export interface Submission {
  readonly agent: string
  readonly task: string
  readonly tool: Tool
  readonly payload: Pay
  readonly hash?: string
  readonly risk?: Risk
  readonly idempotencyKey?: string
}

export interface Ballot {
  readonly who: string
  readonly thread: string
  readonly decision: 'approve' | 'reject' | 'request_changes'
  readonly revision?: number
}

export interface Claim {
  readonly agent: string
  readonly token: string
  readonly task: string
  readonly payload: Pay
  readonly thread?: string
  readonly hash?: string
}

export interface Change {
  readonly agent: string
  readonly task: string
  readonly thread: string
  readonly revisionId: string
  readonly tool: Tool
  readonly payload: Pay
  readonly hash?: string
  readonly risk?: Risk
}

export interface Scope {
  readonly agent?: string
  readonly tool?: string
}

/** A report of how a call ended. */
export interface End {
  readonly agent: string
  readonly task: string
  readonly thread: string
  readonly hash: string
  readonly outcome: 'executed' | 'failed'
}
