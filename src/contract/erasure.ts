/** Erasing data on the wire (docs/how-to/erase-data.md). Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'
import { LIMITS } from './limits.ts'

const SELECTIONS = [['task_id'], ['thread_id'], ['agent'], ['field', 'equals']]
const MEMBERS = SELECTIONS.flat()

export const ErasureRequest = Type.Object(
  {
    tenant: Type.String({ pattern: '^[a-z0-9-]{1,32}$' }),
    task_id: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$' })),
    thread_id: Type.Optional(Type.String({ pattern: '^thr_[0-9A-HJKMNP-TV-Z]{26}$' })),
    agent: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$' })),
    field: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 512,
        description: 'A field as rules name it: `payload.customer.email`.',
      }),
    ),
    equals: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096, description: 'Its value.' })),
    reason: Type.String({
      minLength: 1,
      maxLength: LIMITS.FREEZE_REASON_CHARS,
      pattern: '\\S',
      description: 'Kept in evidence for as long as the log: it must not contain the erased data.',
    }),
    in_store: Type.Optional(
      Type.Boolean({
        description: 'True to leave out records that are only in tiles, while these are away.',
      }),
    ),
    preview: Type.Optional(
      Type.Boolean({ description: 'True to count what the erasure would delete, and to delete nothing.' }),
    ),
  },
  {
    additionalProperties: false,
    description: 'Names a task, a thread, an agent, or a field and its value.',
    oneOf: SELECTIONS.map((names) => ({
      required: names,
      not: { anyOf: MEMBERS.filter((one) => !names.includes(one)).map((one) => ({ required: [one] })) },
    })),
  },
)
export type ErasureRequest = Static<typeof ErasureRequest>

const Instant = Type.String({ format: 'date-time' })

export const ErasureView = Type.Object({
  records: Type.Integer({ description: 'Records of evidence with erased members.' }),
  members: Type.Integer({ description: 'Erased values and texts.' }),
  threads: Type.Integer({ description: 'Deleted threads.' }),
  waiting: Type.Integer({ description: 'Threads among them that waited for reviewers, and were withdrawn.' }),
  since: Type.Optional(Instant),
  until: Type.Optional(Instant),
})
export type ErasureView = Static<typeof ErasureView>
