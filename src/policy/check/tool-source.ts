import { SERVER_NAME, type ToolSource } from '../../contract/tool-source.ts'
import type { Doc } from '../yaml/parse.ts'
import {
  defined,
  given,
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
  hint: 'use up to 64 of letters, digits, `.`, `_` and `-`',
}
const DIGEST: NamePattern = {
  what: 'digest',
  pattern: /^[0-9a-f]{64}$/,
  hint: 'leave the line as `countersign import mcp` wrote it, or import again with --update',
}

/** Checks `source`: the MCP server, and the server's name for the contract's tool. */
export function checkSource(reader: Reader, doc: Doc): ToolSource | undefined {
  const map = readMap(reader, doc, '`source`')
  if (!map) return undefined
  const keys = readKeys(reader, map, {
    what: '`source`',
    required: ['server', 'name'],
    optional: ['digest'],
  })
  const server = given(keys.server, (at) => readName(reader, at, '`server`', SERVER))
  const name = given(keys.name, (at) => readText(reader, at, '`name`'))
  const digest = given(keys.digest, (at) => readName(reader, at, '`digest`', DIGEST))
  return server === undefined || name === undefined ? undefined : { server, name, ...defined({ digest }) }
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
