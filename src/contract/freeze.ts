/** Freezing on the wire (docs/operations.md). Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'
import { LIMITS } from './limits.ts'

const closed = { additionalProperties: false } as const
const Instant = Type.String({ format: 'date-time' })
const Tenant = Type.String({ pattern: '^[a-z0-9-]{1,32}$' })
const Reason = Type.String({
  minLength: 1,
  maxLength: LIMITS.FREEZE_REASON_CHARS,
  pattern: '\\S',
  description: 'Shown to the agent and to reviewers.',
})

const Scope = {
  agent: Type.Optional(
    Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$', description: 'Only this agent.' }),
  ),
  tool: Type.Optional(
    Type.String({ minLength: 1, maxLength: LIMITS.TOOL_NAME_CHARS, description: 'Only this tool.' }),
  ),
  reviewer: Type.Optional(
    Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$', description: 'Only this reviewer.' }),
  ),
}

export const FreezeRequest = Type.Object(
  { tenant: Tenant, ...Scope, reason: Reason },
  {
    ...closed,
    description: 'Names at most one agent, tool or reviewer. With none, the freeze covers the whole tenant.',
    not: { anyOf: [both('agent', 'tool'), both('agent', 'reviewer'), both('tool', 'reviewer')] },
  },
)
export type FreezeRequest = Static<typeof FreezeRequest>

function both(...names: readonly string[]) {
  return { required: [...names] }
}

export const FreezeView = Type.Object({
  tenant: Type.String(),
  ...Scope,
  reason: Type.String(),
  frozen_at: Instant,
  by: Type.String({ description: 'Who froze it, as `kind:id`.' }),
})
export type FreezeView = Static<typeof FreezeView>

export const Frozen = Type.Object({
  ...FreezeView.properties,
  known: Type.Boolean({
    description:
      'Whether the bundle in force has this tenant, agent, tool or reviewer. If `false`, check the spelling. The name is frozen in either case.',
  }),
})
export type Frozen = Static<typeof Frozen>

export const FreezesQuery = Type.Object({ tenant: Tenant }, closed)
export type FreezesQuery = Static<typeof FreezesQuery>

export const FreezeList = Type.Object({ freezes: Type.Array(FreezeView) })
export type FreezeList = Static<typeof FreezeList>
