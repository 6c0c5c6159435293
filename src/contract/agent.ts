/**
 * The agent API on the wire (docs/agent-api.md): schema and type in one declaration each.
 * This file is loaded only to generate schemas/openapi.json; the running gateway validates with that file.
 */
import { Type, type Static } from 'typebox'
import { LIMITS } from './limits.ts'

const closed = { additionalProperties: false } as const

const RISKS = ['low', 'medium', 'high', 'critical'] as const

export const RiskLevel = Type.Enum(RISKS)
export type RiskLevel = Static<typeof RiskLevel>

const ClaimedRisk = Type.Enum(RISKS, {
  description: 'Risk as the agent sees it. It can raise the assessed risk, never lower it.',
})

export const ActionHash = Type.String({
  pattern: '^[0-9a-f]{64}$',
  description: "Lowercase hex SHA-256 of the runtime's whole immutable action, without a prefix.",
})
export type ActionHash = Static<typeof ActionHash>

export const ToolName = Type.String({
  minLength: 1,
  maxLength: LIMITS.TOOL_NAME_CHARS,
  pattern: '^[!-~](?:[ -~]*[!-~])?$',
  description: 'Printable ASCII without a space at either end.',
})

const FreeForm = Type.Object({}, { additionalProperties: true })
const Text = Type.String()
const Summary = Type.Array(Text, { maxItems: LIMITS.SUMMARY_LINES })
const Images = Type.Array(Text, { maxItems: LIMITS.IMAGES })

export const DecisionRequest = Type.Object(
  {
    tool_name: ToolName,
    workflow_name: Type.Optional(Text),
    task_label: Type.Optional(Text),
    subject: Type.Optional(Text),
    preview: Type.Optional(Text),
    risk_level: Type.Optional(ClaimedRisk),
    summary: Type.Optional(Summary),
    payload: Type.Optional(FreeForm),
    action_hash: Type.Optional(ActionHash),
    images: Type.Optional(Images),
  },
  {
    ...closed,
    description:
      'A proposed tool call. Its thread is V2 if it has an `action_hash`, otherwise V1. That never changes.',
  },
)
export type DecisionRequest = Static<typeof DecisionRequest>

const DECISION_STATUSES = [
  'allow',
  'reject',
  'pending_review',
  'approved',
  'rejected',
  'changes_requested',
] as const
export const DecisionStatus = Type.Enum(DECISION_STATUSES)
export type DecisionStatus = Static<typeof DecisionStatus>

/** The words of a list of threads. */
export const ListedStatus = Type.Enum([...DECISION_STATUSES, 'withdrawn', 'ended'], {
  description:
    '`withdrawn`: the rejected threads that their agent gave up. `ended`: all approved and rejected threads.',
})

export const Decision = Type.Object({
  status: DecisionStatus,
  task_id: Type.String(),
  thread_id: Type.Optional(Type.String()),
  message: Type.Optional(Type.String()),
  recommended_poll_after_seconds: Type.Optional(Type.Integer({ minimum: 1 })),
  approval_token: Type.Optional(
    Type.String({ description: 'The proof. Only the first approved read of a signed approval returns it.' }),
  ),
  token_expires_at: Type.Optional(Type.String({ format: 'date-time' })),
  action_hash: Type.Optional(ActionHash),
})
export type Decision = Static<typeof Decision>

export const ApprovalValidationRequest = Type.Object(
  {
    task_id: Type.String(),
    signature: Type.String({ description: 'The proof, exactly as it was received.' }),
    request_payload: FreeForm,
    thread_id: Type.Optional(Type.String({ description: 'Required for V2 threads.' })),
    action_hash: Type.Optional(ActionHash),
  },
  closed,
)
export type ApprovalValidationRequest = Static<typeof ApprovalValidationRequest>

export const ApprovalValidationResult = Type.Object({
  valid: Type.Boolean({ description: 'A 2xx status alone is never approval.' }),
  reason: Type.Optional(Type.Enum(['invalid', 'expired', 'used'])),
  task_id: Type.Optional(Type.String()),
  thread_id: Type.Optional(Type.String()),
  action_hash: Type.Optional(ActionHash),
})
export type ApprovalValidationResult = Static<typeof ApprovalValidationResult>

export const AgentEvent = Type.Object(
  {
    event_type: Type.String({
      minLength: 1,
      maxLength: LIMITS.EVENT_TYPE_CHARS,
      pattern: '^[^\\u0000-\\u001f\\u007f]+$',
      description: '`revision.<task_id>.<thread_id>` submits `payload.revision`. Any other type is evidence.',
    }),
    event_summary: Type.String(),
    payload: Type.Optional(FreeForm),
    images: Type.Optional(Images),
  },
  closed,
)
export type AgentEvent = Static<typeof AgentEvent>

