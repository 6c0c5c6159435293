import type { JsonObject, JsonValue } from './json.ts'

/** Where the tool of a contract runs: what the contract's own name may not be able to say (docs/agent-side.md). */
export interface ToolSource {
  /** As the author calls the MCP server. */
  readonly server: string
  /** As the server calls the tool. */
  readonly name: string
  /** SHA-256 (hex) over the RFC 8785 form of what the server said of the tool. */
  readonly digest?: string
}

export const SERVER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** The server of contracts and calls that name none. */
export const DEFAULT_SERVER = 'mcp'

/** The server that a prefix of tool names means: `github` for `github.`. */
export function serverOf(prefix: string): string {
  const name = prefix.replace(/^[^A-Za-z0-9]+/, '').replace(/[^A-Za-z0-9]+$/, '')
  return SERVER_NAME.test(name) ? name : DEFAULT_SERVER
}

const DESCRIBING = ['name', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const

/** What a server says of a tool that a person has read, or relied on: the digest of a contract covers it. */
export function describedTool(tool: JsonObject): JsonObject {
  const entries = DESCRIBING.flatMap((member): [string, JsonValue][] => {
    const value = tool[member]
    return value === undefined ? [] : [[member, value]]
  })
  return Object.fromEntries(entries)
}
