import { recall, type Recalled } from '../../policy/backtest/recall.ts'
import { ExportError, readExport } from '../../policy/backtest/records.ts'
import type { Explanation } from '../../policy/evaluate/explanation.ts'
import type { Outcome, Snapshot } from '../../policy/language/snapshot.ts'
import { isFieldProblem, parseField } from '../../policy/language/fields.ts'
import { usage } from '../terminal/failure.ts'
import { inputOf } from '../terminal/input.ts'

/** The call of a decision, as its record has it. */
export interface Recorded extends Recalled {
  readonly template?: string | undefined
}

/** The call of a decision in one line of `countersign evidence export --disclosures`. */
export async function readRecordedCall(file: string): Promise<Recorded> {
  const bytes = await inputOf(file)
  try {
    for await (const event of readExport(once(bytes)).events) {
      if (event.kind === 'decided') return { ...recall(event), template: event.template }
    }
  } catch (error) {
    if (error instanceof ExportError) throw usage(`\`${file}\`: ${error.message}`)
    throw error
  }
  throw usage(`\`${file}\` is not the record of a decision by policy`)
}

async function* once(bytes: Buffer): AsyncGenerator<{ readonly bytes: Buffer }> {
  yield await Promise.resolve({ bytes })
}

/**
 * The heading of a recorded call, from its values. Undefined unless the bundle still has the template that the record
 * names, because another template would show another line.
 */
export function headingIn(
  snapshot: Snapshot,
  { call, template }: Recorded,
  outcome: Outcome,
): string | undefined {
  if (template === undefined || snapshot.templateOf(call.tool) !== template) return undefined
  return snapshot.headingOf(call, { by: outcome.by, places: [] }, () => '[hidden]').line
}

/** The fields that the bundle reads, and whose values evidence does not have: never kept, expired or erased. */
export function goneFrom({ outcome }: Explanation, { isUnknown }: Recalled): string[] {
  return outcome.reads.flatMap(({ field: name, state }) => {
    const field = parseField(name)
    return state === 'missing' && !isFieldProblem(field) && isUnknown(field) ? [name] : []
  })
}