export const Revision = Type.Object(
  {
    revision_id: Type.String({ minLength: 1, maxLength: LIMITS.REVISION_ID_CHARS }),
    tool_name: ToolName,
    subject: Type.String(),
    request_payload: FreeForm,
    workflow_name: Type.Optional(Text),
    task_label: Type.Optional(Text),
    preview: Type.Optional(Text),
    risk_level: Type.Optional(ClaimedRisk),
    summary: Type.Optional(Summary),
    action_hash: Type.Optional(ActionHash),
  },
  { additionalProperties: true, description: 'The member `revision` of the payload of a revision event.' },
)
export type Revision = Static<typeof Revision>

export const EventReceipt = Type.Object({
  event_id: Type.String(),
  recorded_at: Type.String({ format: 'date-time' }),
  thread_id: Type.Optional(Type.String()),
  status: Type.Optional(DecisionStatus),
  revision: Type.Optional(Type.Integer({ minimum: 1 })),
})
export type EventReceipt = Static<typeof EventReceipt>

export const ResolveRequest = Type.Object(
  { tools: Type.Array(Type.String(), { maxItems: LIMITS.TOOL_NAMES }) },
  { ...closed, description: 'An empty list asks for every tool that the agent may use.' },
)
export type ResolveRequest = Static<typeof ResolveRequest>

export const ResolveResult = Type.Object({
  tools: Type.Array(
    Type.Object({
      name: Type.String(),
      description: Type.String(),
      input_schema: FreeForm,
      risk: RiskLevel,
      revision: Type.String({ description: 'SHA-256 (hex) of the contract.' }),
      source: Type.Optional(
        Type.Object(
          { server: Type.String(), name: Type.String(), digest: Type.Optional(Type.String()) },
          { description: 'The MCP server and its tool that the contract describes.' },
        ),
      ),
    }),
  ),
  unknown: Type.Array(Type.String()),
  more: Type.Optional(
    Type.Array(Type.String(), {
      description: `Tools whose contracts did not fit: an answer holds at most ${LIMITS.RESOLVED_BYTES} bytes of contracts. Ask for them by name, ${LIMITS.TOOL_NAMES} at a time.`,
    }),
  ),
})
export type ResolveResult = Static<typeof ResolveResult>

export const WithdrawalRequest = Type.Object(
  {
    reason: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.WITHDRAWAL_REASON_CHARS,
        pattern: '\\S',
        description: 'Reason for the withdrawal. Reviewers see it.',
      }),
    ),
    grace_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.WITHDRAWAL_GRACE_SECONDS,
        description:
          'Withdraws the call after this time, unless the agent reads its decision before: the agent stopped waiting, but may ask again.',
      }),
    ),
  },
  closed,
)
export type WithdrawalRequest = Static<typeof WithdrawalRequest>

const ThreadId = Type.String({ minLength: 1, maxLength: 256, pattern: '^[!-~]+$' })
const Reported = {
  outcome: Type.Enum(['executed', 'failed', 'not_run']),
  duration_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
}

export const OutcomeReport = Type.Object(
  {
    action_hash: ActionHash,
    thread_id: Type.Optional(ThreadId),
    ...Reported,
    reference: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.REFERENCE_CHARS,
        description: 'An id of what the call did, such as the id of a transfer.',
      }),
    ),
    run: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.RUN_CHARS,
        description: 'Distinguishes the runs of equal calls. Default: `1`.',
      }),
    ),
  },
  { ...closed, description: 'How a call ended. A held call is named by its `thread_id` as well.' },
)
export type OutcomeReport = Static<typeof OutcomeReport>

export const RecordedOutcome = Type.Object({
  task_id: Type.String(),
  action_hash: ActionHash,
  thread_id: Type.Optional(Type.String()),
  run: Type.String(),
  ...Reported,
  recorded_at: Type.String({ format: 'date-time' }),
  allowed_by: Type.Optional(
    Type.Integer({
      description:
        'Number of the evidence record that allowed the call; absent where the gateway has no entry of the call.',
    }),
  ),
})
export type RecordedOutcome = Static<typeof RecordedOutcome>

export const OutcomesQuery = Type.Object(
  { action_hash: ActionHash, thread_id: Type.Optional(ThreadId) },
  closed,
)
export type OutcomesQuery = Static<typeof OutcomesQuery>

export const OutcomeList = Type.Object({
  action_hash: ActionHash,
  allowed: Type.Integer({ description: 'How many outcomes the call may have.' }),
  outcomes: Type.Array(RecordedOutcome),
})
export type OutcomeList = Static<typeof OutcomeList>

/**
 * A list of identifiers. Each identifier is a string that may appear once. The gateway reports an id of any other form
 * as not found.
 */
export const PollQuery = Type.Object(
  {
    thread_id: Type.Optional(Type.String({ minLength: 1, maxLength: 256, pattern: '^[!-~]+$' })),
    task_id: Type.Optional(Type.String({ minLength: 1, maxLength: 256, pattern: '^[!-~]+$' })),
  },
  closed,
)
export type PollQuery = Static<typeof PollQuery>
