/** The agent API as the SDK sees it. test/sdk/types.test.ts checks that the types equal the contract. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
/** The arguments of a tool. */
export type Payload = { readonly [key: string]: Json }
/** `T` where docs/javascript/values.md takes it, with `never` for other parts, such as functions and symbols. */
export type ValueOf<T> = T extends Json | bigint | undefined | Date | URL
  ? T
  : T extends ((...args: never[]) => unknown) | symbol
    ? never
    : T extends ReadonlyMap<infer Key, infer Value>
      ? [Key] extends [string]
        ? ReadonlyMap<Key, ValueOf<Value>>
        : never
      : T extends ReadonlySet<infer Item>
        ? ReadonlySet<ValueOf<Item>>
        : T extends object
          ? { readonly [Member in keyof T]: ValueOf<T[Member]> }
          : never
/** The same type for the arguments of a tool, which are never a list. */
export type PayloadOf<T> = T extends readonly unknown[] ? never : ValueOf<T>
export type RiskLevel = 'low' | 'medium' | 'high' | 'critical'

export interface DecisionRequest {
  tool_name: string
  workflow_name?: string
  task_label?: string
  subject?: string
  preview?: string
  risk_level?: RiskLevel
  summary?: string[]
  payload?: Payload
  action_hash?: string
  images?: string[]
}

export interface Decision {
  status: 'allow' | 'reject' | 'pending_review' | 'approved' | 'rejected' | 'changes_requested'
  task_id: string
  thread_id?: string
  message?: string
  recommended_poll_after_seconds?: number
  approval_token?: string
  token_expires_at?: string
  action_hash?: string
}

export interface ApprovalValidationRequest {
  task_id: string
  signature: string
  request_payload: Payload
  thread_id?: string
  action_hash?: string
}

export interface ApprovalValidationResult {
  valid: boolean
  reason?: 'invalid' | 'expired' | 'used'
  task_id?: string
  thread_id?: string
  action_hash?: string
}

export interface AgentEvent {
  event_type: string
  event_summary: string
  payload?: { readonly [key: string]: Json | object }
  images?: string[]
}

export interface EventReceipt {
  event_id: string
  recorded_at: string
  thread_id?: string
  status?: Decision['status']
  revision?: number
}

/** How a call ended. */
export interface OutcomeReport {
  action_hash: string
  thread_id?: string
  outcome: 'executed' | 'failed' | 'not_run'
  duration_ms?: number
  /** An id of what the call did, such as the id of a transfer. */
  reference?: string
  /** Distinguishes the runs of equal calls. */
  run?: string
}

export interface RecordedOutcome {
  task_id: string
  action_hash: string
  thread_id?: string
  run: string
  outcome: OutcomeReport['outcome']
  duration_ms?: number
  recorded_at: string
  /** Number of the evidence record that allowed the call, where the gateway has an entry of it. */
  allowed_by?: number
}

export interface OutcomeList {
  action_hash: string
  allowed: number
  outcomes: RecordedOutcome[]
}

export interface ResolvedTool {
  name: string
  description: string
  input_schema: Record<string, unknown>
  risk: RiskLevel
  revision: string
  /** The MCP server and tool that the contract describes. */
  source?: { server: string; name: string; digest?: string }
}

export interface ResolveResult {
  tools: ResolvedTool[]
  unknown: string[]
  /** Tools whose contracts did not fit into the answer; `resolve` of the client requests them. */
  more?: string[]
}
