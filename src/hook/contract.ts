import { withRetry } from '@countersign/sdk/runtime'
import { type Client, type ResolvedTool, UnknownTool } from '@countersign/sdk'
import type { HarnessName } from './harness.ts'

export interface Asked {
  readonly harness: HarnessName
  /** The harness's name for the tool. */
  readonly tool: string
  readonly prefix: string
  readonly signal: AbortSignal
}

/** The gateway's name of a tool, and its contract if it has one. */
export interface Found {
  readonly name: string
  readonly contract: ResolvedTool | undefined
}

/**
 * The contract of a tool. A contract that was imported from this tool of this MCP server takes precedence.
 * Otherwise, the contract with the harness's name is used, unless it was imported from another tool.
 *
 * @throws NotExecuted
 */
export async function contractOf(client: Client, asked: Asked): Promise<Found> {
  const { harness, tool, prefix, signal } = asked
  const { tools } = await withRetry(() => client.resolve([], { signal }), { signal })
  const [found, ...others] = tools.filter((one) => isNamed(one, harness, tool))
  if (others.length > 0)
    throw new UnknownTool(`more than one contract matches \`${tool}\`: give the servers different names`)
  if (found !== undefined) return { name: found.name, contract: found }
  const spelled = prefix + tool
  const contract = tools.find(({ name }) => name === spelled)
  const source = contract?.source
  if (source === undefined) return { name: spelled, contract }
  throw new UnknownTool(
    `the contract \`${spelled}\` was made for \`${source.name}\` of the MCP server \`${source.server}\`, and not for this tool`,
  )
}

function isNamed({ source }: ResolvedTool, harness: HarnessName, tool: string): boolean {
  return source !== undefined && SPELLED[harness](source.server, source.name).includes(tool)
}

const plain = (text: string): string => text.replaceAll(/[^A-Za-z0-9_-]/g, '_')
const parted = (server: string, name: string): string[] => [
  `mcp__${server}__${name}`,
  `mcp__${plain(server)}__${plain(name)}`,
]

/**
 * The possible names of an MCP server's tool in a harness: unchanged, or with `_` for characters that its model
 * refuses.
 */
const SPELLED: Readonly<Record<HarnessName, (server: string, name: string) => string[]>> = {
  'claude-code': parted,
  codex: parted,
  gemini: (server, name) => [`mcp_${server}_${name}`, `mcp_${plain(server)}_${plain(name)}`],
}
