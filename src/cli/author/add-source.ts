import { existsSync, readFileSync } from 'node:fs'
import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import { parse } from 'yaml'
import type { BundleText } from '../../policy/bundle/check.ts'
import type { ImportedFile, ImportOptions, ImportResult } from '../../policy/import/contract.ts'
import { importExample } from '../../policy/import/example.ts'
import { importMcp } from '../../policy/import/mcp.ts'
import { importOpenApi } from '../../policy/import/openapi.ts'
import { importPython } from '../../policy/import/python.ts'
import { sampleOf } from '../../policy/diff/sample.ts'
import { wholePart } from '../../policy/diff/subschema.ts'
import { type ImportNote } from '../../policy/import/schema.ts'
import { didYouMean } from '../../policy/text/nearest.ts'
import { CliFailure, EXIT, usage } from '../terminal/failure.ts'
import { withProgress } from '../terminal/progress.ts'
import { listMcpTools } from './add-mcp.ts'
import { contractOfPython } from './add-python.ts'
import { filesBeside, readDocument } from './foreign-document.ts'

/** A new contract, and a payload for a first call. */
export interface ToolDescription {
  readonly contract: BundleText
  readonly sample: JsonObject
  readonly notes: readonly ImportNote[]
  /** The optional fields whose default is null. */
  readonly nullable?: readonly string[]
}

export interface SourceOptions {
  readonly example?: string | undefined
  readonly openapi?: string | undefined
  /** A file with the answer to tools/list. */
  readonly tools?: string | undefined
  /** MODULE:FUNCTION. */
  readonly python?: string | undefined
  readonly server?: string | undefined
  readonly operation?: string | undefined
  /** Starts the MCP server. */
  readonly command: readonly string[]
}

type Importing = (options: ImportOptions) => ImportResult

/**
 * The contract of `name` from the given source.
 *
 * @throws CliFailure unless the source contains the tool
 */
export async function describedTool(name: string, options: SourceOptions): Promise<ToolDescription> {
  const { example, python, operation = name } = options
  if (example !== undefined) {
    const sample = readExample(example)
    return { ...onlyOne(importExample(name, sample, { prefix: '' }), name), sample }
  }
  if (python !== undefined) {
    const result = importPython(name, await contractOfPython(python))
    if (result === undefined) throw usage(`\`${python}\` has no contract`)
    const { contract, notes } = onlyOne(result, name)
    return { contract, notes, sample: sampleIn(contract), nullable: nullableIn(contract) }
  }
  const importing = await toolsOf(options)
  const { files, notes } = importing({ prefix: '', one: { name: operation, as: name } })
  const [contract] = files
  if (contract === undefined) throw absent(operation, importing({ prefix: '' }).files, notes)
  return { contract, notes, sample: sampleIn(contract) }
}

/**
 * Reads a source of many tools: an OpenAPI document, or the list of an MCP server.
 *
 * @throws CliFailure unless it is readable
 */
export async function toolsOf(options: SourceOptions): Promise<Importing> {
  const { openapi, tools, server, command } = options
  if (openapi !== undefined) {
    const document = await readDocument(openapi)
    const load = openapi === '-' ? {} : { load: filesBeside(openapi) }
    return (wanted) =>
      importOpenApi(document, { ...wanted, ...load }) ??
      isNot(openapi, 'an OpenAPI 3 or Swagger 2.0 document')
  }
  const list =
    tools === undefined
      ? ({
          tools: await withProgress('Asking the MCP server for its tools', () => listMcpTools(command)),
        } as JsonObject)
      : await readDocument(tools)
  return (wanted) => importMcp(list, { ...wanted, server }) ?? isNot(tools ?? '--mcp', 'a list of MCP tools')
}

function isNot(given: string, what: string): never {
  throw usage(`\`${given}\` is not ${what}`)
}

function absent(wanted: string, files: readonly ImportedFile[], notes: readonly ImportNote[]): CliFailure {
  const left = notes.find(({ leftOut }) => leftOut === wanted)
  if (left !== undefined) return new CliFailure(`\`${wanted}\` ${left.message}`, { exit: EXIT.usage })
  const names = files.map(({ tool }) => tool)
  const near = didYouMean(wanted, names)
  const some =
    names.length === 0 ? 'the source contains no tools' : `there are: ${names.slice(0, 20).join(', ')}`
  return usage(
    `the source has no operation or tool \`${wanted}\``,
    `${near ?? some}; name it with --operation`,
  )
}

function onlyOne({ files, notes }: ImportResult, name: string): Omit<ToolDescription, 'sample'> {
  const [file] = files
  if (file !== undefined) return { contract: file, notes }
  const why =
    notes.find(({ leftOut }) => leftOut !== undefined)?.message ?? 'a contract cannot express its input'
  throw usage(`\`${name}\` ${why}`)
}

/** Reads JSON from the command line, or from the named file. */
function readExample(given: string): JsonObject {
  const text = !given.trimStart().startsWith('{') && existsSync(given) ? readFileSync(given, 'utf8') : given
  let value: JsonValue | undefined
  try {
    value = JSON.parse(text) as JsonValue
  } catch (cause) {
    throw usage(`--example is neither JSON nor a file with JSON: ${(cause as Error).message}`)
  }
  if (!isObject(value)) throw usage('--example must be a JSON object, such as {"order_id":"o_17"}')
  return value
}

const schemaIn = ({ text }: BundleText): JsonObject =>
  (parse(text, { logLevel: 'silent' }) as { input_schema: JsonObject }).input_schema
const sampleIn = (file: BundleText): JsonObject =>
  (sampleOf([wholePart(schemaIn(file))], 'object') ?? {}) as JsonObject

/** The optional fields that may be null. A Python function sends null for an argument that it leaves out. */
function nullableIn(file: BundleText): string[] {
  const { properties, required = [] } = schemaIn(file)
  const fields = isObject(properties) ? Object.entries(properties) : []
  const isOptional = (name: string): boolean => !(required as readonly JsonValue[]).includes(name)
  return fields.flatMap(([name, one]) => (isOptional(name) && permitsNull(one) ? [name] : []))
}

function permitsNull(schema: JsonValue): boolean {
  if (!isObject(schema)) return false
  const { type, enum: values, anyOf } = schema
  const listed = [type, values].some(
    (one) => Array.isArray(one) && (one.includes('null') || one.includes(null)),
  )
  return listed || type === 'null' || (Array.isArray(anyOf) && anyOf.some(permitsNull))
}
