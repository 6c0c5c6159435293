/** The review API on the wire (design.md section 5). Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'
import { ActionHash, DecisionStatus, RiskLevel } from './agent.ts'
import { LIMITS } from './limits.ts'

const closed = { additionalProperties: false } as const
const Instant = Type.String({ format: 'date-time' })

export const VoteDecision = Type.Enum(['approve', 'reject', 'request_changes'])
export type VoteDecision = Static<typeof VoteDecision>

export const VoteRequest = Type.Object(
  {
    decision: VoteDecision,
    revision: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'The revision you looked at. Needed unless If-Match names it.',
      }),
    ),
    comment: Type.Optional(Type.String({ maxLength: LIMITS.COMMENT_CHARS })),
  },
  closed,
)
export type VoteRequest = Static<typeof VoteRequest>

export const ThreadsQuery = Type.Object(
  {
    status: Type.Optional(DecisionStatus),
    tool: Type.Optional(Type.String({ minLength: 1 })),
    risk: Type.Optional(RiskLevel),
    group: Type.Optional(Type.String({ minLength: 1 })),
    agent: Type.Optional(Type.String({ minLength: 1 })),
    task_id: Type.Optional(Type.String({ minLength: 1 })),
    cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
    limit: Type.Optional(Type.String({ pattern: '^(100|[1-9][0-9]?)$' })),
  },
  closed,
)
export type ThreadsQuery = Static<typeof ThreadsQuery>

export const ThreadSummary = Type.Object({
  thread_id: Type.String(),
  task_id: Type.String(),
  status: DecisionStatus,
  revision: Type.Integer(),
  risk: RiskLevel,
  tool_name: Type.String(),
  agent: Type.String(),
  subject: Type.Optional(Type.String({ description: 'Shortened for lists; whole in the thread.' })),
  message: Type.String(),
  created_at: Instant,
  deadline: Type.Optional(Instant),
  groups: Type.Array(Type.String()),
  approvals: Type.Object({ given: Type.Integer(), required: Type.Integer() }),
})
export type ThreadSummary = Static<typeof ThreadSummary>

export const ThreadList = Type.Object({
  threads: Type.Array(ThreadSummary),
  next_cursor: Type.Optional(Type.String()),
})
export type ThreadList = Static<typeof ThreadList>

const Rule = Type.Object({
  id: Type.String(),
  verdict: Type.Enum(['allow', 'review', 'reject']),
  mode: Type.Enum(['enforced', 'shadow']),
  reason: Type.String(),
  unknown: Type.Boolean({ description: 'It fired only because something could not be checked.' }),
  file: Type.String(),
  line: Type.Integer(),
})

const Claims = {
  subject: Type.Optional(Type.String()),
  preview: Type.Optional(Type.String()),
  summary: Type.Optional(Type.Array(Type.String())),
  workflow_name: Type.Optional(Type.String()),
  task_label: Type.Optional(Type.String()),
  risk_level: Type.Optional(RiskLevel),
  images: Type.Optional(Type.Array(Type.String())),
}

export const ThreadRevision = Type.Object({
  number: Type.Integer(),
  revision_id: Type.Optional(Type.String()),
  digest: Type.String(),
  submitted_at: Instant,
  payload: Type.Object({}, { additionalProperties: true }),
  payload_digest: Type.String(),
  action_hash: Type.Optional(ActionHash),
  ...Claims,
  risk: RiskLevel,
  policy_risk: RiskLevel,
  message: Type.String(),
  by: Type.Array(Type.String()),
  rules: Type.Array(Rule),
  policy_revision: Type.String(),
})
export type ThreadRevision = Static<typeof ThreadRevision>

export const VoteView = Type.Object({
  reviewer: Type.String(),
  name: Type.Optional(Type.String()),
  decision: VoteDecision,
  revision: Type.Integer(),
  comment: Type.Optional(Type.String()),
  at: Instant,
  via: Type.String(),
  void: Type.Boolean({ description: 'Cast on an earlier revision: it counts no more.' }),
})
export type VoteView = Static<typeof VoteView>

export const SeatView = Type.Object({
  group: Type.String(),
  approvals: Type.Integer(),
  filled_by: Type.Array(Type.String()),
  escalated_to: Type.Array(Type.String()),
})
export type SeatView = Static<typeof SeatView>

export const ThreadView = Type.Object({
  thread_id: Type.String(),
  task_id: Type.String(),
  status: DecisionStatus,
  revision: Type.Integer(),
  risk: RiskLevel,
  policy_risk: RiskLevel,
  tool_name: Type.String(),
  tool_description: Type.Optional(Type.String()),
  reversibility: Type.Optional(Type.String()),
  labels: Type.Array(Type.String()),
  sensitive: Type.Array(Type.String({ description: 'Fields to mask until somebody asks to see them.' })),
  payload: Type.Object({}, { additionalProperties: true }),
  action_hash: Type.Optional(ActionHash),
  ...Claims,
  agent: Type.String(),
  message: Type.String(),
  created_at: Instant,
  deadline: Type.Optional(Instant),
  groups: ThreadSummary.properties.groups,
  approvals: ThreadSummary.properties.approvals,
  digest: Type.String({ description: 'Of the current revision; the ETag.' }),
  rules: Type.Array(Rule),
  policy_revision: Type.String(),
  revisions: Type.Array(ThreadRevision),
  votes: Type.Array(VoteView),
  seats: Type.Array(SeatView),
  who_can_vote: Type.Array(
    Type.Object({ reviewer: Type.String(), name: Type.String(), groups: Type.Array(Type.String()) }),
  ),
  can_vote: Type.Object({
    allowed: Type.Boolean(),
    code: Type.Optional(Type.String()),
    reason: Type.Optional(Type.String()),
  }),
  token: Type.Optional(
    Type.Object({
      state: Type.Enum(['not_collected', 'collected', 'redeemed', 'unsigned']),
      expires_at: Type.Optional(Instant),
    }),
  ),
  evidence: Type.Array(
    Type.Object({ number: Type.Integer(), type: Type.String(), at: Instant, actor: Type.String() }),
  ),
})
export type ThreadView = Static<typeof ThreadView>

export const Me = Type.Object({
  tenant: Type.String(),
  reviewer: Type.String(),
  name: Type.String(),
  email: Type.Optional(Type.String()),
  groups: Type.Array(Type.String()),
  roles: Type.Array(Type.String()),
  owns: Type.Array(Type.String({ description: 'Agents on whose threads you never vote.' })),
})
export type Me = Static<typeof Me>
