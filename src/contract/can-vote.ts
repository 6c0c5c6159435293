import { Type } from 'typebox'

/** The votes that the caller may cast on a thread. */
export const CAN_VOTE = {
  can_vote: Type.Object({
    allowed: Type.Boolean(),
    code: Type.Optional(Type.String()),
    reason: Type.Optional(Type.String()),
  }),
  can_reject: Type.Boolean({
    description: 'True when the caller may reject the call, or take back its unused approval.',
  }),
}
