import type { ResolveResult } from '../../contract/agent.ts'
import type { ToolContract } from '../../policy/evaluate/snapshot.ts'
import type { Deps } from '../core/deps.ts'
import type { Caller } from '../core/caller.ts'
import { agentEntry, keyInForce } from '../auth/identify.ts'

/**
 * The contracts of the tools an agent may use (agent-api-contract.md section 4, POST tools/resolve). An empty list asks for
 * all of them; a tool that the agent may not use is as unknown as one that does not exist.
 *
 * @throws GatewayError `unauthenticated`
 */
export async function resolve(deps: Deps, caller: Caller, names: readonly string[]): Promise<ResolveResult> {
  const snapshot = deps.policies.current()
  await keyInForce(deps, caller)
  agentEntry(snapshot, caller)
  const asked = names.length === 0 ? [...(snapshot?.tools.keys() ?? [])] : [...new Set(names)]
  const may = (name: string): boolean => snapshot?.mayUse(caller.tenant, caller.id, name) === true
  const tools = asked.filter(may).flatMap((name) => viewOf(snapshot?.tools.get(name)))
  return { tools, unknown: names.length === 0 ? [] : asked.filter((name) => !may(name)) }
}

function viewOf(tool: ToolContract | undefined): ResolveResult['tools'] {
  if (tool === undefined) return []
  const { name, description, inputSchema, risk, revision, source } = tool
  return [
    {
      name,
      description,
      input_schema: inputSchema as ResolveResult['tools'][number]['input_schema'],
      risk,
      revision,
      ...(source && { source: { ...source } }),
    },
  ]
}
