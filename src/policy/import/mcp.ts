import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import { serverOf, type ToolSource } from '../../contract/tool-source.ts'
import { digestOf } from '../../domain/digest.ts'
import {
  importTools,
  type Effect,
  type ForeignTool,
  type ImportOptions,
  type ImportResult,
} from './contract.ts'
import { type ImportNote, importSchema, readable } from './schema.ts'
import { defined } from '../../contract/defined.ts'

/**
 * Creates contracts from an MCP `tools/list` result, its list or its JSON-RPC response. Returns undefined for other
 * input.
 */
export function importMcp(
  document: JsonValue,
  options: ImportOptions & { readonly server?: string | undefined },
): ImportResult | undefined {
  const found = listIn(document)
  if (!found) return undefined
  const placed = found.tools.map((tool, index) => ({ tool, pointer: `${found.pointer}/${index}` }))
  const notes = placed.flatMap(({ tool, pointer }): ImportNote[] => {
    const message = whyLeftOut(tool)
    return message === undefined ? [] : [{ pointer, message, leftOut: nameOf(tool) }]
  })
  const { server = serverOf(options.prefix) } = options
  const tools = placed.flatMap(({ tool, pointer }) =>
    isNamed(tool) && whyLeftOut(tool) === undefined
      ? [{ ...foreign(tool, pointer), source: sourceOf(tool, server) }]
      : [],
  )
  const lists = isObject(document)
    ? isObject(document['result'])
      ? document['result']
      : document
    : undefined
  if (typeof lists?.['nextCursor'] === 'string')
    notes.push({
      pointer: '/nextCursor',
      message: 'this is only the first page of the list: fetch the others too',
    })
  const { files, notes: more } = importTools(tools, options)
  return { files, notes: [...notes, ...more] }
}

interface Found {
  readonly tools: readonly JsonValue[]
  readonly pointer: string
}

function listIn(document: JsonValue): Found | undefined {
  if (Array.isArray(document)) return { tools: document as readonly JsonValue[], pointer: '' }
  if (!isObject(document)) return undefined
  if (Array.isArray(document['tools']))
    return { tools: document['tools'] as readonly JsonValue[], pointer: '/tools' }
  const inner = isObject(document['result']) ? listIn(document['result']) : undefined
  return inner && { ...inner, pointer: `/result${inner.pointer}` }
}

/**
 * Returns the reason why a tool gets no contract. A contract cannot express `false`, and a laxer contract would accept
 * any call. Without a contract, no call of the tool runs.
 */
function whyLeftOut(tool: JsonValue): string | undefined {
  if (!isNamed(tool)) return 'left out: it has no name'
  if (tool['inputSchema'] === false) return 'left out: its schema is `false`, which no call fits'
  return digestIn(tool) === undefined ? 'left out: it holds text that is no Unicode' : undefined
}

const nameOf = (tool: JsonValue): string => (isNamed(tool) ? readable(tool.name) : '(no name)')

/** Returns the digest; undefined when a string has a lone surrogate and thus no canonical form. */
function digestIn(tool: JsonObject): string | undefined {
  try {
    return digestOf(tool)
  } catch {
    return undefined
  }
}

function sourceOf(tool: JsonObject & { readonly name: string }, server: string): ToolSource {
  return { server, name: tool.name, ...defined({ digest: digestIn(tool) }) }
}

function isNamed(tool: JsonValue): tool is JsonObject & { readonly name: string } {
  return isObject(tool) && typeof tool['name'] === 'string'
}

function foreign(tool: JsonObject & { readonly name: string }, pointer: string): ForeignTool {
  const { name, title, description, annotations } = tool
  const inputSchema = isObject(tool['inputSchema']) ? tool['inputSchema'] : undefined
  const text = [description, title].find((one) => typeof one === 'string' && one.trim() !== '')
  return {
    name,
    description: text as string | undefined,
    schema: (task) => importSchema(task, inputSchema, `${pointer}/inputSchema`),
    // References in an MCP tool resolve against the tool's own schema.
    root: inputSchema ?? {},
    rootPointer: `${pointer}/inputSchema`,
    pointer,
    effect: effectOf(isObject(annotations) ? annotations : {}),
  }
}

/** Returns the effect that the MCP hints declare. A tool without hints may do anything, so its risk is high. */
function effectOf({ readOnlyHint, destructiveHint }: JsonObject): Effect {
  if (readOnlyHint === true) return { risk: 'low', reversibility: 'read_only', because: 'readOnlyHint' }
  if (destructiveHint === true)
    return { risk: 'high', reversibility: 'irreversible', because: 'destructiveHint' }
  if (destructiveHint === false)
    return { risk: 'medium', reversibility: 'reversible', because: 'no destructiveHint' }
  return { risk: 'high', because: 'the server does not describe its effects' }
}
