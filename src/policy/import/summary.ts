import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import { payloadName } from '../language/fields.ts'

import { parseSummary } from '../summary/template.ts'
import { READS, type SummaryFormat } from '../summary/formats.ts'
import { schemaValues } from '../schema/values.ts'
import { canBePresent } from '../schema/possible.ts'

/** The maximum number of fields in a proposal. Required fields are first. */
const PROPOSED_FIELDS = 4

/**
 * Proposes a `summary` for a contract: the tool's name and its first fields, in formats that their names and schemas
 * suggest. Returns undefined for a tool without suitable fields.
 */
export function proposeSummary(tool: string, schema: JsonObject): string | undefined {
  const { properties, required } = schema
  if (!isObject(properties)) return undefined
  const needed = Array.isArray(required) ? (required as readonly JsonValue[]) : []
  const names = Object.keys(properties).filter((name) => isNameable(name, schema))
  const ordered = [
    ...names.filter((name) => needed.includes(name)),
    ...names.filter((name) => !needed.includes(name)),
  ]
  const fields = ordered.slice(0, PROPOSED_FIELDS)
  const text = [tool, ...fields.map((name) => fieldText(name, schema, properties))].join(' ')
  return fields.length > 0 && parseSummary(text).ok ? text : undefined
}

/** Returns true for a name in printable ASCII of a field that can be present. */
function isNameable(name: string, schema: JsonObject): boolean {
  return /^[\x20-\x7e]+$/.test(name) && canBePresent(schemaValues(schema, [name]))
}

const braced = (text: string): string => text.replaceAll(/[{}[\]]/g, '$&$&')

function fieldText(name: string, root: JsonObject, properties: JsonObject): string {
  const path = payloadName([name]).replace(/^payload\.?/, '')
  const schema = properties[name]
  const format = isObject(schema) ? formatFor(name, schema, properties) : undefined
  const fits = format === undefined || READS[format].fits(schemaValues(root, [name]))
  const suffix = format === undefined || !fits ? '' : format === 'money' ? '|money:currency' : `|${format}`
  return `${braced(name)} {${path}${suffix}}`
}

function formatFor(name: string, schema: JsonObject, properties: JsonObject): SummaryFormat | undefined {
  if (isMinorUnits(name, schema) && isText(properties['currency'])) return 'money'
  return SUGGESTED.find(([, fits]) => fits(name, schema))?.[0]
}

/**
 * Returns true for an integer whose name indicates minor units. For other amounts, the position of the decimal point is
 * unknown.
 */
function isMinorUnits(name: string, schema: JsonObject): boolean {
  return typesOf(schema).includes('integer') && /(?:^|_)(?:cents|minor|minor_units)$/.test(name)
}

const DATES: readonly JsonValue[] = ['date', 'date-time']

const SUGGESTED: readonly (readonly [SummaryFormat, (name: string, schema: JsonObject) => boolean])[] = [
  ['list', (_, schema) => typesOf(schema).includes('array')],
  ['bytes', (name, schema) => isNumber(schema) && /(?:^|_)bytes$/.test(name)],
  ['date', (_, schema) => isText(schema) && DATES.includes(schema['format'] ?? null)],
  ['path', (name, schema) => isText(schema) && /^(?:file_?)?path$/.test(name)],
  ['short', (_, schema) => isText(schema) && !isClosed(schema)],
]

/** Returns true when the values are few or short, or have a known format. */
function isClosed({ enum: values, const: only, format, maxLength }: JsonObject): boolean {
  const isBrief = typeof maxLength === 'number' && maxLength <= 80
  return values !== undefined || only !== undefined || format !== undefined || isBrief
}

function typesOf({ type }: JsonObject): readonly JsonValue[] {
  return Array.isArray(type) ? (type as readonly JsonValue[]) : type === undefined ? [] : [type]
}

function isNumber(schema: JsonObject): boolean {
  return typesOf(schema).some((type) => type === 'integer' || type === 'number')
}

function isText(schema: JsonValue | undefined): schema is JsonObject {
  if (!isObject(schema)) return false
  const values = schema['enum']
  return (
    typesOf(schema).includes('string') ||
    (Array.isArray(values) && (values as readonly JsonValue[]).some((value) => typeof value === 'string'))
  )
}
