import type { JsonObject } from '../../contract/json.ts'
import type { ReviewRequirement } from '../../domain/decision.ts'

/** The parts of a requirement that replay needs, to count approvals and find late ones. */
export function requirementDetails({ seats, expires_ms, ...flags }: ReviewRequirement): JsonObject {
  const { interactive, require_comment, require_displayed, working_ms } = flags
  return {
    expires_ms,
    ...(interactive === true ? { interactive } : {}),
    ...(require_comment === true ? { require_comment } : {}),
    ...(require_displayed === true ? { require_displayed } : {}),
    seats: seats.map(({ group, approvals, escalate }) => ({
      approvals,
      escalate: escalate.map((one) => ({ after_ms: one.after_ms, group: one.group })),
      group,
    })),
    ...(working_ms === undefined ? {} : { working_ms }),
  }
}
