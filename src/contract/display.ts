/** How a call is displayed, and the results of votes. Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'
import { DecisionStatus, RiskLevel } from './agent.ts'

export const Display = Type.Object(
  {
    revision_digest: Type.String(),
    bundle: Type.String(),
    level: RiskLevel,
    reviewer: Type.String({ description: 'Your id: `displayed` of a vote fits its reviewer only.' }),
    template: Type.Optional(Type.String({ description: 'Absent for a call without a heading template.' })),
    parts: Type.Array(Type.String(), {
      description:
        'Parts to see: places of `because`, of hidden values, of warnings, and of fields that the last revision changed.',
    }),
  },
  { description: 'What `displayed` of a vote is computed from.' },
)
export type Display = Static<typeof Display>

export const LevelReview = Type.Object(
  {
    comments: Type.Array(Type.String(), { maxItems: 9, description: 'Ready-made comments of the level.' }),
    require_comment: Type.Boolean({ description: 'Whether a rejection needs a comment.' }),
    reveal: Type.Enum(['required', 'optional'], { description: 'Whether hidden values are parts to see.' }),
    require_displayed: Type.Boolean({ description: 'Whether an approval needs `displayed`.' }),
  },
  { description: 'How this level is reviewed (routing.yaml).' },
)
export type LevelReview = Static<typeof LevelReview>

/** One result for each vote, in the order of the request. */
export const VoteResults = Type.Object({
  results: Type.Array(
    Type.Object(
      {
        thread_id: Type.String(),
        status: Type.Optional({ ...DecisionStatus, description: 'The status after the vote.' }),
        problem: Type.Optional(
          Type.Object(
            { status: Type.Integer(), code: Type.String(), title: Type.String(), detail: Type.String() },
            { description: 'Why the vote was refused.' },
          ),
        ),
      },
      { description: 'It has either `status` or `problem`.' },
    ),
  ),
})
export type VoteResults = Static<typeof VoteResults>
