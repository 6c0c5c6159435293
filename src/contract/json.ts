/** A JSON value that passed the strict scan: no duplicate keys, no lossy numbers, no `__proto__`. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [key: string]: JsonValue
}

export function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

/** Returns a step of a JSON Pointer (RFC 6901 section 3), with its slash. */
export function pointerStep(step: string | number): string {
  return `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** Returns the names in a JSON Pointer. */
export function pointerNames(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}
