import { Type } from 'typebox'

/** A thread of which policy asks for more than at its submission. */
export const Raised = Type.Object(
  {
    at: Type.String({ format: 'date-time' }),
    asks: Type.String({ description: 'What policy asks for since then: `two of security-leads`.' }),
    fillable: Type.Boolean({
      description:
        'False when no reviewers can fill the seats: the agent withdraws the call and submits it again.',
    }),
  },
  { description: 'Policy asks for more than when the call was submitted.' },
)
