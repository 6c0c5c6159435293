import type { JsonValue } from '../../contract/json.ts'
import type { ThreadRevision } from '../../contract/reviewer.ts'
import { deceptiveWords, inspectText, type TextWarning } from '../../domain/hidden-text.ts'
import { textsOf, treeOf } from '../payload/tree.ts'

/** A place of what the agent wrote, and what may deceive a reader there. */
export interface PlaceWarning {
  readonly place: string
  readonly warnings: readonly TextWarning[]
  /** Words that read as others. */
  readonly words: readonly string[]
}

/** Everything that must be acknowledged before an approval: in claims, in the payload, in the texts of pictures that are not shown. */
export function warningsOf(revision: ThreadRevision, payload: JsonValue): PlaceWarning[] {
  const found = new Map<string, PlaceWarning>()
  for (const { place, text } of texts(revision, payload)) {
    const { warnings } = inspectText(text)
    if (warnings.length === 0) continue
    const known = found.get(place)
    found.set(place, {
      place,
      warnings: [...new Set([...(known?.warnings ?? []), ...warnings])],
      words: [...(known?.words ?? []), ...deceptiveWords(text)],
    })
  }
  return [...found.values()]
}

function* texts(revision: ThreadRevision, payload: JsonValue): Generator<{ place: string; text: string }> {
  const { subject, preview, summary = [], workflow_name, task_label, images = [], pictures } = revision
  const claims = { subject, preview, summary: summary.join('\n'), workflow: workflow_name, task: task_label }
  for (const [place, text] of Object.entries(claims)) if (text) yield { place, text }
  for (const [index, text] of images.entries())
    if (pictures[index]?.shown !== true) yield { place: `image ${index + 1}`, text }
  for (const { pointer, text } of textsOf(treeOf(payload, []))) yield { place: `payload${pointer}`, text }
}
