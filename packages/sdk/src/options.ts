import type { Decision, DecisionRequest } from './types.ts'

export interface ClientOptions {
  /** Base address of the gateway, for example `http://127.0.0.1:8787`; without credentials, query or fragment. */
  readonly url: string
  /** Agent key `csk_...`: a server-side secret. */
  readonly key: string
  /** Longest time one request may take beyond a wait that it asked for, ms. Default 10,000. */
  readonly timeoutMs?: number | undefined
  /** In place of the global `fetch`: for tests, or a proxy. It gets the whole address as text. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
}

export interface GateOptions extends ClientOptions {
  /** Groups the calls of one piece of work. Default: a new random task for each gate. */
  readonly taskId?: string | undefined
  /** Longest time to wait for people, ms. Default 15 minutes. */
  readonly maxWaitMs?: number | undefined
  /**
   * Set only for an agent whose directory entry says `signed_approvals: false`: its approvals carry no proof. With signed approvals it
   * would run a call whose proof another reader of the same thread holds.
   */
  readonly unsignedApprovals?: boolean | undefined
}

/** What the agent says of the call, for those who review it. */
export type Claims = Readonly<
  Pick<
    DecisionRequest,
    'workflow_name' | 'task_label' | 'subject' | 'preview' | 'risk_level' | 'summary' | 'images'
  >
>

export interface GuardOptions<P extends object> extends Claims {
  /** In place of the gate's own. */
  readonly taskId?: string | undefined
  /** In place of the gate's own. */
  readonly maxWaitMs?: number | undefined
  /**
   * The runtime's own id of this call. Default: a new random id. For 24 hours, the same id with the same task, tool, payload and claims is the same call: after a
   * timeout or a restart it resumes its thread, and people are not asked twice. A call that ran has no proof for a second run. What policy allows at once is judged
   * again each time. With `unsignedApprovals`, what people approved runs again. A call that `revise` changed does not resume.
   */
  readonly callId?: string | undefined
  /**
   * Gives the call up, at any moment before it runs: the gate withdraws it, and a repetition asks people anew. The reason of `AbortSignal.timeout` only ends the
   * wait, as `maxWaitMs` does.
   */
  readonly signal?: AbortSignal | undefined
  /** Called once, when people have to decide. The gate does not wait for it; when it fails, at once or later, the call ends. */
  readonly onPending?: (decision: Decision) => unknown
  /** Answers a request for changes with a new payload for the same thread. Undefined gives up, and so does an error. */
  readonly revise?: (feedback: string, payload: P) => Promise<P | undefined> | P | undefined
}
