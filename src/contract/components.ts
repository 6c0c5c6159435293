/** Types of the components of schemas/openapi.json, by name. The file contains only types and is never loaded. */
import type { Static, TSchema } from 'typebox'
import type * as admin from './admin.ts'
import type * as agent from './agent.ts'
import type * as agentList from './agent-list.ts'
import type * as chat from './chat.ts'
import type * as checkpoint from './checkpoint.ts'
import type * as display from './display.ts'
import type * as precedents from './precedents.ts'
import type * as erasure from './erasure.ts'
import type * as freeze from './freeze.ts'
import type * as health from './health.ts'
import type * as legalHold from './legal-hold.ts'
import type * as reasons from './reasons.ts'
import type * as reviewRequests from './review-requests.ts'
import type * as reviewer from './reviewer.ts'
import type * as session from './session.ts'
import type * as webhook from './webhook.ts'

type Schemas = typeof admin &
  typeof agent &
  typeof agentList &
  typeof chat &
  typeof checkpoint &
  typeof display &
  typeof precedents &
  typeof erasure &
  typeof freeze &
  typeof health &
  typeof legalHold &
  typeof reasons &
  typeof reviewRequests &
  typeof reviewer &
  typeof session &
  typeof webhook

export type ComponentName = keyof Schemas

export type Components = {
  readonly [Name in ComponentName]: Schemas[Name] extends TSchema ? Static<Schemas[Name]> : never
}
