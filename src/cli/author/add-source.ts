import { existsSync, readFileSync } from 'node:fs'
import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import { parse } from 'yaml'
import type { BundleText } from '../../policy/bundle/check.ts'
import type { ImportedFile, ImportResult } from '../../policy/import/contract.ts'
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
  /** MODULE:FUNCTION. */
  readonly python?: string | undefined
  readonly mcp: boolean
  readonly operation?: string | undefined
  /** Starts the MCP server. */
  readonly command: readonly string[]
  readonly help: string
}

/**
 * The contract of `name` from the given source.
 *
 * @throws CliFailure unless exactly one source is given and contains the tool
 */
export async function describedTool(name: string, options: SourceOptions): Promise<ToolDescription> {
  const { example, openapi, python, mcp, operation = name, command, help } = options
  const given = [example !== undefined, openapi !== undefined, python !== undefined, mcp]
  if (given.filter(Boolean).length !== 1)
    throw usage('give exactly one of --example, --openapi, --mcp and --python', help)
  if (mcp !== command.length > 0) throw usage('--mcp takes the command of the server behind --', help)
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
  const one = { name: operation, as: name }
  if (openapi !== undefined) {
    const document = await readDocument(openapi)
    const load = openapi === '-' ? {} : { load: filesBeside(openapi) }
    const importing = (options: { one?: typeof one }): ImportResult | undefined =>
      importOpenApi(document, { prefix: '', ...load, ...options })
    return chosen(operation, importing, `\`${openapi}\` is not an OpenAPI 3 or Swagger 2.0 document`)
  }
  const tools = await withProgress('Asking the MCP server for its tools', () => listMcpTools(command))
  const importing = (options: { one?: typeof one }): ImportResult | undefined =>
    importMcp({ tools } as JsonObject, { prefix: '', ...options })
  return chosen(operation, importing, 'the MCP server sent no list of tools')

  function chosen(
    wanted: string,
    importing: (options: { one?: typeof one }) => ImportResult | undefined,
    wrong: string,
  ): ToolDescription {
    const result = importing({ one })
    if (result === undefined) throw usage(wrong)
    const [file] = result.files
    if (file === undefined) throw absent(wanted, importing({})?.files ?? [], result.notes)
    return { contract: file, sample: sampleIn(file), notes: result.notes }
  }
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
