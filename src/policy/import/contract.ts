import { stringify } from 'yaml'
import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import { defined } from '../../contract/defined.ts'
import type { ToolSource } from '../../contract/tool-source.ts'
import type { Risk } from '../../domain/decision.ts'
import type { BundleText } from '../bundle/check.ts'
import { checkTool } from '../check/tool.ts'
import { loosen } from './loosen.ts'
import { createSchemaImport, importReferred, readable, type ImportNote, type SchemaImport } from './schema.ts'
import { proposeSummary } from './summary.ts'
import { parseSource } from '../yaml/parse.ts'
import { createReader, TOOL_NAME } from '../yaml/shape.ts'
import { createFindings, createSource } from '../yaml/source.ts'

/** Contracts from a foreign description. `notes` names the tools without a contract, with reasons. */
export interface ImportResult {
  readonly files: readonly ImportedFile[]
  readonly notes: readonly ImportNote[]
}

/** A contract with its origin. */
export interface ImportedFile extends BundleText {
  readonly tool: string
  readonly effect: Effect
  /** The origin of a tool from an MCP server; otherwise absent. */
  readonly source?: ToolSource
}

/** One tool of a foreign description. */
export interface ForeignTool extends Pick<SchemaImport, 'root' | 'rootPointer'> {
  readonly name: string
  readonly description: string | undefined
  /** Returns the tool's input schema in the form that contracts use. */
  readonly schema: (task: SchemaImport) => JsonValue
  /** The tool's position in the description (JSON Pointer). */
  readonly pointer: string
  readonly effect: Effect
  readonly source?: ToolSource
}

/**
 * The declared effects of a tool. Declared effects are unverified, so a person reads the contract before it is merged.
 */
export interface Effect {
  readonly risk: Risk
  readonly reversibility?: 'read_only' | 'reversible' | 'external' | 'irreversible'
  readonly because: string
}

export interface ImportOptions {
  /** The prefix of every tool's name, such as `github.`. */
  readonly prefix: string
  /** Imports only the tool of this name, under the name `as`. */
  readonly one?: { readonly name: string; readonly as: string }
}

export function importTools(all: readonly ForeignTool[], { prefix, one }: ImportOptions): ImportResult {
  const notes: ImportNote[] = []
  const tools = one
    ? all.filter(({ name }) => name === one.name).map((tool) => ({ ...tool, name: one.as }))
    : all
  const { named, twins } = nameTools(tools, prefix)
  for (const { name, pointer } of twins) {
    const message = 'left out: another tool has this name, so the name of a call would be ambiguous'
    notes.push({ pointer, message, leftOut: readable(name) })
  }
  const paths = new Set<string>()
  const files = named.flatMap(({ tool, name }): ImportedFile[] => {
    const { effect, source, pointer } = tool
    if (name !== `${prefix}${tool.name}`)
      notes.push({ pointer, message: `\`${readable(tool.name).slice(0, 80)}\` is called \`${name}\`` })
    const text = contractText(name, tool, createSchemaImport(tool, notes))
    const file = { path: `tools/${uniqueName(paths, name.replaceAll(/[:/]/g, '_'))}.yaml`, text }
    const problem = problemOf(file)
    if (problem === undefined) return [{ ...file, tool: name, effect, ...defined({ source }) }]
    const message = `left out: its contract would not check: ${problem}`
    notes.push({ pointer, message, leftOut: readable(tool.name) })
    return []
  })
  return { files, notes }
}

interface Named {
  readonly tool: ForeignTool
  readonly name: string
}

/**
 * Assigns names to tools. Keeps a valid name, and replaces any other name with an unused valid name. Returns tools that
 * share a name separately, as `twins`.
 */
function nameTools(
  tools: readonly ForeignTool[],
  prefix: string,
): { readonly named: readonly Named[]; readonly twins: readonly ForeignTool[] } {
  const counts = new Map<string, number>()
  for (const { name } of tools) counts.set(name, (counts.get(name) ?? 0) + 1)
  const single = tools.filter(({ name }) => counts.get(name) === 1)
  const isLegal = ({ name }: ForeignTool): boolean => TOOL_NAME.pattern.test(`${prefix}${name}`)
  const taken = new Set(single.filter(isLegal).map(({ name }) => `${prefix}${name}`.toLowerCase()))
  const named = single.map((tool): Named => {
    const full = `${prefix}${tool.name}`
    return { tool, name: isLegal(tool) ? full : uniqueName(taken, fitName(full)) }
  })
  return { named, twins: tools.filter(({ name }) => counts.get(name) !== 1) }
}

/** Returns a name that TOOL_NAME accepts. */
function fitName(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_.:/-]+/g, '_').slice(0, 120)
  return plain.replace(/^[^A-Za-z0-9]+/, '').replace(/[^A-Za-z0-9]+$/, '') || 'tool'
}

/** Reserves and returns a name that is unused in any letter case, because file systems may ignore case. */
function uniqueName(taken: Set<string>, base: string): string {
  let name = base
  for (let n = 2; taken.has(name.toLowerCase()); n++) name = `${base}_${n}`
  taken.add(name.toLowerCase())
  return name
}

function contractText(name: string, tool: ForeignTool, task: SchemaImport): string {
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
  const body = { ...(tool.source && { source: { ...tool.source } }), input_schema }
  const text = stringify(body, { lineWidth: 0, aliasDuplicateObjects: false, version: '1.2' })
  return `${head.join('\n')}\n${text}`
}

/** Returns the input schema, which always has type object, even if the description omits the type. */
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

/** Returns the tool of a contract; undefined when the file names no tool. */
export function toolOfContract({ path, text }: BundleText): string | undefined {
  const doc = parseSource(createSource(path, text), createFindings())
  const named = doc?.kind === 'map' ? doc.entries.find(({ key }) => key === 'tool')?.value : undefined
  return named?.kind === 'text' ? named.value : undefined
}

/** Returns the first error of `countersign check` about the contract; undefined without one. */
export function problemOf({ path, text }: BundleText): string | undefined {
  const findings = createFindings()
  const source = createSource(path, text)
  const doc = parseSource(source, findings)
  if (doc) checkTool(createReader(source, findings), doc)
  return findings.sorted().find(({ severity }) => severity === 'error')?.message
}
