/** The agents of a tenant on the wire (docs/review-api.md). Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'
import { FreezeView } from './freeze.ts'
import { LegalHoldView } from './legal-hold.ts'

export const AgentView = Type.Object({
  id: Type.String(),
  owners: Type.Array(Type.Object({ reviewer: Type.String(), name: Type.Optional(Type.String()) })),
  tools: Type.Array(Type.String(), { description: 'Tools that it may use, as globs.' }),
  signed_approvals: Type.Boolean(),
  prevent_self_review: Type.Boolean(),
  token_ttl_ms: Type.Integer(),
  rate: Type.Optional(Type.Object({ calls: Type.Integer(), within_ms: Type.Integer() })),
  key_issued_at: Type.Optional(Type.String({ format: 'date-time' })),
})
export type AgentView = Static<typeof AgentView>

export const AgentList = Type.Object({
  agents: Type.Array(AgentView),
  freezes: Type.Array(FreezeView, { description: 'Freezes in force.' }),
  legal_holds: Type.Array(LegalHoldView, { description: 'Legal holds in force.' }),
})
export type AgentList = Static<typeof AgentList>
