/** The heading on the wire. Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'

/** The heading of a thread: the call in one line, which is also its row in every list. */
export const HeadingView = Type.Object(
  {
    line: Type.String({
      description: 'All segments as one line of plain text; hidden characters stand as `[U+202E]`.',
    }),
    segments: Type.Array(
      Type.Object({
        text: Type.String({
          description:
            'As it came: what draws it must show hidden characters and take nothing in it for markup.',
        }),
        field: Type.Optional(
          Type.String({
            description:
              'The value of this field, such as `payload.amount_cents`; without it words of the policy.',
          }),
        ),
        exact: Type.Optional(
          Type.String({
            description: 'The value as it was sent, where `text` does not say it already and it is short.',
          }),
        ),
        sensitive: Type.Optional(Type.Literal(true, { description: 'The text is a tag.' })),
        missing: Type.Optional(Type.Literal(true, { description: 'The payload does not have the field.' })),
      }),
    ),
    template: Type.Optional(
      Type.String({ description: 'SHA-256 (hex) of the summary in the contract; absent where it has none.' }),
    ),
  },
  {
    description:
      "By the `summary` of the tool's contract, or the tool and the fields that the deciding rules read. Made when the call was decided, of its payload.",
  },
)
export type HeadingView = Static<typeof HeadingView>
