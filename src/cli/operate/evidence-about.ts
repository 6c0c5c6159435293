import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { isDisclosures } from '../../domain/disclosure.ts'
import { isAbout } from '../../domain/erasure.ts'
import { LONGEST_LINE_BYTES } from '../../evidence/verify.ts'
import { readFieldValue } from '../../policy/language/field-value.ts'
import { payloadPath } from '../../policy/language/payload-path.ts'
import { linesOf } from '../../system/lines.ts'
import { CliFailure } from '../terminal/failure.ts'

/** Yields the chosen lines of an export. */
export type Chosen = (export_: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array>

interface Line {
  readonly record?: JsonObject
  readonly disclosures?: JsonValue
}

/**
 * Chooses the records with the value in the field, and all later records of their threads. One filter serves all pages
 * of an export.
 */
export function chooseLines(field: string, equals: string): Chosen {
  const threads = new Set<string>()
  const value = readFieldValue(field, equals)
  if (typeof value === 'string') throw new CliFailure(`--field: ${value}`)
  const isChosen = (line: string): boolean => {
    const { record, disclosures } = JSON.parse(line) as Line
    // a record that is lost
    if (record === undefined) return false
    const { thread_id } = record
    const members = isDisclosures(disclosures) ? disclosures.members : {}
    const chosen =
      isAbout(members, value, payloadPath) || (typeof thread_id === 'string' && threads.has(thread_id))
    if (chosen && typeof thread_id === 'string') threads.add(thread_id)
    return chosen
  }
  return async function* chosen(source) {
    for await (const { bytes } of linesOf(source, LONGEST_LINE_BYTES))
      if (bytes.length > 0 && isChosen(bytes.toString('utf8')))
        yield Buffer.concat([bytes, Buffer.from('\n')])
  }
}
