import { type JsonObject, type JsonValue, pointerNames } from '../contract/json.ts'

/** The steps to the place behind a JSON Pointer: digits are an index in a list, and a name in an object. */
export function stepsOf(payload: JsonObject, pointer: string): readonly (string | number)[] {
  const steps: (string | number)[] = []
  let value: JsonValue | undefined = payload
  for (const name of pointerNames(pointer)) {
    const inside: JsonValue | undefined = value
    steps.push(Array.isArray(inside) ? Number(name) : name)
    value = inside !== null && typeof inside === 'object' ? (inside as JsonObject)[name] : undefined
  }
  return steps
}
