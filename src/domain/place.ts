import type { JsonObject, JsonValue } from '../contract/json.ts'

/** The steps to the place behind a JSON Pointer: digits are an index in a list, and a name in an object. */
export function stepsOf(payload: JsonObject, pointer: string): readonly (string | number)[] {
  const steps: (string | number)[] = []
  let value: JsonValue | undefined = payload
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    const inside: JsonValue | undefined = value
    steps.push(Array.isArray(inside) ? Number(name) : name)
    value = inside !== null && typeof inside === 'object' ? (inside as JsonObject)[name] : undefined
  }
  return steps
}
