import type { JsonObject, JsonValue } from './json.ts'

/**
 * The origin of a contract's tool. The contract's own name may be unable to express this origin (docs/agent-side.md).
 */
export interface ToolSource {
  /** The author's name for the MCP server. */
  readonly server: string
  /** The server's name for the tool. */
  readonly name: string
  /** SHA-256 (hex) over the RFC 8785 form of the server's description of the tool. */
  readonly digest?: string
}

export const SERVER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** The server name for contracts and calls without a server. */
export const DEFAULT_SERVER = 'mcp'

/** Derives the server's name from a prefix of tool names: `github` from `github.`. */
export function serverOf(prefix: string): string {
  const name = prefix.replace(/^[^A-Za-z0-9]+/, '').replace(/[^A-Za-z0-9]+$/, '')
  return SERVER_NAME.test(name) ? name : DEFAULT_SERVER
}

const DESCRIBING = ['name', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const

/** The parts of a server's description that people read or rely on. The digest of a contract covers these parts. */
export function describedTool(tool: JsonObject): JsonObject {
  const entries = DESCRIBING.flatMap((member): [string, JsonValue][] => {
    const value = tool[member]
    return value === undefined ? [] : [[member, value]]
  })
  return Object.fromEntries(entries)
}
