/** Bodies and queries of the review API (docs/review-api.md). Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'
import { ListedStatus, RiskLevel } from './agent.ts'
import { LIMITS } from './limits.ts'

const closed = { additionalProperties: false } as const

export const VoteDecision = Type.Enum(['approve', 'reject', 'request_changes'])
export type VoteDecision = Static<typeof VoteDecision>

const Places = Type.Array(Type.String({ minLength: 1, maxLength: LIMITS.PART_CHARS }), {
  maxItems: LIMITS.PARTS,
})

/** The parts of a call that were on the reviewer's screen before a vote. */
export const Displayed = Type.Object(
  {
    digest: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description:
        'SHA-256 (hex) over the RFC 8785 JSON of `thread_id`, `revision`, `seen`, and of the members of `display` except `parts`.',
    }),
    seen: { ...Places, description: 'The places that were on the screen.' },
    unseen: {
      ...Places,
      description: 'The places that were not. Parts to see that you name nowhere are added.',
    },
    ms: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 31 * 86_400_000,
        description:
          'Time that the call was on the screen. Without it, the time since the gateway showed it.',
      }),
    ),
  },
  closed,
)
export type Displayed = Static<typeof Displayed>

export const VoteRequest = Type.Object(
  {
    decision: VoteDecision,
    revision: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'The revision that you looked at. Required unless If-Match names it.',
      }),
    ),
    comment: Type.Optional(Type.String({ maxLength: LIMITS.COMMENT_CHARS })),
    displayed: Type.Optional(Displayed),
  },
  closed,
)
export type VoteRequest = Static<typeof VoteRequest>

export const VotesRequest = Type.Object(
  {
    decision: VoteDecision,
    comment: Type.Optional(Type.String({ maxLength: LIMITS.COMMENT_CHARS })),
    votes: Type.Array(
      Type.Object(
        {
          thread_id: Type.String({ minLength: 1, maxLength: 64 }),
          revision: Type.Integer({ minimum: 1 }),
          decision: Type.Optional({ ...VoteDecision, description: 'In place of the common one.' }),
          displayed: Displayed,
        },
        closed,
      ),
      { minItems: 1, maxItems: LIMITS.VOTES },
    ),
  },
  closed,
)
export type VotesRequest = Static<typeof VotesRequest>

export const ThreadsQuery = Type.Object(
  {
    status: Type.Optional(ListedStatus),
    tool: Type.Optional(Type.String({ minLength: 1 })),
    risk: Type.Optional(RiskLevel),
    group: Type.Optional(Type.String({ minLength: 1 })),
    agent: Type.Optional(Type.String({ minLength: 1 })),
    task_id: Type.Optional(Type.String({ minLength: 1 })),
    mine: Type.Optional(Type.Enum(['true'], { description: 'Only threads on which you may vote now.' })),
    sort: Type.Optional(
      Type.Enum(['urgency', 'oldest', 'newest', 'agent', 'tool'], {
        description:
          '`urgency` (default for waiting threads): those that need your vote first, then by risk, then by the time until their end or next escalation. `urgency`, `agent` and `tool` need `status=pending_review`.',
      }),
    ),
    asked: Type.Optional(
      Type.Enum(['stopped'], { description: 'Only threads whose agent no longer asks for the decision.' }),
    ),
    expires_within: Type.Optional(
      Type.Enum(['15m', '1h', '4h'], {
        description: 'Only threads whose time ends within this time.',
      }),
    ),
    voted: Type.Optional(Type.Enum(['me'], { description: 'Only threads on which you voted.' })),
    claimed: Type.Optional(Type.Enum(['me', 'nobody'])),
    since: Type.Optional(Type.String({ format: 'date-time', description: 'Opened at this time or later.' })),
    until: Type.Optional(Type.String({ format: 'date-time', description: 'Opened before this time.' })),
    q: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.SEARCH_CHARS,
        description:
          'Finds threads that contain every word, in any case. It searches the heading, tool, agent, task, message, thread id, and the first 200 characters of the subject.',
      }),
    ),
    cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
    limit: Type.Optional(Type.String({ pattern: '^(100|[1-9][0-9]?)$' })),
  },
  closed,
)
export type ThreadsQuery = Static<typeof ThreadsQuery>

export const CommentRequest = Type.Object(
  { comment: Type.String({ minLength: 1, maxLength: LIMITS.COMMENT_CHARS }) },
  closed,
)
export type CommentRequest = Static<typeof CommentRequest>

export const ClaimRequest = Type.Object(
  { take_over: Type.Optional(Type.Boolean({ description: 'Takes the claim over from another reviewer.' })) },
  closed,
)
export type ClaimRequest = Static<typeof ClaimRequest>

export const RevealRequest = Type.Object({ revision: Type.Integer({ minimum: 1 }) }, closed)
export type RevealRequest = Static<typeof RevealRequest>
