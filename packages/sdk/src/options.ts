import type { ToolSchema } from './carrier.ts'
import type { Decision, DecisionRequest, Payload } from './types.ts'

export interface ClientOptions {
  /**
   * Base address of the gateway, for example `http://127.0.0.1:8787`; without credentials, query or fragment. Default:
   * the variable `COUNTERSIGN_URL`.
   */
  readonly url?: string | undefined
  /** Agent key `csk_...`: a server-side secret. Default: the variable `COUNTERSIGN_AGENT_KEY`. */
  readonly key?: string | undefined
  /** Maximum time for one request, in addition to its requested wait, ms. Default 10,000. */
  readonly timeoutMs?: number | undefined
  /** Replaces the global `fetch`, for tests or a proxy. The function receives the whole address as a string. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
}

export interface GateOptions extends ClientOptions {
  /** Groups calls into a task. Default: a new random task for each gate. */
  readonly taskId?: string | undefined
  /** Maximum time to wait for reviewers, ms. Default 15 minutes. */
  readonly maxWaitMs?: number | undefined
  /** Address of the console, if it differs from the gateway's. */
  readonly consoleUrl?: string | undefined
  /**
   * Called for each held call that has no `onPending` of its own. Default: one line on standard error, about why
   * the call waits, where reviewers decide it, and for how long.
   */
  readonly onPending?: ((decision: Decision) => unknown) | undefined
  /**
   * Set only for an agent whose directory entry has `signed_approvals: false`, because its approvals carry no proof.
   * With signed approvals, the SDK would run a call whose proof another reader of the thread has.
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

export interface Limits {
  /** Maximum time for the proposal, the wait and the redemption together, ms. The tool's own time does not count. */
  readonly deadlineMs?: number | undefined
  /**
   * Gives up the call at any time before it runs. The gate withdraws the call, and reviewers decide a repeated call
   * again. An abort by `AbortSignal.timeout` only ends the wait: the gateway keeps the call for `graceSeconds`.
   */
  readonly signal?: AbortSignal | undefined
  /** Time in which a call may be continued after `signal` timed out. Default 120; `Infinity`: until it expires. */
  readonly graceSeconds?: number | undefined
}

interface Typed {
  /** The tool's schema. It carries values that JSON does not have (docs/javascript/values.md). */
  readonly schema?: ToolSchema | undefined
}

export interface ProposeOptions extends Claims, Limits, Typed {
  readonly taskId: string
  /** The runtime's own id for this call, as in `guard`. */
  readonly callId: string
  /** Replaces the gate's own. `propose` waits for this function, and withdraws the call if it fails. */
  readonly onPending?: ((decision: Decision) => unknown) | undefined
  /** `false` leaves the payload out of the handle. */
  readonly keepPayload?: boolean | undefined
}

/** The claims count where policy judges an allowed call again. */
export interface ResumeOptions extends Claims, Limits, Typed {
  /** The proposed payload. Needed if the handle has none. */
  readonly payload?: object | undefined
  /** Replaces the gate's own. `0` asks once. */
  readonly maxWaitMs?: number | undefined
  readonly beforeProof?: ((payload: Payload) => unknown) | undefined
}

export interface GuardOptions<P extends object> extends Claims, Limits, Typed {
  /** Replaces the gate's own. */
  readonly taskId?: string | undefined
  /** Replaces the gate's own. */
  readonly maxWaitMs?: number | undefined
  /**
   * The runtime's own id for this call. Default: a new random id. For 24 hours, the same id, task, tool, payload and
   * claims identify the same call. After a timeout or a restart, the call resumes its thread. A call that has run has
   * no proof for a second run. Each time, policy judges an allowed call again. With `unsignedApprovals`, an
   * approved call runs again. A call that `revise` changed does not resume.
   */
  readonly callId?: string | undefined
  /**
   * Replaces the gate's own. Called once, when the call is held. The gate does not wait for this function. When the
   * function fails, immediately or later, the call ends.
   */
  readonly onPending?: ((decision: Decision) => unknown) | undefined
  /**
   * Called after reviewers approved a held call, right before its proof is redeemed. When the function fails, the call
   * ends, and the proof stays unused.
   */
  readonly beforeProof?: ((payload: P) => unknown) | undefined
  /**
   * Answers a request for changes with a new payload for the same thread. With undefined or an error, the call ends.
   */
  readonly revise?: (feedback: string, payload: P) => Promise<P | undefined> | P | undefined
}
