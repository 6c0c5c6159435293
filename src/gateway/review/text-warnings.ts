import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { TextWarning, ThreadView } from '../../contract/reviewer.ts'
import { type Placed, textsIn, warningsOf } from '../../domain/text-warnings.ts'
import { payloadName } from '../../policy/language/fields.ts'
import { stepsOf } from '../../domain/place.ts'
import type { RevisionRecord } from '../core/records.ts'

export type Shown = Pick<ThreadView, 'payload' | 'masked' | 'pictures'>
type Revision = Pick<RevisionRecord, 'digest' | 'claims'> & Partial<Pick<RevisionRecord, 'fired'>>

/**
 * Maximum number of cached results. A page reloads its thread often, and the check of a long text in many scripts takes
 * a quarter of a second.
 */
const KEPT = 100
const kept = new Map<string, TextWarning[]>()

/**
 * Deceptive characters in the agent's texts: in claims, in the displayed payload, and in texts of images that are not
 * shown.
 */
export function warningsIn(revision: Revision, shown: Shown): TextWarning[] {
  // the digest covers everything that is shown except the tags, which cannot deceive a reader
  const key = JSON.stringify([revision.digest, shown.masked])
  const found = kept.get(key) ?? warningsOf(textsOf(revision, shown))
  kept.delete(key)
  kept.set(key, found)
  for (const [oldest] of kept) if (kept.size > KEPT) kept.delete(oldest)
  return found
}

/** The name of the place behind a JSON Pointer: `payload.to[2]` for `/to/2`. */
export const placeOf = (payload: JsonObject, pointer: string): string =>
  payloadName(stepsOf(payload, pointer))

function* textsOf({ claims, fired = [] }: Revision, { payload, pictures }: Shown): Generator<Placed> {
  const { subject, preview, summary = [], workflow_name, task_label, images = [] } = claims
  const said = { subject, preview, summary: summary.join('\n'), workflow: workflow_name, task: task_label }
  for (const [place, text] of Object.entries(said)) if (text) yield { place, text }
  for (const [index, text] of images.entries())
    if (pictures[index]?.shown !== true) yield { place: `image ${index + 1}`, text }
  const read = new Set(fired.flatMap(({ because = [] }) => because.map(({ field }) => field)))
  for (const one of textsIn(payload as JsonValue, 'payload'))
    yield { ...one, read: read.has(placeOf(payload as JsonObject, one.place.slice('payload'.length))) }
}
