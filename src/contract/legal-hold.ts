/** Legal holds on the wire (docs/data.md). Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'
import { LIMITS } from './limits.ts'

const closed = { additionalProperties: false } as const
const Tenant = Type.String({ pattern: '^[a-z0-9-]{1,32}$' })

const Scope = {
  thread_id: Type.Optional(
    Type.String({ pattern: '^thr_[0-9A-HJKMNP-TV-Z]{26}$', description: 'Only this thread.' }),
  ),
  task_id: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$',
      description: 'Only threads of this task.',
    }),
  ),
  agent: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
      description: 'Only threads of this agent.',
    }),
  ),
}

export const LegalHoldRequest = Type.Object(
  {
    tenant: Tenant,
    ...Scope,
    reason: Type.String({
      minLength: 1,
      maxLength: LIMITS.LEGAL_HOLD_REASON_CHARS,
      pattern: '\\S',
      description: 'Shown to reviewers, and kept as evidence.',
    }),
  },
  {
    ...closed,
    description:
      'Names a thread, a task or an agent, but only one of them. With none, the legal hold covers the whole tenant.',
    not: {
      anyOf: [
        { required: ['thread_id', 'task_id'] },
        { required: ['thread_id', 'agent'] },
        { required: ['task_id', 'agent'] },
      ],
    },
  },
)
export type LegalHoldRequest = Static<typeof LegalHoldRequest>

export const LegalHoldView = Type.Object({
  tenant: Type.String(),
  ...Scope,
  reason: Type.String(),
  started_at: Type.String({ format: 'date-time' }),
  by: Type.String({ description: 'Who added it, as `kind:id`.' }),
})
export type LegalHoldView = Static<typeof LegalHoldView>

export const LegalHoldAdded = Type.Object({
  ...LegalHoldView.properties,
  known: Type.Boolean({
    description:
      'Whether the thread exists, an agent of the directory has a thread of the task, or the directory has the agent or the tenant. If `false`, check the spelling. The legal hold is in force in either case.',
  }),
  replaced: Type.Optional(
    Type.String({
      description: 'The reason of the earlier legal hold of the same scope, which this one replaced.',
    }),
  ),
})
export type LegalHoldAdded = Static<typeof LegalHoldAdded>

export const LegalHoldsQuery = Type.Object({ tenant: Tenant }, closed)
export type LegalHoldsQuery = Static<typeof LegalHoldsQuery>

export const LegalHoldList = Type.Object({ legal_holds: Type.Array(LegalHoldView) })
export type LegalHoldList = Static<typeof LegalHoldList>
