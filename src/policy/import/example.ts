import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import { importTools, type ImportOptions, type ImportResult } from './contract.ts'

/** The longest string and list that a contract from an example permits, unless the example has longer ones. */
const MAX_TEXT = 1_000
const MAX_ITEMS = 100

/** Creates a contract from one example payload. The contract requires the fields of the example, and refuses others. */
export function importExample(tool: string, example: JsonObject, options: ImportOptions): ImportResult {
  const schema = schemaOf(example)
  const effect = { risk: 'medium', because: 'an example does not say what the tool does' } as const
  const description = undefined
  const foreign = {
    name: tool,
    description,
    schema: () => schema,
    root: schema,
    rootPointer: '',
    pointer: '',
    effect,
  }
  return importTools([foreign], options)
}

/** Returns a narrow schema for values like the example. For null, the schema permits any value. */
function schemaOf(value: JsonValue): JsonObject {
  if (value === null) return {}
  if (typeof value === 'string') return { type: 'string', maxLength: Math.max(MAX_TEXT, value.length) }
  if (typeof value === 'boolean') return { type: 'boolean' }
  if (typeof value === 'number') return numberSchema(value)
  if (isObject(value)) {
    const properties = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, schemaOf(one)]))
    return { type: 'object', additionalProperties: false, required: Object.keys(value), properties }
  }
  const items = value as readonly JsonValue[]
  return { type: 'array', maxItems: Math.max(MAX_ITEMS, items.length), ...itemSchema(items) }
}

/** Returns the schema of a number. Limits integers to the range that every JSON parser reads exactly. */
function numberSchema(value: number): JsonObject {
  if (!Number.isInteger(value)) return { type: 'number' }
  return {
    type: 'integer',
    minimum: value < 0 ? -Number.MAX_SAFE_INTEGER : 0,
    maximum: Number.MAX_SAFE_INTEGER,
  }
}

function itemSchema(items: readonly JsonValue[]): JsonObject {
  const distinct = [
    ...new Map(items.map((item) => [JSON.stringify(schemaOf(item)), schemaOf(item)])).values(),
  ]
  const [first] = distinct
  if (first === undefined) return {}
  return { items: distinct.length === 1 ? first : { anyOf: distinct } }
}
