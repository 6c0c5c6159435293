import type { AgentEntry, Directory, Tenant } from '../../policy/language/snapshot.ts'

/** The holders of the keys that a development gateway issues. */
export interface People {
  readonly tenant: string
  /** The agent of the printed call. Absent while the directory lists no agent. */
  readonly agent: string | undefined
  /** All agents of the tenant. */
  readonly agents: readonly string[]
  /** The reviewer who signs in to the console. Absent while the directory lists no reviewer. */
  readonly reviewer: string | undefined
}

/**
 * Names of the starter policies. The reviewer in these policies does not own the demo's agent, because an owner cannot
 * vote on its calls.
 */
const STARTER = { tenant: 'acme', agent: 'demo-agent', reviewer: 'alice' } as const
/** The default name of an agent in `countersign add tool`. */
const OWN_AGENT = 'my-agent'

/** The names that an earlier start chose. */
export type Earlier = Partial<Record<'tenant' | 'reviewer', string>>

/**
 * Chooses the participants: the tenant and reviewer of an earlier start, then those of the starter policies, then the
 * first that fit. A developer's own agent is preferred to that of the starter policies.
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

/** A reviewer who may vote on the agent's calls, if any. */
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
