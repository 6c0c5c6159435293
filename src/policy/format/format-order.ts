import { isObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { VERDICTS } from '../../domain/decision.ts'
import { DIRECTORY_KEYS } from '../check/directory.ts'
import { ROUTING_KEYS } from '../check/routing.ts'
import { schemaOf } from '../check/spec.ts'
import { TOOL_KEYS } from '../check/tool.ts'
import { factsUnder } from '../language/facts.ts'

/** The order of a mapping's keys (docs/policy-language.md). Other keys follow, in their original order. */
export interface KeyOrder {
  readonly keys: readonly string[]
  /** The order inside the value of a key; `*` applies to every other key. */
  readonly inside?: Readonly<Record<string, KeyOrder | undefined>>
}

const keys = (text: string): readonly string[] => text.split(' ')
const REVIEWERS: KeyOrder = { keys: keys('group approvals interactive expires') }

// Matches, tests and payloads keep the author's order, in which `explain` shows tests.
const RULE: KeyOrder = {
  keys: ['id', ...VERDICTS, ...keys('when unless unknown risk reviewers mode from until')],
  inside: { reviewers: REVIEWERS },
}
const LIMIT: KeyOrder = { keys: ['id', ...VERDICTS, ...keys('risk mode count sum at_most within per')] }
const CASE: KeyOrder = {
  keys: [...VERDICTS, ...keys('payload agent task used risk_level time tool risk by')],
  inside: {
    agent: { keys: [...factsUnder('agent').keys()] },
    task: { keys: [...factsUnder('task').keys()] },
    time: { keys: keys('weekday hour') },
  },
}
const RULE_FILE: KeyOrder = {
  keys: keys('tool tools owner missing_means mode conditions rules limits tests'),
  inside: { rules: RULE, limits: LIMIT, tests: CASE },
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

/** Returns the order for a file of a bundle, by its path. */
export function orderOf(path: string): KeyOrder | undefined {
  if (path === 'routing.yaml') return orderFrom(schemaOf(ROUTING_KEYS))
  if (path === 'directory.yaml') return orderFrom(schemaOf(DIRECTORY_KEYS))
  return path.startsWith('tools/') ? orderFrom(schemaOf(TOOL_KEYS)) : RULE_FILE
}

/** Returns the order inside the value of a key; undefined when its keys keep their order. */
export function orderInside(order: KeyOrder, key: string): KeyOrder | undefined {
  return order.inside && (Object.hasOwn(order.inside, key) ? order.inside[key] : order.inside['*'])
}
