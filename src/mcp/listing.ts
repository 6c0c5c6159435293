import { createHash } from 'node:crypto'
import { type JsonObject, type JsonValue, isObject } from '../contract/json.ts'
import { canonicalJson, type Payload } from '@countersign/sdk'

/** The tools of a server, from its answers to `tools/list`. */
export interface Listing {
  /** Begins a list. The newest list whose pages have all arrived is in force. */
  begin(): List
  /** Voids all lists so far, because the server reports that its tools changed. */
  outdated(): void
  /** Returns the list in force; undefined until the server has listed all its tools. */
  whole(): Tools | undefined
}

export interface Tools {
  /** Returns the tool of this name; undefined when the list does not have it. */
  of(name: string): Listed | undefined
}

/** A list, to which pages are still added. */
export interface List extends Tools {
  /** Adds the next page. Returns the cursor of the next page; undefined for the last page. */
  learn(page: JsonObject): string | undefined
}

export interface Listed {
  /** The digest of the whole tool; undefined when there is no canonical form, or when two tools have the same name. */
  readonly digest: string | undefined
  /** The digest when the server first listed the tool. */
  readonly first: string | undefined
}

export function createListing(): Listing {
  const first = new Map<string, string | undefined>()
  let begun = 0
  /** The number of the oldest list that may be complete. */
  let oldest = 1
  let inForce: { readonly number: number; readonly tools: Tools } | undefined
  return {
    begin: () => {
      const number = ++begun
      const found = new Map<string, string | undefined>()
      const tools: Tools = {
        of: (name) => (found.has(name) ? { digest: found.get(name), first: first.get(name) } : undefined),
      }
      return {
        ...tools,
        learn: (page) => {
          for (const tool of toolsIn(page)) {
            const digest = found.has(tool.name) ? undefined : digestOf(tool)
            found.set(tool.name, digest)
            if (!first.has(tool.name)) first.set(tool.name, digest)
          }
          const { nextCursor } = page
          if (typeof nextCursor === 'string') return nextCursor
          if (number >= oldest && number > (inForce?.number ?? 0)) inForce = { number, tools }
          return undefined
        },
      }
    },
    outdated: () => {
      oldest = begun + 1
      inForce = undefined
    },
    whole: () => inForce?.tools,
  }
}

type NamedTool = JsonObject & { readonly name: string }

function toolsIn({ tools }: JsonObject): NamedTool[] {
  const list = Array.isArray(tools) ? (tools as readonly JsonValue[]) : []
  return list.filter((tool): tool is NamedTool => isObject(tool) && typeof tool['name'] === 'string')
}

function digestOf(tool: JsonObject): string | undefined {
  try {
    return createHash('sha256')
      .update(canonicalJson(tool as Payload))
      .digest('hex')
  } catch {
    return undefined
  }
}
