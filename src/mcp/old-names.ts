/*
 * The names that `countersign import mcp` gave to tools before contracts had a `source`. Illegal characters became `_`,
 * and duplicate names got the suffixes `_2`, `_3`. Such a contract does not contain the name of its tool.
 */

/** Returns another tool of the server whose contract an old import may have written under `name`. */
export function otherToolOf(name: string, names: Iterable<string>, prefix: string): string | undefined {
  const tools = [...names].map((tool): Tool => ({ tool, base: baseOf(prefix + tool) }))
  return tools.find((one) => one.tool !== name && mayBeCalled(prefix + name, one, tools))?.tool
}

interface Tool {
  readonly tool: string
  /** The tool's name with the prefix, after the replacement of characters. */
  readonly base: string
}

function mayBeCalled(contract: string, one: Tool, tools: readonly Tool[]): boolean {
  if (one.base === contract) return true
  const base = withoutCount(contract)
  return one.base === base && tools.some((other) => other !== one && mayTake(base, other))
}

/** Returns true when `other` may have used the file of this name, or of this name without its number. */
function mayTake(name: string | undefined, other: Tool): boolean {
  if (name === undefined) return false
  return fileOf(other.base) === fileOf(name) || mayTake(withoutCount(name), other)
}

function withoutCount(name: string): string | undefined {
  return /^(.+)_(?:[2-9]|[1-9]\d+)$/.exec(name)?.[1]
}

function baseOf(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_.:/-]+/g, '_').slice(0, 120)
  return plain.replace(/^[^A-Za-z0-9]+/, '').replace(/[^A-Za-z0-9]+$/, '') || 'tool'
}

function fileOf(name: string): string {
  return name.replaceAll(/[:/]/g, '_').toLowerCase()
}
