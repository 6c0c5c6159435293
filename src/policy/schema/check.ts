import type { JsonObject, JsonValue } from '../../contract/json.ts'
import {
  MAX_ENUM_VALUES,
  MAX_SCHEMA_BRANCHES,
  MAX_SCHEMA_BYTES,
  MAX_SCHEMA_DEPTH,
  MAX_SCHEMA_NODES,
} from '../text/bounds.ts'
import { didYouMean } from '../text/nearest.ts'
import { toJson, type Doc, type DocMap } from '../yaml/parse.ts'
import { compilePattern } from '../language/patterns.ts'
import { contradictionsOf } from './contradictions.ts'
import { resolveRef } from './ref.ts'
import { checkSchemaCost } from './cost.ts'
import { SCHEMA_FORMATS } from './formats.ts'
import { readBoolean, readTexts, wrongType, type Reader } from '../yaml/shape.ts'

/** The shape of a JSON Schema 2020-12 keyword's value. The check refuses unknown keywords. */
export type KeywordKind =
  | 'schema'
  | 'schemas'
  | 'schemaMap'
  | 'count'
  | 'number'
  | 'text'
  | 'texts'
  | 'textsMap'
  | 'boolean'
  | 'any'
  | 'values'
  | 'type'
  | 'pattern'
  | 'format'
  | 'ref'
  | 'enum'

/** The keywords of each kind, as a string because an object with a `then` member would look like a promise. */
const KEYWORDS_BY_KIND: Readonly<Record<KeywordKind, string>> = {
  schema:
    'items contains unevaluatedItems additionalProperties propertyNames unevaluatedProperties not if then else',
  schemas: 'prefixItems allOf anyOf oneOf',
  schemaMap: '$defs definitions properties patternProperties dependentSchemas',
  count: 'maxLength minLength maxItems minItems maxContains minContains maxProperties minProperties',
  number: 'multipleOf maximum exclusiveMaximum minimum exclusiveMinimum',
  text: '$schema $comment title description',
  texts: 'required',
  textsMap: 'dependentRequired',
  boolean: 'uniqueItems deprecated readOnly writeOnly',
  any: 'default const',
  values: 'examples',
  type: 'type',
  pattern: 'pattern',
  format: 'format',
  ref: '$ref',
  enum: 'enum',
}
export const SCHEMA_KEYWORDS: ReadonlyMap<string, KeywordKind> = new Map(
  Object.entries(KEYWORDS_BY_KIND).flatMap(([kind, names]) =>
    names.split(' ').map((name) => [name, kind as KeywordKind] as const),
  ),
)
const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string']

interface Walk {
  readonly reader: Reader
  readonly root: DocMap
  nodes: number
}

/** Checks an input_schema against the keyword table and the limits; reports every problem. */
export function checkSchema(reader: Reader, schema: DocMap): void {
  if (schema.mark.end - schema.mark.start > MAX_SCHEMA_BYTES) {
    reader.report('bad-schema', schema, `input_schema is larger than ${MAX_SCHEMA_BYTES / 1024} KiB`)
    return
  }
  const type = schema.entries.find((entry) => entry.key === 'type')?.value
  if (type !== undefined && !(type.kind === 'text' && type.value === 'object')) {
    reader.report('bad-schema', type, 'input_schema must describe an object: a payload always is one')
  }
  const walk: Walk = { reader, root: schema, nodes: 0 }
  walkSchema(walk, schema, 0)
  if (!reader.findings.failed) checkSchemaCost(reader, schema)
}

