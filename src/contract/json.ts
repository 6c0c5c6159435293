/** A JSON value that passed the strict scan: no duplicate keys, no lossy numbers, no `__proto__`. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [key: string]: JsonValue
}
