/**
 * Webhooks on the wire: bodies of deliveries, and the management of webhooks (docs/webhooks.md). Loaded only to
 * generate schemas/openapi.json.
 */
import { Type, type Static } from 'typebox'
import { DecisionStatus, RiskLevel } from './agent.ts'
import { HeadingView } from './heading.ts'

const closed = { additionalProperties: false } as const
const Instant = Type.String({ format: 'date-time' })

export const WebhookEvent = Type.Enum([
  'decision.allowed',
  'decision.rejected',
  'review.pending',
  'review.changes_requested',
  'review.approved',
  'review.rejected',
  'review.expired',
  'review.withdrawn',
  'review.reminded',
  'review.escalated',
  'token.redeemed',
  'webhook.ping',
])
export type WebhookEvent = Static<typeof WebhookEvent>

export const WebhookPayload = Type.Enum(['thin', 'full'], {
  description:
    'Whether deliveries carry the payload of the call. Default: `thin`, without it. Tags replace the values that the contract calls sensitive, but a payload may hold other secrets.',
})
export type WebhookPayload = Static<typeof WebhookPayload>

export const WebhookFormat = Type.Enum(['event', 'chat', 'teams', 'slack-app'], {
  description:
    'Default: `event`. `chat` sends `{"text": "..."}`, one line with a link to the thread, for incoming webhooks of Slack, Mattermost, Rocket.Chat and Google Chat. `teams` sends the same line as an Adaptive Card, for workflows of Microsoft Teams. The line contains names, but no message, comment or payload. `slack-app` posts and rewrites messages in a `channel`, with buttons where the level has `chat`.',
})
export type WebhookFormat = Static<typeof WebhookFormat>

/** The body of a delivery to a chat. */
export const WebhookChatBody = Type.Object({ text: Type.String() })
export type WebhookChatBody = Static<typeof WebhookChatBody>

/** The body of a delivery to Microsoft Teams: a message with one Adaptive Card. */
export const WebhookTeamsBody = Type.Object({
  type: Type.Enum(['message']),
  attachments: Type.Array(
    Type.Object({
      contentType: Type.Enum(['application/vnd.microsoft.card.adaptive']),
      content: Type.Object({}, { additionalProperties: true }),
    }),
  ),
})

/** The body of a delivery. A delivery never contains a proof. */
export const WebhookBody = Type.Object({
  id: Type.String({ description: 'Id of the delivery, the same on every try.' }),
  type: WebhookEvent,
  timestamp: Type.String({ format: 'date-time', description: 'Time of the event.' }),
  tenant_id: Type.String(),
  agent_id: Type.Optional(Type.String()),
  tool_name: Type.Optional(Type.String()),
  heading: Type.Optional(HeadingView),
  task_id: Type.Optional(Type.String()),
  thread_id: Type.Optional(Type.String()),
  decision: Type.Optional(DecisionStatus),
  message: Type.Optional(Type.String()),
  workflow_name: Type.Optional(Type.String()),
  task_label: Type.Optional(Type.String()),
  revision: Type.Optional(Type.Integer()),
  risk: Type.Optional(RiskLevel),
  groups: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Groups that may decide, while the thread waits for reviewers.',
    }),
  ),
  raised: Type.Optional(
    Type.Object(
      { at: Instant, asks: Type.String({ description: '`two of security-leads`' }) },
      { description: 'What policy asks for since then, while the thread waits for reviewers.' },
    ),
  ),
  decided_by: Type.Optional(
    Type.Array(Type.String(), { description: 'Reviewers whose votes led to this end of the wait.' }),
  ),
  sequence: Type.Optional(
    Type.Integer({
      description: 'Number of the event in its thread, from 1. Deliveries may arrive in another order.',
    }),
  ),
  payload: Type.Optional(Type.Object({}, { additionalProperties: true })),
})
export type WebhookBody = Static<typeof WebhookBody>

const Tenant = Type.String({ pattern: '^[a-z0-9-]{1,32}$' })
const Events = Type.Array(WebhookEvent, {
  minItems: 1,
  uniqueItems: true,
  description:
    'Default: all events. For a chat, the default is the events of held calls: `review.pending`, `review.reminded`, `review.escalated`, and each end of the wait.',
})

