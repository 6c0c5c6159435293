/** The context of a thread on the wire. Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'
import { HeadingView } from './heading.ts'

const Instant = Type.String({ format: 'date-time' })

export const EarlierCall = Type.Object({
  tool: Type.String(),
  outcome: Type.Enum(['allow', 'reject', 'pending_review', 'changes_requested', 'approved', 'rejected']),
  at: Instant,
  thread_id: Type.Optional(Type.String()),
  heading: Type.Optional(HeadingView),
  subject: Type.Optional(Type.String()),
  message: Type.Optional(Type.String()),
})
export type EarlierCall = Static<typeof EarlierCall>

export const LimitState = Type.Object({
  id: Type.String(),
  mode: Type.Enum(['enforced', 'shadow']),
  per: Type.String({ description: '`agent`, `tenant`, `task`, or a field.' }),
  within_ms: Type.Integer(),
  at_most: Type.Integer(),
  used: Type.Optional(
    Type.Integer({
      description: 'Charges in the window that ends now. Absent if the limit adds up a sensitive field.',
    }),
  ),
  amount: Type.Optional(
    Type.Integer({ description: 'Amount that this call would add. Absent if sensitive.' }),
  ),
})
export type LimitState = Static<typeof LimitState>

export const LogHead = Type.Object(
  {
    size: Type.Integer(),
    root: Type.String({ description: 'RFC 6962 Merkle tree hash, hex.' }),
    at: Instant,
  },
  { description: "The last checkpoint of the tenant's evidence." },
)
