/** A JSON value as the strict scan lets it through: no duplicate keys, no lossy numbers, no `__proto__`. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [key: string]: JsonValue
}
