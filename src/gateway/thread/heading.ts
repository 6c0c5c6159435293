import type { JsonObject } from '../../contract/json.ts'
import { type Heading, headingOf, hideFields } from '../../domain/heading.ts'
import { isSensitive } from '../../policy/language/sensitive.ts'
import type { Outcome, Snapshot } from '../../policy/language/snapshot.ts'
import { tagger } from './mask-sensitive.ts'

export interface Headed {
  readonly tenant: string
  readonly tool: string
  readonly payload: JsonObject
  readonly outcome: Pick<Outcome, 'by' | 'fired'>
}

/**
 * The heading of a call, by the policy that decided it. Equal sensitive values have equal tags under the key
 * of a thread, so that a changed value in a revision is visible.
 */
export function makeHeading(
  snapshot: Snapshot | undefined,
  { tenant, tool, payload, outcome: { by, fired } }: Headed,
  key: string,
): Heading {
  if (snapshot === undefined || !snapshot.knows(tenant, tool)) return bareHeading(tool)
  const enforced = fired.filter(({ mode }) => mode === 'enforced')
  const places = enforced.flatMap(({ because = [] }) => because.map(({ field }) => field))
  return snapshot.headingOf({ tool, payload }, { by, places }, tagger(key))
}

/** The heading of a call whose tool no policy knows. */
export function bareHeading(tool: string): Heading {
  return headingOf([{ text: tool }])
}

/**
 * The heading as it may be shown now. The values that the contract in force marks as sensitive are hidden; without a
 * contract, all values are.
 */
export function shownHeading(snapshot: Snapshot | undefined, tool: string, heading: Heading): Heading {
  const sensitive = snapshot?.tools.get(tool)?.sensitive
  return hideFields(heading, (field) => sensitive === undefined || isSensitive(sensitive, field))
}