function walkSchema(walk: Walk, schema: Doc, depth: number): void {
  if (schema.kind === 'boolean') return
  if (schema.kind !== 'map') return wrongType(walk.reader, schema, 'a schema', 'a mapping or true or false')
  if (++walk.nodes === MAX_SCHEMA_NODES + 1)
    walk.reader.report('bad-schema', schema, `input_schema has more than ${MAX_SCHEMA_NODES} parts`)
  if (walk.nodes > MAX_SCHEMA_NODES) return
  if (depth > MAX_SCHEMA_DEPTH)
    return walk.reader.report('bad-schema', schema, `input_schema is nested deeper than ${MAX_SCHEMA_DEPTH}`)
  for (const { key, keyMark, value } of schema.entries) {
    const kind = SCHEMA_KEYWORDS.get(key)
    if (kind === undefined) {
      const message = `\`${key}\` is not a schema keyword Countersign understands`
      walk.reader.report('bad-schema', { mark: keyMark }, message, didYouMean(key, SCHEMA_KEYWORDS.keys()))
    } else if (kind === 'schema') walkSchema(walk, value, depth + 1)
    else if (kind === 'schemas' || kind === 'schemaMap') walkMany(walk, { key, value }, depth)
    else checkKeyword(walk, kind, { key, value })
  }
  checkSense(walk.reader, schema)
  checkIntegers(walk.reader, schema)
}

/** Keywords that bound an integer. */
export const BOUNDING = ['minimum', 'exclusiveMinimum', 'maximum', 'exclusiveMaximum', 'enum', 'const']

/** Warns about integers without bounds. The gateway refuses calls with a value beyond 2^53 - 1, such as a 64-bit id. */
function checkIntegers(reader: Reader, { entries }: DocMap): void {
  const type = entries.find(({ key }) => key === 'type')?.value
  const types = type?.kind === 'list' ? type.items : [type]
  const isInteger = types.some((one) => one?.kind === 'text' && one.value === 'integer')
  if (type === undefined || !isInteger || entries.some(({ key }) => BOUNDING.includes(key))) return
  const hint = 'give it a `maximum`, or make an identifier text: see "Large numbers" in docs/agent-side.md'
  reader.report(
    'unbounded-integer',
    type,
    'an integer without bounds: calls with a value beyond 2^53-1 are refused',
    hint,
  )
}

/** Reports a schema whose own keywords no value can satisfy. */
function checkSense(reader: Reader, schema: DocMap): void {
  for (const { keyword, index, message, hint } of contradictionsOf(keywordsOf(schema))) {
    const value = schema.entries.find((entry) => entry.key === keyword)?.value
    const at = index !== undefined && value?.kind === 'list' ? value.items[index] : value
    reader.report('bad-schema', at ?? schema, message, hint)
  }
}

const SHORT: readonly (KeywordKind | undefined)[] = ['count', 'number', 'texts', 'type', 'pattern', 'format']

/** Returns the keywords that may contradict each other. An inner schema becomes true, false or `{}`. */
function keywordsOf(schema: DocMap): JsonObject {
  const hasDefault = schema.entries.some((entry) => entry.key === 'default')
  return Object.fromEntries(
    schema.entries.flatMap(({ key, value }): [string, JsonValue][] => {
      const kind = SCHEMA_KEYWORDS.get(key)
      if (kind === 'schema') return [[key, outlineOf(value)]]
      if (kind === 'schemaMap' && value.kind === 'map')
        return [[key, Object.fromEntries(value.entries.map((entry) => [entry.key, outlineOf(entry.value)]))]]
      const isRead = SHORT.includes(kind) || (hasDefault && (kind === 'enum' || kind === 'any'))
      return isRead ? [[key, toJson(value)]] : []
    }),
  )
}

const outlineOf = (schema: Doc): JsonValue => (schema.kind === 'boolean' ? schema.value : {})

interface Keyword {
  readonly key: string
  readonly value: Doc
}

function walkMany(walk: Walk, { key, value }: Keyword, depth: number): void {
  const inMap = SCHEMA_KEYWORDS.get(key) === 'schemaMap'
  if (inMap && value.kind === 'map') {
    for (const entry of value.entries) {
      if (key === 'patternProperties')
        checkPattern(walk, { kind: 'text', value: entry.key, mark: entry.keyMark })
      walkSchema(walk, entry.value, depth + 1)
    }
  } else if (!inMap && value.kind === 'list') {
    if (value.items.length === 0 || value.items.length > MAX_SCHEMA_BRANCHES) {
      walk.reader.report('bad-schema', value, `\`${key}\` must have 1 to ${MAX_SCHEMA_BRANCHES} entries`)
    } else for (const item of value.items) walkSchema(walk, item, depth + 1)
  } else wrongType(walk.reader, value, `\`${key}\``, inMap ? 'a mapping' : 'a list')
}

