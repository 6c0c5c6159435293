import { type JsonObject, isObject } from '../../contract/json.ts'
import { isFieldProblem, parseField, type FieldProblem, payloadName } from '../language/fields.ts'
import { nearest } from '../text/nearest.ts'
import { propertyNames, sameValueParts } from '../schema/part.ts'
import type { FieldIr } from '../language/rule.ts'
import { childOf } from '../schema/child.ts'
import { showHidden } from '../text/text.ts'

/** Returns the hint for text that is not a FIELD. If possible, the hint is a payload field of a contract. */
export function hintForField(
  { name, hint }: FieldProblem,
  schemas: readonly JsonObject[],
): string | undefined {
  if (name === undefined) return hint
  if (name === 'payload') return exampleOf(schemas) ?? hint
  const inPayload = /^payload\.(.+)$/s.exec(name)?.[1]
  if (inPayload !== undefined) {
    const path = meantBy(inPayload, schemas) ?? nearTo(inPayload, schemas)
    return path === undefined ? quoting(inPayload) : `did you mean \`${payloadName(path)}\`?`
  }
  const field = `payload.${name}`
  const first = /^[^.[]+/.exec(name)?.[0] ?? ''
  const isMeant = !isFieldProblem(parseField(field)) && schemas.some((one) => namesIn(one).includes(first))
  return isMeant ? `did you mean \`${field}\`?` : hint
}

function exampleOf(schemas: readonly JsonObject[]): string | undefined {
  const name = schemas.flatMap(namesIn)[0]
  return name === undefined ? undefined : `name a field of it, such as \`${payloadName([name])}\``
}

const quoting = (name: string): string =>
  `a name of other characters is written in quotes: \`${showHidden(payloadName([name]))}\``

function nearTo(text: string, schemas: readonly JsonObject[]): FieldIr['path'] | undefined {
  const near = nearest(text, schemas.flatMap(namesIn))
  return near === undefined ? undefined : [near]
}

/** The maximum number of steps for one hint. Names with equal beginnings could otherwise need very many steps. */
const MOST_TRIES = 1_000

/** Returns the declared field whose path, without quotes, equals the text, such as `labels.app.kubernetes.io/name`. */
function meantBy(text: string, schemas: readonly JsonObject[]): FieldIr['path'] | undefined {
  const tries = { left: MOST_TRIES }
  for (const root of schemas) {
    const path = stepsTo({ root, tries }, sameValueParts(root, root), text)
    if (path) return path
  }
  return undefined
}

interface Search {
  readonly root: JsonObject
  readonly tries: { left: number }
}

function stepsTo(
  search: Search,
  parts: readonly JsonObject[],
  text: string,
): (string | number)[] | undefined {
  if (search.tries.left-- <= 0) return undefined
  const names = parts.flatMap(propertyNames).filter((name) => name !== '' && text.startsWith(name))
  const index = /^\[(\d{1,6})\]/.exec(text)
  const steps: (readonly [string | number, number])[] = [
    ...[...new Set(names)]
      .toSorted((a, b) => b.length - a.length)
      .map((name) => [name, name.length] as const),
    ...(index ? [[Number(index[1]), index[0].length] as const] : []),
  ]
  for (const [step, length] of steps) {
    const rest = text.slice(length)
    if (rest === '') return [step]
    if (!/^[.[]/.test(rest)) continue
    const below = parts.flatMap((part) => childOf(search.root, part, step).schemas).filter(isObject)
    const inside = below.flatMap((schema) => sameValueParts(search.root, schema))
    const found = stepsTo(search, inside, rest.replace(/^\./, ''))
    if (found) return [step, ...found]
  }
  return undefined
}

function namesIn(schema: JsonObject): readonly string[] {
  return sameValueParts(schema, schema).flatMap(propertyNames)
}
