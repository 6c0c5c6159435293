import { createHash } from 'node:crypto'
import type { JsonObject } from '../../contract/json.ts'
import { hintForField } from './field-hint.ts'
import { isFieldProblem, parseField } from '../language/fields.ts'
import { readSummary, type CheckedSummary } from './summary.ts'
import { toJson, type Doc, type DocMap } from '../yaml/parse.ts'
import { checkSchema } from '../schema/check.ts'
import { checkSource } from './tool-source.ts'
import {
  defined,
  given,
  readKeys,
  readList,
  readMap,
  readName,
  readOneOf,
  readRisk,
  readText,
  TOOL_NAME,
  WORD,
  type Reader,
} from '../yaml/shape.ts'
import { MAX_DURATION_MS } from '../text/bounds.ts'
import { parseDuration } from '../text/text.ts'
import type { Mark } from '../yaml/source.ts'
import type { ToolContract } from '../language/snapshot.ts'
import { DISCLOSE, type Disclose } from '../language/disclose.ts'
import { PROOFS } from '../language/proof.ts'
import { REVERSIBILITIES } from '../language/reversibility.ts'

/** A contract with its document, for checks that need positions. */
export interface CheckedTool {
  readonly contract: ToolContract
  readonly nameAt: Doc
  readonly sourceAt: Doc | undefined
  readonly labelsAt: readonly Doc[]
  readonly sensitiveAt: readonly Doc[]
  readonly summary?: CheckedSummary
  readonly proofAt?: Doc
  /** True when a person has confirmed the effects of an imported tool. */
  readonly confirmed?: boolean
  readonly reader: Reader
}

/**
 * Checks one tools/ file (docs/policy-language.md). The file needs `tool`, `description`, `risk` and `input_schema`.
 */
export function checkTool(reader: Reader, doc: Doc): CheckedTool | undefined {
  const root = readMap(reader, doc, 'a tool contract')
  if (!root) return undefined
  const keys = readKeys(reader, root, {
    what: 'a tool contract',
    required: ['tool', 'description', 'risk', 'input_schema'],
    optional: ['summary', 'reversibility', 'proof', 'outcome', 'labels', 'sensitive', 'disclose', 'source'],
  })
  const name = given(keys.tool, (at) => readName(reader, at, '`tool`', TOOL_NAME))
  const description = given(keys.description, (at) => readText(reader, at, '`description`'))
  const summary = given(keys.summary, (at) => readSummary(reader, at, schemaOf(keys.input_schema)))
  const risk = given(keys.risk, (at) => readRisk(reader, at))
  const schema = given(keys.input_schema, (at) => readMap(reader, at, '`input_schema`'))
  if (schema) checkSchema(reader, schema)
  const reversibility = given(keys.reversibility, (at) =>
    readOneOf(reader, at, '`reversibility`', REVERSIBILITIES),
  )
  const proof = given(keys.proof, (at) => readOneOf(reader, at, '`proof`', PROOFS))
  const outcomeMs = given(keys.outcome, (at) => readOutcome(reader, at))
  const labelsAt = given(keys.labels, (at) => readList(reader, at, '`labels`')) ?? []
  const labels = labelsAt.flatMap((item) => readName(reader, item, 'a label', WORD) ?? [])
  const sensitive = given(keys.sensitive, (at) => checkSensitive(reader, at, schema)) ?? []
  const disclosed = given(keys.disclose, (at) => checkDisclose(reader, at, schema)) ?? []
  const origin = given(keys.source, (at) => checkSource(reader, at))
  const facts = { name, description, risk, schema }
  if (!isComplete(facts) || !keys.tool) return undefined
  const contract: ToolContract = {
    name: facts.name,
    description: facts.description,
    risk: facts.risk,
    labels,
    sensitive,
    inputSchema: schemaJson(facts.schema),
    revision: sha256(reader.source.text),
    ...defined({ summary: summary?.text, reversibility, proof, outcomeMs, source: origin?.source }),
    ...(disclosed.length > 0 && { disclose: Object.fromEntries(disclosed) }),
  }
  const sensitiveAt = [...itemsOf(keys.sensitive), ...keysOf(keys.disclose)]
  const found = { contract, nameAt: keys.tool, sourceAt: keys.source, labelsAt, sensitiveAt, reader }
  return { ...found, ...defined({ summary, proofAt: keys.proof, confirmed: origin?.confirmed }) }
}

function isComplete<T extends object>(facts: T): facts is { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.values(facts).every((fact) => fact !== undefined)
}

function checkSensitive(reader: Reader, doc: Doc, schema: DocMap | undefined): readonly string[] {
  return (readList(reader, doc, '`sensitive`') ?? []).flatMap((item) => {
    const text = readText(reader, item, 'a field')
    return text === undefined ? [] : payloadField(reader, item, { text, schema })
  })
}

/** Reports text that is not a field of the payload. Returns the name of the field. */
function payloadField(
  reader: Reader,
  at: { readonly mark: Mark },
  { text, schema }: { readonly text: string; readonly schema: DocMap | undefined },
): string {
  const field = parseField(text)
  if (isFieldProblem(field)) {
    const hint = hintForField(field, schema ? [schemaJson(schema)] : [])
    reader.report(field.code, at, field.message, hint)
    return text
  }
  if (field.root !== 'payload' || field.fn !== undefined)
    reader.report('unknown-field', at, `\`${text}\` is not a field of the payload`)
  return field.name
}

/** Reads `disclose`: what evidence keeps of each field. */
function checkDisclose(
  reader: Reader,
  doc: Doc,
  schema: DocMap | undefined,
): readonly (readonly [field: string, level: Disclose])[] {
  const map = readMap(reader, doc, '`disclose`')
  return (map?.entries ?? []).flatMap(({ key, keyMark, value }) => {
    const level = readOneOf(reader, value, `\`${key}\``, DISCLOSE)
    const field = payloadField(reader, { mark: keyMark }, { text: key, schema })
    return level === undefined ? [] : [[field, level] as const]
  })
}

/** Reads `outcome`: the time in which agents report how a call ended, ms. */
function readOutcome(reader: Reader, doc: Doc): number | undefined {
  const text = readText(reader, doc, '`outcome`')
  if (text === undefined) return undefined
  const ms = parseDuration(/^expected within (\S+)$/.exec(text)?.[1] ?? '')
  if (ms !== undefined && ms <= MAX_DURATION_MS) return ms
  const hint = 'write `expected within 10m`; the time has s, m, h or d, and is at most 31 days'
  return reader.report('bad-value', doc, `\`${text}\` is not a value for \`outcome\``, hint) as undefined
}

const itemsOf = (doc: Doc | undefined): readonly Doc[] => (doc?.kind === 'list' ? doc.items : [])

/** The keys of a mapping as texts with their places. */
const keysOf = (doc: Doc | undefined): readonly Doc[] =>
  doc?.kind === 'map'
    ? doc.entries.map(({ key, keyMark }) => ({ kind: 'text', value: key, mark: keyMark }))
    : []

function schemaOf(doc: Doc | undefined): readonly JsonObject[] {
  return doc?.kind === 'map' ? [schemaJson(doc)] : []
}

function schemaJson(schema: DocMap): JsonObject {
  return toJson(schema) as JsonObject
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