type LeafKind = Exclude<KeywordKind, 'schema' | 'schemas' | 'schemaMap'>

const CHECKS: Readonly<Record<LeafKind, (walk: Walk, keyword: Keyword) => void>> = {
  any: () => undefined,
  values: ({ reader }, { key, value }) => {
    if (value.kind !== 'list') wrongType(reader, value, `\`${key}\``, 'a list')
  },
  boolean: ({ reader }, { key, value }) => void readBoolean(reader, value, `\`${key}\``),
  text: ({ reader }, { key, value }) => {
    if (value.kind !== 'text') wrongType(reader, value, `\`${key}\``, 'text')
  },
  texts: ({ reader }, { key, value }) => void readTexts(reader, value, `\`${key}\``),
  textsMap: ({ reader }, { key, value }) => {
    if (value.kind !== 'map') return wrongType(reader, value, `\`${key}\``, 'a mapping')
    for (const entry of value.entries) readTexts(reader, entry.value, `\`${key}\``)
  },
  count: ({ reader }, { key, value }) => {
    if (value.kind !== 'number') return wrongType(reader, value, `\`${key}\``, 'a whole number')
    if (!Number.isInteger(value.value) || value.value < 0)
      reader.report('bad-schema', value, `\`${key}\` must be a whole number, at least 0`)
  },
  number: ({ reader }, { key, value }) => {
    if (value.kind !== 'number') return wrongType(reader, value, `\`${key}\``, 'a number')
    if (key === 'multipleOf' && value.value <= 0)
      reader.report('bad-schema', value, '`multipleOf` must be above 0')
  },
  type: ({ reader }, { value }) => {
    const names = value.kind === 'list' ? value.items : [value]
    if (names.length === 0) reader.report('bad-schema', value, '`type` must name at least one type')
    for (const name of names) {
      if (name.kind !== 'text') wrongType(reader, name, '`type`', 'text')
      else if (!TYPES.includes(name.value))
        reader.report('bad-schema', name, `\`${name.value}\` is not a type`, didYouMean(name.value, TYPES))
    }
  },
  enum: ({ reader }, { value }) => {
    if (value.kind !== 'list') return wrongType(reader, value, '`enum`', 'a list')
    if (value.items.length === 0 || value.items.length > MAX_ENUM_VALUES)
      reader.report('bad-schema', value, `\`enum\` must have 1 to ${MAX_ENUM_VALUES} values`)
  },
  format: ({ reader }, { value }) => {
    if (value.kind !== 'text') return wrongType(reader, value, '`format`', 'text')
    if (SCHEMA_FORMATS.some((format) => format === value.value)) return
    reader.report(
      'bad-schema',
      value,
      `unknown format \`${value.value}\``,
      didYouMean(value.value, SCHEMA_FORMATS) ?? `one of ${SCHEMA_FORMATS.join(', ')}`,
    )
  },
  pattern: (walk, { value }) => checkPattern(walk, value),
  ref: ({ reader, root }, { value }) => {
    if (value.kind !== 'text') return wrongType(reader, value, '`$ref`', 'text')
    if (resolveRef(root, value.value) === undefined) {
      reader.report(
        'bad-schema',
        value,
        `\`$ref\` leads nowhere: \`${value.value}\``,
        'use `#/$defs/NAME` with a name that is defined in this schema',
      )
    }
  },
}

function checkKeyword(walk: Walk, kind: LeafKind, keyword: Keyword): void {
  CHECKS[kind](walk, keyword)
}

function checkPattern({ reader }: Walk, value: Doc): void {
  if (value.kind !== 'text') return wrongType(reader, value, 'a pattern', 'text')
  const compiled = compilePattern(value.value)
  if (!compiled.ok) reader.report('bad-pattern', value, `this pattern cannot be used: ${compiled.problem}`)
}
