/** Every endpoint of the API, in the order of the OpenAPI document. */
import { ADMIN } from './operations/admin.ts'
import { AGENT } from './operations/agent.ts'
import { FREEZE } from './operations/freeze.ts'
import { PUBLIC } from './operations/public.ts'
import { REVIEW } from './operations/review.ts'
import { SESSION } from './operations/session.ts'
import { WEBHOOKS } from './operations/webhooks.ts'

export const OPERATIONS = {
  ...AGENT,
  ...REVIEW,
  ...SESSION,
  ...ADMIN,
  ...PUBLIC,
  ...FREEZE,
  ...WEBHOOKS,
} as const
