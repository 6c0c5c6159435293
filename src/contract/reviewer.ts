/** The review API on the wire (docs/review-api.md). Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'
import { ActionHash, DecisionStatus, RiskLevel } from './agent.ts'
import { EarlierCall, LimitState, LogHead } from './thread-context.ts'
import { HeadingView } from './heading.ts'
import { CAN_VOTE } from './can-vote.ts'
import { Raised } from './raised.ts'
import { LegalHoldView } from './legal-hold.ts'
import { Display, LevelReview } from './display.ts'
import { Because, FiredRule } from './reasons.ts'
import { VoteDecision } from './review-requests.ts'

export type { ThreadsQuery, VoteDecision } from './review-requests.ts'

const Instant = Type.String({ format: 'date-time' })
const LookedMs = Type.Optional(
  Type.Integer({
    minimum: 0,
    description: "Time that the call was on the reviewer's screen, by the record.",
  }),
)

export const Claim = Type.Object(
  { reviewer: Type.String(), name: Type.Optional(Type.String()), expires_at: Instant },
  { description: 'Who is looking at the thread. Others may still vote. A claim ends by itself.' },
)
export type Claim = Static<typeof Claim>

export const UnreportedList = Type.Object({
  calls: Type.Array(
    Type.Object({
      agent: Type.String(),
      task_id: Type.String(),
      tool_name: Type.String(),
      allowed_at: Instant,
      action_hash: Type.Optional(ActionHash),
      thread_id: Type.Optional(Type.String({ description: 'Absent for a call that was allowed at once.' })),
    }),
    { description: 'Newest first, at most 100.' },
  ),
  count: Type.Integer({ description: 'The number of all such calls.' }),
})
export type UnreportedList = Static<typeof UnreportedList>

export const ThreadSummary = Type.Object({
  thread_id: Type.String(),
  task_id: Type.String(),
  status: DecisionStatus,
  revision: Type.Integer(),
  risk: RiskLevel,
  tool_name: Type.String(),
  heading: HeadingView,
  agent: Type.String(),
  subject: Type.Optional(Type.String({ description: 'Shortened in lists; the thread has all of it.' })),
  message: Type.String(),
  created_at: Instant,
  deadline: Type.Optional(Instant),
  groups: Type.Array(Type.String()),
  escalated_to: Type.Array(Type.String(), {
    description: 'Groups that may also approve, since an escalation.',
  }),
  approvals: Type.Object({ given: Type.Integer(), required: Type.Integer() }),
  updated_at: Type.String({ format: 'date-time', description: 'Time of the last revision, vote or end.' }),
  withdrawn_at: Type.Optional(
    Type.String({ format: 'date-time', description: 'Time when the agent withdrew the call.' }),
  ),
  claim: Type.Optional(Claim),
  raised: Type.Optional(Raised),
  mine: Type.Boolean({ description: 'Whether you may vote on it now.' }),
  equal: Type.Optional(
    Type.String({
      description:
        'The same text for equal calls of one agent, task and tool, while they wait at their first revision.',
    }),
  ),
  asked_at: Type.Optional(
    Type.String({
      format: 'date-time',
      description:
        'When the agent last asked for the decision, to the minute. Absent once it needs no answer.',
    }),
  ),
  asks_every_ms: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Usual time between two questions; absent in the first minute.',
    }),
  ),
  alike: Type.Optional(
    Type.String({
      description:
        'The same text for waiting calls of one agent and tool with the same risk and fired rules.',
    }),
  ),
  decided_by: Type.Optional(
    Type.Array(
      Type.Object({
        reviewer: Type.String(),
        name: Type.Optional(Type.String()),
        decision: VoteDecision,
        comment: Type.Optional(Type.String({ description: 'Cut after 200 characters.' })),
        at: Instant,
        ms: LookedMs,
      }),
      { description: 'The votes that counted, of a thread that no longer waits.' },
    ),
  ),
  used_at: Type.Optional(
    Type.String({ format: 'date-time', description: 'When the agent used the approval.' }),
  ),
  because: Type.Optional(
    Type.Object(
      { rule: Type.String(), ...Because.properties },
      { description: 'The first value of the rule that set the risk.' },
    ),
  ),
  differs: Type.Optional({
    ...Because,
    description: 'In lists: the value in which this call differs from others that look like it.',
  }),
  legal_hold: Type.Optional(LegalHoldView),
})
export type ThreadSummary = Static<typeof ThreadSummary>

export const BundleTexts = Type.Object({
  revision: Type.String(),
  files: Type.Array(Type.Object({ path: Type.String(), text: Type.String() })),
})
export type BundleTexts = Static<typeof BundleTexts>

export const ThreadList = Type.Object({
  threads: Type.Array(ThreadSummary),
  next_cursor: Type.Optional(Type.String()),
  complete_since: Type.Optional(
    Type.String({
      format: 'date-time',
      description:
        'The list has every thread that was opened after this time. Earlier threads may have been deleted at the end of their retention.',
    }),
  ),
  unreadable: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Threads that may belong here, but whose record in the store is damaged. `countersign store check` reports details.',
    }),
  ),
})
export type ThreadList = Static<typeof ThreadList>

const Count = Type.Integer({ minimum: 0 })

export const ThreadCounts = Type.Object({
  pending: Type.Object(
    { low: Count, medium: Count, high: Count, critical: Count },
    { description: 'Waiting threads by assessed risk.' },
  ),
  changes_requested: Count,
})
export type ThreadCounts = Static<typeof ThreadCounts>

const Claims = {
  subject: Type.Optional(Type.String()),
  preview: Type.Optional(Type.String()),
  summary: Type.Optional(Type.Array(Type.String())),
  workflow_name: Type.Optional(Type.String()),
  task_label: Type.Optional(Type.String()),
  risk_level: Type.Optional(RiskLevel),
  images: Type.Optional(Type.Array(Type.String())),
}

/**
 * The result for one entry of `images`: checked bytes that GET .../images/{revision}/{index} serves, or the reason to
 * show it as text.
 */
