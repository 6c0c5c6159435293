import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import { SCHEMA_KEYWORDS } from '../schema/check.ts'
import { type SchemaImport } from './schema.ts'

/*
 * A schema accepts more values after an import drops a keyword. If the dropped keyword is inside `not`, `if`, `oneOf`
 * or `maxContains`, or next to keywords for remaining members or items, the whole schema accepts fewer. So the import
 * also drops or loosens these keywords, and a contract never refuses values that its description permits.
 */

interface Loosening {
  readonly task: SchemaImport
  /** Names of definitions that accept more than their originals. */
  readonly definitions: ReadonlySet<string>
}

/** Loosens an imported schema and the task's definitions until neither is stricter than its original. */
export function loosen(task: SchemaImport, schema: JsonValue): JsonValue {
  const context = { task, definitions: lossyDefinitions(task) }
  for (const [name, one] of task.defs) task.defs.set(name, loosened(context, one))
  return loosened(context, schema)
}

function lossyDefinitions({ defs, losses }: SchemaImport): ReadonlySet<string> {
  const users = new Map<string, string[]>()
  for (const [name, schema] of defs)
    for (const used of refsIn(schema)) users.set(used, [...(users.get(used) ?? []), name])
  const lossy = new Set(
    [...defs].filter(([, one]) => isObject(one) && losses.schemas.has(one)).map(([name]) => name),
  )
  for (const name of lossy) for (const user of users.get(name) ?? []) lossy.add(user)
  return lossy
}

function loosened(context: Loosening, schema: JsonValue): JsonValue {
  if (!isObject(schema)) return schema
  const entries = Object.entries(schema).map(([key, value]) => [key, loosenedKeyword(context, key, value)])
  const result = Object.fromEntries(entries) as Record<string, JsonValue>
  for (const { keyword, applies, without, because } of RULES) {
    if (schema[keyword] === undefined || !applies(context, schema)) continue
    without(result)
    const pointer = `${context.task.losses.places.get(schema) ?? ''}/${keyword}`
    context.task.notes.push({ pointer, message: because })
  }
  return result
}

function loosenedKeyword(context: Loosening, keyword: string, value: JsonValue): JsonValue {
  const kind = SCHEMA_KEYWORDS.get(keyword)
  if (kind === 'schema') return loosened(context, value)
  if (kind === 'schemas') return (value as readonly JsonValue[]).map((one) => loosened(context, one))
  if (kind !== 'schemaMap') return value
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([name, one]) => [name, loosened(context, one)]),
  )
}

interface Rule {
  readonly keyword: string
  /** Returns true when the rule applies to an imported schema that has the keyword. */
  readonly applies: (context: Loosening, schema: JsonObject) => boolean
  readonly without: (schema: Record<string, JsonValue>) => void
  readonly because: string
}

const lacksNames = ({ task }: Loosening, { properties, patternProperties }: JsonObject): boolean =>
  [properties, patternProperties].some((map) => isObject(map) && task.losses.maps.has(map))

const leftOver = (keyword: string, applies: Rule['applies']): Rule => ({
  keyword,
  applies,
  without: (schema) => delete schema[keyword],
  because: 'dropped: another keyword was dropped, so the remaining members are unknown',
})

/** Turns `oneOf` into `anyOf`. If the schema already has an `anyOf`, both are required. */
function anyInstead(schema: Record<string, JsonValue>): void {
  const branches = schema['oneOf'] as JsonValue
  delete schema['oneOf']
  if (schema['anyOf'] === undefined) schema['anyOf'] = branches
  else schema['allOf'] = [...((schema['allOf'] ?? []) as readonly JsonValue[]), { anyOf: branches }]
}

const RULES: readonly Rule[] = [
  {
    keyword: 'not',
    applies: (context, { not }) => isLossy(context, not),
    without: (schema) => delete schema['not'],
    because: 'dropped: without the dropped part it would refuse more',
  },
  {
    keyword: 'if',
    applies: (context, schema) => isLossy(context, schema['if']),
    without: (schema) => ['if', 'then', 'else'].forEach((one) => delete schema[one]),
    because: 'dropped with `then` and `else`: without the dropped part it would hold for more',
  },
  {
    keyword: 'oneOf',
    applies: (context, { oneOf }) => (oneOf as readonly JsonValue[]).some((one) => isLossy(context, one)),
    without: anyInstead,
    because: 'is `anyOf` in the contract: without the dropped parts, several branches may fit',
  },
  {
    keyword: 'maxContains',
    applies: (context, { contains }) => isLossy(context, contains),
    without: (schema) => delete schema['maxContains'],
    because: 'dropped: more would be counted, because something in `contains` was dropped',
  },
  leftOver('additionalProperties', lacksNames),
  leftOver('unevaluatedProperties', isLossy),
  leftOver('unevaluatedItems', isLossy),
]

function isLossy({ task, definitions }: Loosening, schema: JsonValue | undefined): boolean {
  if (!isObject(schema)) return false
  return task.losses.schemas.has(schema) || refsIn(schema).some((name) => definitions.has(name))
}

/** Returns the names of all definitions that a schema refers to. */
function refsIn(schema: JsonValue): readonly string[] {
  if (!isObject(schema)) return []
  const { $ref } = schema
  const own = typeof $ref === 'string' ? [$ref.slice('#/$defs/'.length)] : []
  return [...own, ...partsOf(schema).flatMap((part) => refsIn(part))]
}

function partsOf(schema: JsonObject): readonly JsonValue[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const kind = SCHEMA_KEYWORDS.get(keyword)
    if (kind === 'schema') return [value]
    if (kind === 'schemas') return value as readonly JsonValue[]
    return kind === 'schemaMap' ? Object.values(value as JsonObject) : []
  })
}
