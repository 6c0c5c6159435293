import { SERVER_NAME, TOOL_DIGEST, type ToolSource } from '../../contract/tool-source.ts'
import type { Doc } from '../yaml/parse.ts'
import { readMap, type NamePattern, type Reader } from '../yaml/shape.ts'
import { SEEN } from './change.ts'
import { BOOLEAN, key, named, need, readSpec, schemaOf, specOf, TEXT, value } from './spec.ts'

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

interface Entry extends ToolSource {
  readonly confirmed?: boolean
}

const SOURCE_KEYS = specOf<Entry>()('`source`', {
  server: need('server', named(SERVER), '', SEEN),
  name: need('name', TEXT, 'As the server calls the tool.', SEEN),
  digest: key('digest', named(DIGEST), '', SEEN),
  confirmed: key('confirmed', BOOLEAN, 'A person has confirmed the effects that the server declares.', SEEN),
})

/** `source`: the MCP server, the server's name for the tool, and whether a person has confirmed what it says. */
export const SOURCE = value((reader, doc, what): Entry | undefined => {
  const map = readMap(reader, doc, what)
  const { server, name, ...rest } = map ? readSpec(reader, map, SOURCE_KEYS, {}).entry : {}
  return server === undefined || name === undefined ? undefined : { server, name, ...rest }
}, schemaOf(SOURCE_KEYS))

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
