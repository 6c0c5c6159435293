import { setImmediate as nextTurn } from 'node:timers/promises'
import { defined } from '../../contract/defined.ts'
import type { AgentList, AgentView } from '../../contract/agent-list.ts'
import type { AgentEntry, Tenant } from '../../policy/language/snapshot.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { isoTime } from '../core/event-record.ts'
import { listFreezes } from './freeze.ts'
import { listLegalHolds } from './legal-hold.ts'
import { reviewerEntry } from '../auth/standing.ts'
import { holderId, read } from '../core/records.ts'
import { nameOf } from '../review/thread-summary.ts'
import { storeCall } from '../core/transact.ts'

/** The agents of the caller's tenant, their owners, whether each has a key, which are frozen, and legal holds. */
export async function listAgents(deps: Deps, caller: Caller): Promise<AgentList> {
  const snapshot = deps.policies.current()
  reviewerEntry(snapshot, caller)
  const tenant = snapshot?.directory.tenants.get(caller.tenant)
  const agents = [...(tenant?.agents.values() ?? [])]
  const { freezes } = await listFreezes(deps, caller.tenant)
  const { legal_holds } = await listLegalHolds(deps, caller.tenant)
  const issued = await storeCall(() => keysIssued(deps, caller.tenant, agents))
  return { agents: agents.map((agent, i) => agentView(tenant, agent, issued[i])), freezes, legal_holds }
}

function agentView(tenant: Tenant | undefined, agent: AgentEntry, issued: number | undefined): AgentView {
  const { id, owners, tools, signedApprovals, preventSelfReview, tokenTtlMs, rate } = agent
  return {
    id,
    owners: owners.map((reviewer) => ({ reviewer, ...nameOf(tenant, reviewer) })),
    tools: [...tools],
    signed_approvals: signedApprovals,
    prevent_self_review: preventSelfReview,
    token_ttl_ms: tokenTtlMs,
    ...defined({
      rate: rate && { calls: rate.calls, within_ms: rate.withinMs },
      key_issued_at: issued === undefined ? undefined : isoTime(issued),
    }),
  }
}

/**
 * Maximum number of agents whose keys are read in one turn of the event loop. A tenant may have thousands of agents.
 */
const TOGETHER = 200

async function keysIssued(
  deps: Deps,
  tenant: string,
  agents: readonly AgentEntry[],
): Promise<(number | undefined)[]> {
  const issued: (number | undefined)[] = []
  while (issued.length < agents.length) {
    if (issued.length > 0) await nextTurn()
    const some = agents.slice(issued.length, issued.length + TOGETHER)
    issued.push(...(await Promise.all(some.map(({ id }) => issuedAt(deps, tenant, id)))))
  }
  return issued
}

async function issuedAt(deps: Deps, tenant: string, agent: string): Promise<number | undefined> {
  const holder = await read(deps.store, tenant, 'holder', holderId('agent', agent))
  const key = holder && (await read(deps.store, tenant, 'key', holder.value.key_hash))
  return key?.value.issued_at
}
