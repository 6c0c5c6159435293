import type { AgentEntry, Directory, Tenant } from '../../policy/evaluate/snapshot.ts'

/** Whom a gateway for development issues keys to. */
export interface People {
  readonly tenant: string
  /** The agent of the printed call. Absent while the directory lists no agent. */
  readonly agent: string | undefined
  /** All agents of the tenant. */
  readonly agents: readonly string[]
  /** Signs in to the console. Absent while the directory lists no reviewer. */
  readonly reviewer: string | undefined
}

/** Of the starter policies. Their reviewer owns no agent that the demo runs: an owner cannot vote on its calls. */
const STARTER = { tenant: 'acme', agent: 'demo-agent', reviewer: 'alice' } as const
/** What `countersign add tool` calls an agent that nobody named. */
const OWN_AGENT = 'my-agent'

/** Who was chosen at an earlier start. */
export type Earlier = Partial<Record<'tenant' | 'reviewer', string>>

/**
 * Chooses who takes part: the tenant and reviewer of an earlier start, then those of the starter policies, then the first who
 * fit. A developer's own agent goes before that of the starter policies.
 */
export function peopleOf({ tenants }: Directory, earlier: Earlier = {}): People | undefined {
  const wanted = [earlier.tenant, STARTER.tenant, ...tenants.keys()]
  const name = wanted.find((one) => one !== undefined && tenants.has(one))
  const tenant = name === undefined ? undefined : tenants.get(name)
  if (name === undefined || tenant === undefined) return undefined
  const agent = [OWN_AGENT, STARTER.agent, ...tenant.agents.keys()].find(
    (one) => one !== undefined && tenant.agents.has(one),
  )
  return {
    tenant: name,
    agent,
    agents: [...tenant.agents.keys()],
    reviewer: reviewerFor(
      tenant,
      agent === undefined ? undefined : tenant.agents.get(agent),
      earlier.reviewer,
    ),
  }
}

/** A reviewer who may vote on the agent's calls, if there is one. */
function reviewerFor(
  { reviewers }: Tenant,
  agent: AgentEntry | undefined,
  earlier: string | undefined,
): string | undefined {
  const mayVote = (id: string): boolean => agent?.owners.includes(id) !== true
  const known = [earlier, STARTER.reviewer, ...reviewers.keys()].filter(
    (id) => id !== undefined && reviewers.has(id),
  )
  return known.find((id) => id !== undefined && mayVote(id)) ?? known[0]
}
