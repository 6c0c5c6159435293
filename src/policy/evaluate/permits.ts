import { refuse } from './evaluate.ts'
import type { AgentEntry, Call, Directory, Outcome, ToolContract, ToolUse } from '../language/snapshot.ts'
import { compileGlob, showHidden } from '../text/text.ts'
import { remember } from '../language/remember.ts'

/** Decides which agent may use which tool, by the directory of one bundle. */
export interface Permits {
  /** False for a tool without a contract. */
  mayUse(agent: AgentEntry, tool: string): boolean
  /** Looks up what an agent of the tenant may do with the tool. */
  useOf(tenant: string, agent: AgentEntry | undefined, tool: string): ToolUse
  /** True when some agent of the tenant may use the tool. */
  knows(tenant: string, tool: string): boolean
  /** Returns the outcome for an agent that is not in the directory or may not use a known tool; otherwise undefined. */
  refusalOf(call: Call): Outcome | undefined
}

export function createPermits(directory: Directory, contracts: ReadonlyMap<string, ToolContract>): Permits {
  const known = new Map<AgentEntry, ReadonlyMap<string, ToolUse>>()
  const toolsOf = (agent: AgentEntry): ReadonlyMap<string, ToolUse> =>
    remember(known, agent, () => permitted(agent, contracts))
  const tenantTools = new Map<string, ReadonlySet<string>>()
  const knows = (tenant: string, tool: string): boolean => {
    const agents = directory.tenants.get(tenant)?.agents
    if (agents === undefined) return false
    const tools =
      tenantTools.get(tenant) ?? new Set([...agents.values()].flatMap((one) => [...toolsOf(one).keys()]))
    tenantTools.set(tenant, tools)
    return tools.has(tool)
  }
  return {
    useOf(tenant, agent, tool) {
      const use = agent && toolsOf(agent).get(tool)
      if (use !== undefined) return use
      return { contract: knows(tenant, tool) ? contracts.get(tool) : undefined, permitted: false }
    },
    mayUse: (agent, tool) => toolsOf(agent).has(tool),
    knows,
    refusalOf(call) {
      if (call.use?.permitted === true) return undefined
      const agent = directory.tenants.get(call.tenant)?.agents.get(call.agent)
      if (!agent) return refuseCaller(call, directory)
      const contract = contracts.get(call.tool)
      if (!contract || toolsOf(agent).has(call.tool)) return undefined
      if (!knows(call.tenant, call.tool)) return refuseUnknownTool(call)
      const message = `Agent ${call.agent} is not permitted to use ${call.tool}.`
      return refuse(call, { by: 'tool_not_permitted', message, baseline: contract.risk })
    },
  }
}

/** Refuses a tool that has no contract or that no agent of the tenant may use. */
export function refuseUnknownTool(call: Call): Outcome {
  const message = `Unknown tool ${shownName(call.tool)}: it has no contract in the policy bundle.`
  return refuse(call, { by: 'unknown_tool', message, baseline: 'low' })
}

/** Returns the tools that match the globs of an agent. Runs once per agent and bundle. */
function permitted(
  agent: AgentEntry,
  contracts: ReadonlyMap<string, ToolContract>,
): ReadonlyMap<string, ToolUse> {
  const globs = agent.tools.map(compileGlob)
  const within = agent.within?.map(compileGlob)
  const uses = new Map<string, ToolUse>()
  for (const [tool, contract] of contracts)
    if (globs.some((matches) => matches(tool)) && within?.some((matches) => matches(tool)) !== false)
      uses.set(tool, { contract, permitted: true })
  return uses
}

function refuseCaller(call: Call, { tenants }: Directory): Outcome {
  const [by, who] = tenants.has(call.tenant)
    ? ['unknown_agent', `Agent ${shownName(call.agent)}`]
    : ['unknown_tenant', `Tenant ${shownName(call.tenant)}`]
  return refuse(call, { by, message: `${who} is not in the directory.`, baseline: 'low' })
}

const MAX_SHOWN_NAME = 128

export function shownName(name: string): string {
  return showHidden(name.slice(0, MAX_SHOWN_NAME))
}