export const Picture = Type.Object({
  shown: Type.Boolean(),
  type: Type.Optional(Type.String()),
  width: Type.Optional(Type.Integer()),
  height: Type.Optional(Type.Integer()),
  reason: Type.Optional(Type.String()),
})
export type Picture = Static<typeof Picture>

/** A place that could deceive a reader: hidden characters, changed direction, look-alikes, padding. */
export const TextWarning = Type.Object({
  place: Type.String({
    description:
      '`subject`, `preview`, `summary`, `workflow`, `task`, `image 2`, `payload` and a JSON Pointer, or `more places`.',
  }),
  kinds: Type.Array(Type.String(), { description: 'Such as `direction`, `invisible`, `mixed_script`.' }),
  message: Type.String({ description: 'The same in sentences.' }),
  words: Type.Array(
    Type.String({
      description: 'A word that looks like another one, with foreign letters spelled out: `p[U+0430]ypal`.',
    }),
  ),
})
export type TextWarning = Static<typeof TextWarning>

const Warnings = Type.Array(TextWarning, {
  description:
    'Places that could deceive a reader of this revision. In the console, a reviewer must confirm them before approving.',
})

const Masked = Type.Array(Type.String(), {
  description:
    'JSON Pointers into payload of values replaced by a tag, `[hidden 1a2b3c4d]`. Equal values of a thread have equal tags. Empty for a reviewer key.',
})

const ShownHash = Type.Optional(
  Type.String({
    ...ActionHash,
    description:
      'Hash of the whole action, by the runtime. Absent if values are masked, like `payload_digest`.',
  }),
)

export const ThreadRevision = Type.Object({
  number: Type.Integer(),
  revision_id: Type.Optional(Type.String()),
  digest: Type.String(),
  submitted_at: Instant,
  payload: Type.Object({}, { additionalProperties: true }),
  masked: Masked,
  pictures: Type.Array(Picture, { description: 'One for each entry of `images`.' }),
  heading: HeadingView,
  payload_digest: Type.Optional(
    Type.String({
      description: 'Absent if values are masked, because a reader could guess them and compare.',
    }),
  ),
  action_hash: ShownHash,
  ...Claims,
  risk: RiskLevel,
  policy_risk: RiskLevel,
  message: Type.String(),
  by: Type.Array(Type.String()),
  rules: Type.Array(FiredRule),
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
  ms: LookedMs,
  void: Type.Boolean({ description: 'Whether a later revision voided the vote.' }),
})
export type VoteView = Static<typeof VoteView>

export const SeatView = Type.Object({
  group: Type.String(),
  approvals: Type.Integer(),
  filled_by: Type.Array(Type.String()),
  escalated_to: Type.Array(Type.String()),
})
export type SeatView = Static<typeof SeatView>

export const CommentView = Type.Object({
  reviewer: Type.String(),
  name: Type.Optional(Type.String()),
  comment: Type.String(),
  revision: Type.Integer(),
  at: Instant,
  via: Type.String(),
})
export type CommentView = Static<typeof CommentView>

