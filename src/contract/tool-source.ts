/**
 * The origin of a contract's tool. The contract's own name may be unable to express this origin (docs/agent-side.md).
 */
export interface ToolSource {
  /** The author's name for the MCP server. */
  readonly server: string
  /** The server's name for the tool. */
  readonly name: string
  /** SHA-256 of the RFC 8785 form of the server's tool, with all its members. */
  readonly digest?: string
}

/** Agents write every other character of a server's name as `_`, so `my.server` and `my_server` would be alike. */
export const SERVER_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/
export const TOOL_DIGEST = /^[0-9a-f]{64}$/

/** The server name for contracts and calls without a server. */
export const DEFAULT_SERVER = 'mcp'

/** Derives the server's name from a prefix of tool names: `github` from `github.`. */
export function serverOf(prefix: string): string {
  const name = prefix
    .replace(/^[^A-Za-z0-9]+/, '')
    .replace(/[^A-Za-z0-9]+$/, '')
    .replaceAll('.', '_')
  return SERVER_NAME.test(name) ? name : DEFAULT_SERVER
}
