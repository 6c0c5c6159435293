import type { FieldValue } from '../../domain/erasure.ts'
import { isFieldProblem, parseField } from './fields.ts'
import { payloadPath } from './payload-path.ts'

/** Reads a field whose value a person looks for. Returns a message for text that names no field. */
export function readFieldValue(text: string, equals: string): FieldValue | string {
  const field = parseField(text)
  if (isFieldProblem(field)) {
    const { message, hint } = field
    return hint === undefined ? message : `${message}: ${hint}`
  }
  if (field.fn !== undefined) return 'name the field without a function'
  return { field: field.name, equals, path: payloadPath(field.name) }
}
