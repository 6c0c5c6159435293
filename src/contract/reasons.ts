/** The rules that fired for a call, and why. Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'
import { RiskLevel } from './agent.ts'

const Read = Type.Union([
  Type.String(),
  Type.Number(),
  Type.Boolean(),
  Type.Null({ description: 'The value `null`.' }),
])

/** A value that made a rule fire. */
export const Because = Type.Object(
  {
    field: Type.String({ description: 'The place as policies write it: `payload.to[29]`, `task.workflow`.' }),
    value: Type.Optional({
      ...Read,
      description:
        'Cut after 200 characters; a list or an object is JSON text. Absent with `hidden` or `state`.',
    }),
    hidden: Type.Optional(Type.Literal(true, { description: 'The value is sensitive.' })),
    state: Type.Optional(
      Type.Enum(['missing', 'unreadable'], {
        description: '`unreadable`: the value has the wrong type or form for the test.',
      }),
    ),
    read: Type.Optional({
      ...Read,
      description:
        'What the test read in place of the value: the result of a function, the number of entries, or the default of a missing field.',
    }),
    of: Type.Optional(Type.Integer({ minimum: 0, description: 'Number of entries that the test judged.' })),
  },
  {
    description: 'A value that made a rule fire. It has exactly one of `value`, `hidden` and `state`.',
  },
)
export type Because = Static<typeof Because>

export const FiredRule = Type.Object({
  id: Type.String(),
  verdict: Type.Enum(['allow', 'review', 'reject']),
  mode: Type.Enum(['enforced', 'shadow']),
  reason: Type.String(),
  unknown: Type.Boolean({ description: 'Whether it fired only because a value could not be checked.' }),
  file: Type.String(),
  line: Type.Integer(),
  risk: Type.Optional({ ...RiskLevel, description: 'The risk of the rule, if it has one.' }),
  because: Type.Optional(
    Type.Array(Because, {
      maxItems: 20,
      description: 'The values that made the rule fire, those of the payload first. Absent in older threads.',
    }),
  ),
})

export type FiredRule = Static<typeof FiredRule>
