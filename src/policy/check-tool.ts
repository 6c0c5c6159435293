import { createHash } from 'node:crypto'
import type { JsonObject } from '../contract/json.ts'
import { RISKS } from '../domain/decision.ts'
import { isFieldProblem, parseField } from './fields.ts'
import { toJson, type Doc, type DocMap } from './parse.ts'
import { checkSchema } from './schema-check.ts'
import {
  readKeys,
  readList,
  readMap,
  readName,
  readOneOf,
  readText,
  TOOL_NAME,
  WORD,
  type Reader,
} from './shape.ts'
import type { ToolContract } from './snapshot.ts'

export const REVERSIBILITIES = ['read_only', 'reversible', 'external', 'irreversible'] as const

/** A contract with its document, for checks that need positions. */
export interface CheckedTool {
  readonly contract: ToolContract
  readonly nameAt: Doc
  readonly labelsAt: readonly Doc[]
  readonly reader: Reader
}

/** Checks one tools/ file (section 2): tool, description, risk and input_schema are required. */
export function checkTool(reader: Reader, doc: Doc): CheckedTool | undefined {
  const root = readMap(reader, doc, 'a tool contract')
  if (!root) return undefined
  const keys = readKeys(reader, root, {
    what: 'a tool contract',
    required: ['tool', 'description', 'risk', 'input_schema'],
    optional: ['reversibility', 'labels', 'sensitive'],
  })
  const name = keys.tool && readName(reader, keys.tool, '`tool`', TOOL_NAME)
  const description = keys.description && readText(reader, keys.description, '`description`')
  const risk = keys.risk && readOneOf(reader, keys.risk, '`risk`', RISKS)
  const schema = keys.input_schema && readMap(reader, keys.input_schema, '`input_schema`')
  if (schema) checkSchema(reader, schema)
  const reversibility =
    keys.reversibility && readOneOf(reader, keys.reversibility, '`reversibility`', REVERSIBILITIES)
  const labelsAt = (keys.labels && readList(reader, keys.labels, '`labels`')) ?? []
  const labels = labelsAt.flatMap((item) => readName(reader, item, 'a label', WORD) ?? [])
  const sensitive = keys.sensitive ? checkSensitive(reader, keys.sensitive) : []
  if (name === undefined || description === undefined || !risk || !schema || !keys.tool) return undefined
  const contract = {
    name,
    description,
    risk,
    labels,
    sensitive,
    inputSchema: schemaJson(schema),
    revision: sha256(reader.source.text),
  }
  return {
    contract: reversibility ? { ...contract, reversibility } : contract,
    nameAt: keys.tool,
    labelsAt,
    reader,
  }
}

function checkSensitive(reader: Reader, doc: Doc): readonly string[] {
  return (readList(reader, doc, '`sensitive`') ?? []).flatMap((item) => {
    const text = readText(reader, item, 'a field')
    if (text === undefined) return []
    const field = parseField(text)
    if (isFieldProblem(field)) reader.report(field.code, item, field.message, field.hint)
    else if (field.root !== 'payload' || field.fn !== undefined) {
      reader.report('unknown-field', item, `\`${text}\` is not a field of the payload`)
    }
    return text
  })
}

function schemaJson(schema: DocMap): JsonObject {
  return toJson(schema) as JsonObject
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
