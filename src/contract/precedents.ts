/** Earlier calls that a reviewer compares with a call. Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'
import { VoteDecision } from './review-requests.ts'

const Instant = Type.String({ format: 'date-time' })

/** The last approved call of the same agent and tool, field by field. */
export const LastApproved = Type.Object({
  call: Type.Optional(
    Type.Object(
      {
        thread_id: Type.String(),
        at: Instant,
        by: Type.Array(Type.String({ description: 'Name of a reviewer who approved it.' })),
        fields: Type.Array(
          Type.Object({
            field: Type.String({ description: 'The place as policies write it: `payload.to`.' }),
            same: Type.Optional(
              Type.Boolean({
                description: 'Absent for hidden values: equality would let a reader test guesses.',
              }),
            ),
            hidden: Type.Optional(Type.Literal(true, { description: 'The values are sensitive.' })),
            before: Type.Optional(
              Type.String({ description: 'Text of the earlier value, cut after 200 characters.' }),
            ),
            now: Type.Optional(
              Type.String({ description: 'Text of the value of this call, cut after 200 characters.' }),
            ),
          }),
        ),
      },
      { description: 'Absent when the last 200 decided calls of the tool have no such call.' },
    ),
  ),
})
export type LastApproved = Static<typeof LastApproved>

/**
 * The last decisions on calls of the same tool that fired the same rules for the same first value. Also the last
 * rejections of equal and of nearly equal calls of the tool.
 */
export const Precedents = Type.Object({
  decisions: Type.Array(
    Type.Object({
      thread_id: Type.String(),
      reviewer: Type.String(),
      name: Type.Optional(Type.String()),
      decision: VoteDecision,
      comment: Type.Optional(Type.String()),
      at: Instant,
    }),
    { maxItems: 5, description: 'Latest first: the last vote on each call.' },
  ),
  rejections: Type.Array(
    Type.Object({
      thread_id: Type.String(),
      agent: Type.String(),
      reviewer: Type.String(),
      name: Type.Optional(Type.String()),
      comment: Type.Optional(Type.String()),
      at: Instant,
      differs: Type.Array(Type.String(), {
        maxItems: 2,
        description: 'Places in which the calls differ, such as `payload.amount`. Empty for equal calls.',
      }),
    }),
    {
      maxItems: 5,
      description:
        'Latest first: rejections of calls of any agent that equal this call, or differ in one or two values that the caller may read.',
    },
  ),
  newer: Type.Optional(
    Type.Object(
      {
        thread_id: Type.String(),
        agent: Type.String(),
        at: Instant,
        field: Type.Optional(
          Type.String({ description: 'The first place in which it differs; absent for an equal call.' }),
        ),
        value: Type.Optional(
          Type.String({ description: 'Its value there, cut after 200 characters; absent when it has none.' }),
        ),
      },
      {
        description:
          'The latest call of the tool that was asked after this one and ran, with the same leading values.',
      },
    ),
  ),
})
export type Precedents = Static<typeof Precedents>
