import type { JsonObject } from '../../contract/json.ts'
import { isFieldProblem, parseField, type FieldProblem } from '../language/fields.ts'
import { nearest } from '../language/nearest.ts'
import { propertyNames, sameValueParts } from '../schema/part.ts'

/** The hint for what is no FIELD: a field of the payload, where one of the contracts declares it. */
export function hintForField(
  { name, hint }: FieldProblem,
  schemas: readonly JsonObject[],
): string | undefined {
  if (name === undefined) return hint
  if (name === 'payload') return exampleOf(schemas) ?? hint
  const inPayload = /^payload\.(.+)$/s.exec(name)?.[1]
  if (inPayload !== undefined) {
    const near = nearest(inPayload, schemas.flatMap(namesIn))
    return near === undefined ? hint : `did you mean \`payload.${near}\`?`
  }
  const field = `payload.${name}`
  const first = /^[^.[]+/.exec(name)?.[0] ?? ''
  const isMeant = !isFieldProblem(parseField(field)) && schemas.some((one) => namesIn(one).includes(first))
  return isMeant ? `did you mean \`${field}\`?` : hint
}

function exampleOf(schemas: readonly JsonObject[]): string | undefined {
  for (const schema of schemas) {
    const name = namesIn(schema).find((one) => !isFieldProblem(parseField(`payload.${one}`)))
    if (name !== undefined) return `name a field of it, such as \`payload.${name}\``
  }
  return undefined
}

function namesIn(schema: JsonObject): readonly string[] {
  return sameValueParts(schema, schema).flatMap(propertyNames)
}
