import { isObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { CASE_KEYS } from '../check/case.ts'
import { DIRECTORY_KEYS } from '../check/directory.ts'
import { LIMIT_KEYS } from '../check/limit.ts'
import { ROUTING_KEYS } from '../check/routing.ts'
import { RULE_KEYS } from '../check/rule.ts'
import { RULE_FILE_KEYS } from '../check/rules.ts'
import { schemaOf } from '../check/spec.ts'
import { TOOL_KEYS } from '../check/tool.ts'

/** The order of a mapping's keys (docs/policy-language.md). Other keys follow, in their original order. */
export interface KeyOrder {
  readonly keys: readonly string[]
  /** The order inside the value of a key; `*` applies to every other key. */
  readonly inside?: Readonly<Record<string, KeyOrder | undefined>>
}

/** Returns the order of a schema's keys. A mapping that may have other keys keeps the author's order. */
function orderFrom(schema: JsonValue | undefined): KeyOrder | undefined {
  if (!isObject(schema)) return undefined
  const { properties = {}, additionalProperties: others, items, anyOf } = schema
  if (Array.isArray(anyOf)) return anyOf.map(orderFrom).find((order) => order !== undefined)
  if (items !== undefined) return orderFrom(items)
  if (others !== false)
    return others === undefined ? undefined : { keys: [], inside: { '*': orderFrom(others) } }
  const parts = Object.entries(properties as JsonObject)
  return {
    keys: parts.map(([key]) => key),
    inside: Object.fromEntries(parts.map(([key, part]) => [key, orderFrom(part)])),
  }
}

const of = (spec: Parameters<typeof schemaOf>[0]): KeyOrder => orderFrom(schemaOf(spec)) ?? { keys: [] }

/** Returns the order for a file of a bundle, by its path. */
export function orderOf(path: string): KeyOrder {
  if (path === 'routing.yaml') return of(ROUTING_KEYS)
  if (path === 'directory.yaml') return of(DIRECTORY_KEYS)
  if (path.startsWith('tools/')) return of(TOOL_KEYS)
  // Matches, tests and payloads keep the author's order, in which `explain` shows tests.
  const inside = { rules: of(RULE_KEYS), limits: of(LIMIT_KEYS), tests: of(CASE_KEYS) }
  return { keys: of(RULE_FILE_KEYS).keys, inside }
}

/** Returns the order inside the value of a key; undefined when its keys keep their order. */
export function orderInside(order: KeyOrder, key: string): KeyOrder | undefined {
  return order.inside && (Object.hasOwn(order.inside, key) ? order.inside[key] : order.inside['*'])
}