export const Upcoming = Type.Object({
  kind: Type.Enum(['reminder', 'escalation']),
  at: Instant,
  group: Type.Optional(Type.String({ description: 'Group that may fill seats from then on.' })),
})
export type Upcoming = Static<typeof Upcoming>

export const ThreadView = Type.Object({
  thread_id: Type.String(),
  task_id: Type.String(),
  status: DecisionStatus,
  revision: Type.Integer(),
  risk: RiskLevel,
  policy_risk: RiskLevel,
  tool_name: Type.String(),
  tool_description: Type.Optional(Type.String()),
  heading: HeadingView,
  tool_source: Type.Optional(
    Type.Object(
      { server: Type.String(), name: Type.String() },
      { description: 'The MCP server and its tool, by the contract in force.' },
    ),
  ),
  reversibility: Type.Optional(Type.String()),
  labels: Type.Array(Type.String()),
  sensitive: Type.Array(Type.String({ description: 'Field to mask until a reviewer asks to see it.' })),
  fields: Type.Array(Type.String(), {
    description: 'Names of the members of payload to show first, in the order of the contract.',
  }),
  payload: Type.Object({}, { additionalProperties: true }),
  masked: Masked,
  pictures: ThreadRevision.properties.pictures,
  warnings: Warnings,
  log: Type.Optional(LogHead),
  action_hash: ShownHash,
  ...Claims,
  agent: Type.String(),
  message: Type.String(),
  created_at: Instant,
  deadline: Type.Optional(Instant),
  groups: ThreadSummary.properties.groups,
  escalated_to: ThreadSummary.properties.escalated_to,
  approvals: ThreadSummary.properties.approvals,
  updated_at: ThreadSummary.properties.updated_at,
  withdrawn_at: ThreadSummary.properties.withdrawn_at,
  claim: Type.Optional(Claim),
  raised: ThreadSummary.properties.raised,
  mine: ThreadSummary.properties.mine,
  equal: ThreadSummary.properties.equal,
  asked_at: ThreadSummary.properties.asked_at,
  asks_every_ms: ThreadSummary.properties.asks_every_ms,
  alike: ThreadSummary.properties.alike,
  decided_by: ThreadSummary.properties.decided_by,
  used_at: ThreadSummary.properties.used_at,
  because: ThreadSummary.properties.because,
  legal_hold: ThreadSummary.properties.legal_hold,
  display: Display,
  review: LevelReview,
  interactive: Type.Boolean({ description: 'Whether a vote needs a sign-in; a key is not enough.' }),
  digest: Type.String({ description: 'Digest of the current revision, which is also the ETag.' }),
  rules: Type.Array(FiredRule),
  policy_revision: Type.String(),
  revisions: Type.Array(ThreadRevision),
  votes: Type.Array(VoteView),
  comments: Type.Array(CommentView),
  earlier: Type.Array(EarlierCall, {
    description: 'Other calls of the task, latest first. It has only the last allowed call of each tool.',
  }),
  limits: Type.Array(LimitState),
  upcoming: Type.Array(Upcoming),
  seats: Type.Array(SeatView),
  who_can_vote: Type.Array(
    Type.Object({ reviewer: Type.String(), name: Type.String(), groups: Type.Array(Type.String()) }),
  ),
  ...CAN_VOTE,
  token: Type.Optional(
    Type.Object({
      state: Type.Enum(['not_collected', 'collected', 'redeemed', 'unsigned']),
      expires_at: Type.Optional(Instant),
    }),
  ),
  evidence: Type.Array(
    Type.Object({
      number: Type.Integer(),
      type: Type.String(),
      at: Instant,
      actor: Type.String(),
      says: Type.String({ description: 'What happened to the call, in words: `was approved`.' }),
      displayed: Type.Optional(
        Type.Object(
          { seen: Type.Array(Type.String()), unseen: Type.Array(Type.String()) },
          { description: 'The parts that were on the screen before a vote.' },
        ),
      ),
    }),
  ),
})
export type ThreadView = Static<typeof ThreadView>

export const Revealed = Type.Object({
  revision: Type.Integer(),
  payload: Type.Object({}, { additionalProperties: true }),
  warnings: Warnings,
})
export type Revealed = Static<typeof Revealed>

/** Data of an event `thread` of GET stream; its id is the number of the evidence record. */
export const ThreadChange = Type.Object({
  number: Type.Integer(),
  type: Type.String({ description: 'Type of the evidence record, such as `review.pending`.' }),
  at: Instant,
  actor: Type.String(),
  thread: ThreadSummary,
})
export type ThreadChange = Static<typeof ThreadChange>
