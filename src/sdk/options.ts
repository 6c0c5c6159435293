import type { ClientOptions } from './client.ts'
import type { Decision, DecisionRequest } from './types.ts'

export interface GateOptions extends ClientOptions {
  /** Groups the calls of one piece of work; a new random one for each gate when absent. */
  readonly taskId?: string | undefined
  /** Longest time to wait for people, ms. Default 15 minutes. */
  readonly maxWaitMs?: number | undefined
  /**
   * Set only for an agent whose directory entry says `signed_approvals: false`: approvals then carry no proof. With signed approvals it
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
   * The runtime's own id of this call; a new random one when absent. The same id with the same task, tool, payload and claims is the same call for 24 hours: who
   * waited too long, or was killed, goes on with the thread that it had, and people are not asked twice. What ran once has no proof for a second
   * time; what policy allowed at once, without a proof, is judged again, and with `unsignedApprovals` what people approved runs again. What `revise` changed does not go on.
   */
  readonly callId?: string | undefined
  /**
   * Gives up, at whatever moment before the call runs: the call is withdrawn, and a repetition asks people anew. With the reason of `AbortSignal.timeout` it is only the
   * waiting that ends, as after `maxWaitMs`.
   */
  readonly signal?: AbortSignal | undefined
  /** Told once, when people have to decide. Not waited for; when it fails, at once or while people decide, the call ends. */
  readonly onPending?: (decision: Decision) => unknown
  /** Answers reviewers who asked for changes with a new payload for the same thread; undefined gives up, as what it throws does. */
  readonly revise?: (feedback: string, payload: P) => Promise<P | undefined> | P | undefined
}
