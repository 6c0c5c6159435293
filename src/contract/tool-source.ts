import type { JsonObject } from './json.ts'

/**
 * The origin of a contract's tool. The contract's own name may be unable to express this origin (docs/agent-side.md).
 */
export interface ToolSource {
  /** The author's name for the MCP server. */
  readonly server: string
  /** The server's name for the tool. */
  readonly name: string
  /**
   * SHA-256 of the RFC 8785 form of the server's tool. After `v2:`, the digest covers the whole tool. Without it, the
   * digest covers the parts that older versions covered.
   */
  readonly digest?: string
}

/** Agents write every other character of a server's name as `_`, so `my.server` and `my_server` would be alike. */
export const SERVER_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/
export const TOOL_DIGEST = /^(?:v2:)?[0-9a-f]{64}$/

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

const DIGEST_OF_WHOLE = 'v2:'
const DESCRIBING = ['name', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const

/** Writes the digest of a whole tool. */
export function wholeDigest(sha256: string): string {
  return DIGEST_OF_WHOLE + sha256
}

/** Returns true for a digest of an older version, which does not cover the whole tool. */
export function coversParts(digest: string): boolean {
  return !digest.startsWith(DIGEST_OF_WHOLE)
}

/** The parts of a tool that a digest of an older version covers. */
export function describedTool(tool: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(tool).filter(([member]) => isDescribing(member)))
}

/** The parts of a tool that only the digest of the whole tool covers. */
export function undescribedTool(tool: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(tool).filter(([member]) => !isDescribing(member)))
}

const isDescribing = (member: string): boolean => DESCRIBING.some((one) => one === member)
