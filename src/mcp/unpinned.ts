import { type JsonObject, isObject } from '../contract/json.ts'
import { type Id, lineOf, METHOD_NOT_FOUND, type Refusal } from './message.ts'
import { CAPABILITIES, type ServerAnswer } from './server-message.ts'

/*
 * A server's instructions, prompts and resources. No contract pins them. They reach the model, and the server may
 * change them at any time. The proxy passes them only with `--unpinned` (docs/agent-side.md).
 */

/** The refusal of a client's request about prompts or resources. */
export function unpinnedRequest(id: Id | undefined): Refusal {
  const why = 'no contract pins prompts and resources: `countersign mcp --unpinned` passes them'
  return { kind: 'refuse', id, code: METHOD_NOT_FOUND, why, asker: 'client' }
}

interface Sides {
  readonly passUnpinned: boolean
  readonly note: (text: string) => void
  readonly toClient: (line: Uint8Array) => void
}

/** Passes an answer without its unpinned parts. Returns false when it has none. */
export function passedPinned(sides: Sides, { id, result }: ServerAnswer): boolean {
  if (sides.passUnpinned || result === undefined) return false
  const { left, result: pinned } = withoutUnpinned(result)
  if (left.length === 0) return false
  sides.note(`not passed, because no contract pins it: ${left.join(', ')}; --unpinned passes it`)
  sides.toClient(lineOf({ jsonrpc: '2.0', id, result: pinned }))
  return true
}

/**
 * Returns the result without instructions, and without the capabilities for prompts and resources. `left` names what it
 * leaves out. Every result that a call did not ask for is read.
 */
function withoutUnpinned(result: JsonObject): {
  readonly result: JsonObject
  readonly left: readonly string[]
} {
  const { instructions, capabilities, ...rest } = result
  const offers = isObject(capabilities) ? Object.entries(capabilities) : []
  const left = offers.flatMap(([name]) => (CAPABILITIES.includes(name) ? [name] : []))
  if (instructions !== undefined) left.push('instructions')
  if (left.length === 0) return { result, left }
  const kept = offers.filter(([name]) => !CAPABILITIES.includes(name))
  return { result: { ...rest, ...(capabilities && { capabilities: Object.fromEntries(kept) }) }, left }
}
