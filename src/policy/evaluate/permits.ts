import { refuse } from './evaluate.ts'
import type { AgentEntry, Call, Directory, Outcome, ToolContract } from './snapshot.ts'
import { compileGlob, showHidden } from '../language/text.ts'

/** Decides which agent may use which tool, by the directory of one bundle. */
export interface Permits {
  /** False for a tool without a contract. */
  mayUse(agent: AgentEntry, tool: string): boolean
  /** True when some agent of the tenant may use the tool. */
  knows(tenant: string, tool: string): boolean
  /** Returns the outcome for an agent that is not in the directory or may not use a known tool; otherwise undefined. */
  refusalOf(call: Call): Outcome | undefined
}

export function createPermits(directory: Directory, contracts: ReadonlyMap<string, ToolContract>): Permits {
  const known = new Map<AgentEntry, ReadonlySet<string>>()
  const toolsOf = (agent: AgentEntry): ReadonlySet<string> => {
    const tools = known.get(agent) ?? permitted(agent, contracts)
    known.set(agent, tools)
    return tools
  }
  const tenantTools = new Map<string, ReadonlySet<string>>()
  const knows = (tenant: string, tool: string): boolean => {
    const agents = directory.tenants.get(tenant)?.agents
    if (agents === undefined) return false
    const tools = tenantTools.get(tenant) ?? new Set([...agents.values()].flatMap((one) => [...toolsOf(one)]))
    tenantTools.set(tenant, tools)
    return tools.has(tool)
  }
  return {
    mayUse: (agent, tool) => toolsOf(agent).has(tool),
    knows,
    refusalOf(call) {
      const agent = call.entry ?? directory.tenants.get(call.tenant)?.agents.get(call.agent)
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
function permitted(agent: AgentEntry, contracts: ReadonlyMap<string, ToolContract>): ReadonlySet<string> {
  const globs = agent.tools.map(compileGlob)
  return new Set([...contracts.keys()].filter((tool) => globs.some((matches) => matches(tool))))
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
