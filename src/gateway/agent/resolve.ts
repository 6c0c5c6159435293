import type { ResolveResult } from '../../contract/agent.ts'
import { LIMITS } from '../../contract/limits.ts'
import type { ToolContract } from '../../policy/language/snapshot.ts'
import type { Deps } from '../core/deps.ts'
import type { Caller } from '../core/caller.ts'
import { keyInForce } from '../auth/identify.ts'
import { standingOf } from '../auth/standing.ts'

/**
 * The contracts of the tools that an agent may use (docs/agent-api.md, POST tools/resolve); all for an empty list. It
 * reports forbidden tools as unknown, like missing tools. An answer contains as many contracts as
 * its size limit allows and names the others (docs/decisions/0027). Many callers therefore cannot exhaust the memory.
 *
 * @throws GatewayError `unauthenticated`
 */
export async function resolve(deps: Deps, caller: Caller, names: readonly string[]): Promise<ResolveResult> {
  await keyInForce(deps, caller)
  const { snapshot, entry } = standingOf(deps, caller)
  const asked = names.length === 0 ? [...(snapshot?.tools.keys() ?? [])] : [...new Set(names)]
  const may = (name: string): boolean => snapshot?.mayUse(entry, name) === true
  const contracts = asked.filter(may).flatMap((name) => snapshot?.tools.get(name) ?? [])
  const count = countThatFit(contracts)
  const more = contracts.slice(count).map(({ name }) => name)
  return {
    tools: contracts.slice(0, count).map(viewOf),
    unknown: names.length === 0 ? [] : asked.filter((name) => !may(name)),
    ...(more.length === 0 ? {} : { more }),
  }
}

/** The number of contracts that fit: at least one, so that repeated requests finish. */
function countThatFit(contracts: readonly ToolContract[]): number {
  let room: number = LIMITS.RESOLVED_BYTES
  const first = contracts.findIndex((contract) => (room -= bytesOf(contract)) < 0)
  return first < 0 ? contracts.length : Math.max(1, first)
}

/** Sizes by contract. A contract remains the same object until its bundle is replaced. */
const sizes = new WeakMap<ToolContract, number>()

function bytesOf(contract: ToolContract): number {
  const bytes = sizes.get(contract) ?? Buffer.byteLength(JSON.stringify(viewOf(contract)))
  sizes.set(contract, bytes)
  return bytes
}

function viewOf({ name, description, inputSchema, risk, revision, source }: ToolContract): View {
  return {
    name,
    description,
    input_schema: inputSchema as View['input_schema'],
    risk,
    revision,
    ...(source && { source: { ...source } }),
  }
}

type View = ResolveResult['tools'][number]
