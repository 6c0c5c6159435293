import { stringify } from 'yaml'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { Risk } from '../../domain/decision.ts'
import type { BundleText } from '../check/check.ts'
import { checkTool } from '../check/tool.ts'
import { loosen } from './loosen.ts'
import {
  createSchemaImport,
  importReferred,
  isObject,
  readable,
  type ImportNote,
  type SchemaImport,
} from './schema.ts'
import { proposeSummary } from './summary.ts'
import { parseSource } from '../yaml/parse.ts'
import { createReader } from '../yaml/shape.ts'
import { createFindings, createSource } from '../yaml/source.ts'

/** Contracts made from a foreign description. Nothing is ever half imported: a tool whose contract would not check is left out, and noted. */
export interface ImportResult {
  readonly files: readonly BundleText[]
  readonly notes: readonly ImportNote[]
}

/** One tool of a foreign description. */
export interface ForeignTool extends Pick<SchemaImport, 'root' | 'rootPointer'> {
  readonly name: string
  readonly description: string | undefined
  /** What it takes, by importSchema. */
  readonly schema: (task: SchemaImport) => JsonValue
  /** Where it stands. */
  readonly pointer: string
  readonly effect: Effect
}

/** What a tool is said to do to the world. A server's word is no proof: a person reads the contract before it is merged. */
export interface Effect {
  readonly risk: Risk
  readonly reversibility?: 'read_only' | 'reversible' | 'external' | 'irreversible'
  readonly because: string
}

export interface ImportOptions {
  /** In front of every tool's name: `github.`. */
  readonly prefix: string
}

export function importTools(tools: readonly ForeignTool[], { prefix }: ImportOptions): ImportResult {
  const notes: ImportNote[] = []
  const names = new Set<string>()
  const files = tools.flatMap((tool) => {
    const name = uniqueName(names, fitName(`${prefix}${tool.name}`))
    if (name !== `${prefix}${tool.name}`)
      notes.push({
        pointer: tool.pointer,
        message: `\`${readable(tool.name).slice(0, 80)}\` is called \`${name}\``,
      })
    const file = contractFile(name, tool, createSchemaImport(tool, notes))
    const problem = problemOf(file)
    if (problem === undefined) return [file]
    notes.push({ pointer: tool.pointer, message: `left out: its contract would not check: ${problem}` })
    return []
  })
  return { files, notes }
}

/** A name that TOOL_NAME takes. */
function fitName(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_.:/-]+/g, '_').slice(0, 120)
  return plain.replace(/^[^A-Za-z0-9]+/, '').replace(/[^A-Za-z0-9]+$/, '') || 'tool'
}

/** Two tools never share a name, nor, on any file system, a file. */
function uniqueName(taken: Set<string>, base: string): string {
  let name = base
  for (let n = 2; taken.has(fileName(name)); n++) name = `${base}_${n}`
  taken.add(fileName(name))
  return name
}

function fileName(tool: string): string {
  return tool.replaceAll(/[:/]/g, '_').toLowerCase()
}

function contractFile(name: string, tool: ForeignTool, task: SchemaImport): BundleText {
  const { risk, reversibility, because } = tool.effect
  const input_schema = inputSchema(task, tool)
  const summary = proposeSummary(name, input_schema)
  const head = [
    `# Imported. Risk and reversibility are suggestions (${because}): read them, and add labels and sensitive fields.`,
    `tool: ${JSON.stringify(name)}`,
    `description: ${JSON.stringify(readable(tool.description?.trim() ?? '') || 'No description was given.')}`,
    ...(summary === undefined ? [] : [`summary: ${JSON.stringify(summary)}`]),
    `risk: ${risk}`,
    ...(reversibility === undefined ? [] : [`reversibility: ${reversibility}`]),
  ]
  const schema = { input_schema }
  const text = stringify(schema, { lineWidth: 0, aliasDuplicateObjects: false, version: '1.2' })
  return { path: `tools/${name.replaceAll(/[:/]/g, '_')}.yaml`, text: `${head.join('\n')}\n${text}` }
}

/** A payload is always an object, whether the description says so or not. */
function inputSchema(task: SchemaImport, tool: ForeignTool): JsonObject {
  const imported = tool.schema(task)
  importReferred(task)
  const loose = loosen(task, imported)
  const schema = isObject(loose) ? loose : {}
  const { type: _, ...rest } = schema
  return {
    type: 'object',
    ...rest,
    ...(task.defs.size > 0 && { $defs: Object.fromEntries(task.defs) }),
  }
}

/** The tool that a contract is for; undefined when the file does not say. */
export function toolOfContract({ path, text }: BundleText): string | undefined {
  const doc = parseSource(createSource(path, text), createFindings())
  const named = doc?.kind === 'map' ? doc.entries.find(({ key }) => key === 'tool')?.value : undefined
  return named?.kind === 'text' ? named.value : undefined
}

/** The first thing `countersign check` would say about the contract. */
function problemOf({ path, text }: BundleText): string | undefined {
  const findings = createFindings()
  const source = createSource(path, text)
  const doc = parseSource(source, findings)
  if (doc) checkTool(createReader(source, findings), doc)
  return findings.sorted().find(({ severity }) => severity === 'error')?.message
}