const Names = Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { minItems: 1, maxItems: 50 })
const OnlyCalls = Type.Object(
  {
    groups: Type.Optional(Names),
    risks: Type.Optional(Type.Array(RiskLevel, { minItems: 1 })),
    tools: Type.Optional(Names),
  },
  { ...closed, description: 'With `format: slack-app`: the calls to post. A call must fit each member.' },
)

export const CreateWebhook = Type.Object(
  {
    tenant: Tenant,
    url: Type.Optional(
      Type.String({ maxLength: 2_048, description: 'Required, except with `format: slack-app`.' }),
    ),
    events: Type.Optional(Events),
    payload: Type.Optional(WebhookPayload),
    format: Type.Optional(WebhookFormat),
    channel: Type.Optional(
      Type.String({
        pattern: '^[A-Z0-9]{1,64}$',
        description: 'Required with `format: slack-app`: the id of the channel, such as `C0123ABCDEF`.',
      }),
    ),
    only: Type.Optional(OnlyCalls),
  },
  closed,
)
export type CreateWebhook = Static<typeof CreateWebhook>

export const WebhookView = Type.Object({
  id: Type.String(),
  tenant: Type.String(),
  url: Type.String({
    description:
      'For a chat, only the origin and the end of the URL, because anyone who knows the URL can write there. For an app, its channel.',
  }),
  events: Type.Optional(Type.Array(WebhookEvent)),
  payload: WebhookPayload,
  format: WebhookFormat,
  created_at: Instant,
  secrets: Type.Integer({
    description: 'Two secrets during a rotation. Deliveries then carry the signatures of both.',
  }),
  state: Type.Enum(['active', 'paused', 'failing', 'gone'], {
    description:
      '`failing`: the gateway paused it after 120 hours without a success. `gone`: the receiver answered 410, and gets no more deliveries.',
  }),
  failing_since: Type.Optional(Instant),
  waiting: Type.Integer({ description: 'Deliveries that have not succeeded yet.' }),
})
export type WebhookView = Static<typeof WebhookView>

/** The secret, which is shown once. */
export const WebhookSecret = Type.Object({ id: Type.String(), secret: Type.String() })
export type WebhookSecret = Static<typeof WebhookSecret>

export const WebhookList = Type.Object({ webhooks: Type.Array(WebhookView) })
export type WebhookList = Static<typeof WebhookList>

export const WebhooksQuery = Type.Object({ tenant: Tenant }, closed)
export type WebhooksQuery = Static<typeof WebhooksQuery>

export const RotateSecret = Type.Object(
  {
    overlap_ms: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 7 * 24 * 3_600_000,
        description: 'Time in which the old secret also signs. Default: a day.',
      }),
    ),
  },
  closed,
)
export type RotateSecret = Static<typeof RotateSecret>

export const DeliveryView = Type.Object({
  id: Type.String(),
  type: WebhookEvent,
  thread_id: Type.Optional(Type.String()),
  created_at: Instant,
  state: Type.Enum(['waiting', 'delivered', 'dead']),
  attempts: Type.Integer(),
  next_at: Type.Optional(Instant),
  last: Type.Optional(
    Type.Object({
      at: Instant,
      result: Type.String({ description: 'A status, or the reason why no answer arrived.' }),
    }),
  ),
})
export type DeliveryView = Static<typeof DeliveryView>

export const DeliveryList = Type.Object({
  deliveries: Type.Array(DeliveryView),
  next_cursor: Type.Optional(Type.String()),
  unreadable: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Deliveries in any state whose record in the store is damaged. `countersign store check` reports details.',
    }),
  ),
})
export type DeliveryList = Static<typeof DeliveryList>

export const DeliveriesQuery = Type.Object(
  {
    state: Type.Optional(DeliveryView.properties.state),
    cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    limit: Type.Optional(Type.String({ pattern: '^(100|[1-9][0-9]?)$' })),
  },
  closed,
)
export type DeliveriesQuery = Static<typeof DeliveriesQuery>

/** One delivery by its path, or all deliveries that were made or given up since a time. */
export const RedeliverRange = Type.Object(
  { since: Instant, until: Type.Optional(Instant), state: Type.Optional(DeliveryView.properties.state) },
  closed,
)
export type RedeliverRange = Static<typeof RedeliverRange>

export const Redelivered = Type.Object({ count: Type.Integer() })
export type Redelivered = Static<typeof Redelivered>
