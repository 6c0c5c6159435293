/** The heading on the wire. Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'

/** The heading of a thread: the call in one line, which is also its row in every list. */
export const HeadingView = Type.Object(
  {
    line: Type.String({
      description: 'All segments as one line of plain text. Hidden characters are written as `[U+202E]`.',
    }),
    segments: Type.Array(
      Type.Object({
        text: Type.String({
          description:
            'Text as it was received. Show hidden characters when you display it, and never treat it as markup.',
        }),
        field: Type.Optional(
          Type.String({
            description:
              'Field whose value this is, such as `payload.amount_cents`. Absent for words of the policy.',
          }),
        ),
        exact: Type.Optional(
          Type.String({
            description: 'The value as it was sent, if it is short and differs from `text`.',
          }),
        ),
        sensitive: Type.Optional(
          Type.Literal(true, { description: 'True when the text is a tag in place of the value.' }),
        ),
        missing: Type.Optional(
          Type.Literal(true, { description: 'True when the payload does not have the field.' }),
        ),
      }),
    ),
    template: Type.Optional(
      Type.String({ description: 'SHA-256 (hex) of the summary in the contract. Absent without a summary.' }),
    ),
  },
  {
    description:
      "The `summary` of the tool's contract, or the tool and the fields that the deciding rules read. The gateway fills it from the payload when it decides the call.",
  },
)
export type HeadingView = Static<typeof HeadingView>
