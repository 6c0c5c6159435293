import type { JsonValue } from '../../contract/json.ts'
import type { ThreadRevision } from '../../contract/reviewer.ts'
import { inspectText, type TextWarning } from '../../domain/hidden-text.ts'
import { textsOf, treeOf } from '../payload/tree.ts'

/** A place of what the agent wrote, and what may deceive a reader there. */
export interface PlaceWarning {
  readonly place: string
  readonly warnings: readonly TextWarning[]
}

/** Everything that must be acknowledged before an approval: in claims, in the payload, in the texts of pictures that are not shown. */
export function warningsOf(revision: ThreadRevision, payload: JsonValue): PlaceWarning[] {
  const found = new Map<string, Set<TextWarning>>()
  for (const { place, text } of texts(revision, payload)) {
    for (const warning of inspectText(text).warnings) {
      const known = found.get(place)
      if (known === undefined) found.set(place, new Set([warning]))
      else known.add(warning)
    }
  }
  return [...found].map(([place, warnings]) => ({ place, warnings: [...warnings] }))
}

function* texts(revision: ThreadRevision, payload: JsonValue): Generator<{ place: string; text: string }> {
  const { subject, preview, summary = [], workflow_name, task_label, images = [], pictures } = revision
  const claims = { subject, preview, summary: summary.join('\n'), workflow: workflow_name, task: task_label }
  for (const [place, text] of Object.entries(claims)) if (text) yield { place, text }
  for (const [index, text] of images.entries())
    if (pictures[index]?.shown !== true) yield { place: `image ${index + 1}`, text }
  for (const { pointer, text } of textsOf(treeOf(payload, []))) yield { place: `payload${pointer}`, text }
}
