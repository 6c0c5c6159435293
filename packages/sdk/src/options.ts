import type { Decision, DecisionRequest } from './types.ts'

export interface ClientOptions {
  /** Base address of the gateway, for example `http://127.0.0.1:8787`; without credentials, query or fragment. */
  readonly url: string
  /** Agent key `csk_...`: a server-side secret. */
  readonly key: string
  /** Longest time for one request, beyond its own requested wait, ms. Default 10,000. */
  readonly timeoutMs?: number | undefined
  /** Replaces the global `fetch`: for tests, or a proxy. It gets the whole address as text. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
}

export interface GateOptions extends ClientOptions {
  /** Groups calls into a task. Default: a new random task for each gate. */
  readonly taskId?: string | undefined
  /** Longest time to wait for reviewers, ms. Default 15 minutes. */
  readonly maxWaitMs?: number | undefined
  /**
   * Set only for an agent whose directory entry says `signed_approvals: false`: its approvals carry no proof. With
   * signed approvals, the SDK would run a call whose proof another reader of the thread holds.
   */
  readonly unsignedApprovals?: boolean | undefined
}

/** The agent's claims about the call, for its reviewers. */
export type Claims = Readonly<
  Pick<
    DecisionRequest,
    'workflow_name' | 'task_label' | 'subject' | 'preview' | 'risk_level' | 'summary' | 'images'
  >
>

export interface GuardOptions<P extends object> extends Claims {
  /** Replaces the gate's own. */
  readonly taskId?: string | undefined
  /** Replaces the gate's own. */
  readonly maxWaitMs?: number | undefined
  /**
   * The runtime's own id of this call. Default: a new random id. For 24 hours, the same id, task, tool, payload and
   * claims are the same call: after a timeout or a restart it resumes its thread. A call that ran has no proof for a
   * second run. Policy judges a call that it allows again each time. With `unsignedApprovals`, an approved call runs
   * again. A call that `revise` changed does not resume.
   */
  readonly callId?: string | undefined
  /**
   * Gives the call up, at any moment before it runs: the gate withdraws it, and a repeated call is reviewed anew. The
   * reason of `AbortSignal.timeout` only ends the wait, as `maxWaitMs` does.
   */
  readonly signal?: AbortSignal | undefined
  /**
   * Called once, when the call is held. The gate does not wait for it. When it fails, at once or later, the call ends.
   */
  readonly onPending?: (decision: Decision) => unknown
  /** Answers a request for changes with a new payload for the same thread. Undefined or an error gives up. */
  readonly revise?: (feedback: string, payload: P) => Promise<P | undefined> | P | undefined
}
