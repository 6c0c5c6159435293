/** Every endpoint of the API, in the order of the OpenAPI document. */
import { ADMIN } from './admin.ts'
import { AGENT } from './agent.ts'
import { CHATS } from './chats.ts'
import { ERASURE } from './erasure.ts'
import { FREEZE } from './freeze.ts'
import { LEGAL_HOLD } from './legal-hold.ts'
import { PUBLIC } from './public.ts'
import { REVIEW } from './review.ts'
import { SESSION } from './session.ts'
import { WEBHOOKS } from './webhooks.ts'

export const OPERATIONS = {
  ...AGENT,
  ...REVIEW,
  ...SESSION,
  ...CHATS,
  ...ADMIN,
  ...PUBLIC,
  ...FREEZE,
  ...ERASURE,
  ...LEGAL_HOLD,
  ...WEBHOOKS,
} as const
