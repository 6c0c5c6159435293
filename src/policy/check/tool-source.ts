import { SERVER_NAME, TOOL_DIGEST, type ToolSource } from '../../contract/tool-source.ts'
import type { Doc } from '../yaml/parse.ts'
import {
  defined,
  given,
  readBoolean,
  type NamePattern,
  readKeys,
  readMap,
  readName,
  readText,
  type Reader,
} from '../yaml/shape.ts'

const SERVER: NamePattern = {
  what: 'name of a server',
  pattern: SERVER_NAME,
  hint: 'use up to 64 of letters, digits, `_` and `-`: agents write other characters as `_`, which another server may have',
}
const DIGEST: NamePattern = {
  what: 'digest',
  pattern: TOOL_DIGEST,
  hint: 'leave the line as `countersign add tool` wrote it, or run it again with --update',
}

/** The origin of a contract, and whether a person has confirmed what the server says about the tool. */
export interface CheckedSource {
  readonly source: ToolSource
  readonly confirmed?: boolean
}

/** Checks `source`: the MCP server, and the server's name for the contract's tool. */
export function checkSource(reader: Reader, doc: Doc): CheckedSource | undefined {
  const map = readMap(reader, doc, '`source`')
  if (!map) return undefined
  const keys = readKeys(reader, map, {
    what: '`source`',
    required: ['server', 'name'],
    optional: ['digest', 'confirmed'],
  })
  const server = given(keys.server, (at) => readName(reader, at, '`server`', SERVER))
  const name = given(keys.name, (at) => readText(reader, at, '`name`'))
  const digest = given(keys.digest, (at) => readName(reader, at, '`digest`', DIGEST))
  const confirmed = given(keys.confirmed, (at) => readBoolean(reader, at, '`confirmed`'))
  if (server === undefined || name === undefined) return undefined
  return { source: { server, name, ...defined({ digest }) }, ...defined({ confirmed }) }
}

interface Sourced {
  readonly contract: { readonly source?: ToolSource }
  readonly sourceAt: Doc | undefined
  readonly reader: Reader
}

/** Reports tools of an MCP server that have more than one contract. */
export function uniqueSources(tools: readonly Sourced[]): void {
  const seen = new Map<string, Sourced>()
  for (const tool of tools) {
    const { source } = tool.contract
    if (source === undefined || tool.sourceAt === undefined) continue
    const key = JSON.stringify([source.server, source.name])
    const first = seen.get(key)
    if (first === undefined) seen.set(key, tool)
    else
      tool.reader.report(
        'duplicate-source',
        tool.sourceAt,
        `\`${source.name}\` of server \`${source.server}\` has another contract in ${first.reader.source.path}`,
      )
  }
}
