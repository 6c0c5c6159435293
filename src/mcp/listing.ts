import { createHash } from 'node:crypto'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import { describedTool } from '../contract/tool-source.ts'
import { canonicalJson, type Payload } from '../sdk/index.ts'
import { isObject } from './message.ts'

/** What a server has said of its tools, as far as the proxy has heard it. */
export interface Listing {
  /** A page of `tools/list`; `isFirst` when it begins a list anew. Without a cursor the list is whole. */
  learn(page: JsonObject, isFirst: boolean): void
  /** The server says that the list is another one by now. */
  outdated(): void
  /** Whether the last list is whole, and in force. */
  isWhole(): boolean
  /** Undefined for a tool that the server has not listed. */
  of(name: string): Listed | undefined
  /** All names of the last list. */
  names(): Iterable<string>
}

export interface Listed {
  /** SHA-256 (hex) of its description; undefined for one that has no canonical form, and for two tools of one name. */
  readonly digest: string | undefined
  /** The same, when the server first listed the tool. */
  readonly first: string | undefined
}

export function createListing(): Listing {
  const first = new Map<string, string | undefined>()
  let tools = new Map<string, string | undefined>()
  let whole = false
  return {
    learn: (page, isFirst) => {
      if (isFirst) tools = new Map()
      for (const tool of toolsIn(page)) {
        const digest = tools.has(tool.name) ? undefined : digestOf(tool)
        tools.set(tool.name, digest)
        if (!first.has(tool.name)) first.set(tool.name, digest)
      }
      whole = typeof page['nextCursor'] !== 'string'
    },
    outdated: () => void (whole = false),
    isWhole: () => whole,
    of: (name) => (tools.has(name) ? { digest: tools.get(name), first: first.get(name) } : undefined),
    names: () => tools.keys(),
  }
}

type NamedTool = JsonObject & { readonly name: string }

export function toolsIn({ tools }: JsonObject): NamedTool[] {
  const list = Array.isArray(tools) ? (tools as readonly JsonValue[]) : []
  return list.filter((tool): tool is NamedTool => isObject(tool) && typeof tool['name'] === 'string')
}

function digestOf(tool: JsonObject): string | undefined {
  try {
    return createHash('sha256')
      .update(canonicalJson(describedTool(tool) as Payload))
      .digest('hex')
  } catch {
    return undefined
  }
}
