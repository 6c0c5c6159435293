import type { Me } from '../../contract/session.ts'
import type { Deps } from '../core/deps.ts'
import type { Caller } from '../core/caller.ts'
import { isoTime } from '../core/event-record.ts'
import { reviewerEntry } from '../auth/standing.ts'

/** The caller's identity and rights, and the agents whose threads the caller may not decide. */
export function me(deps: Deps, caller: Caller): Me {
  const snapshot = deps.policies.current()
  const { id, name, email, groups, roles } = reviewerEntry(snapshot, caller)
  const agents = [...(snapshot?.directory.tenants.get(caller.tenant)?.agents.values() ?? [])]
  const owns = agents.filter((agent) => agent.owners.includes(id)).map((agent) => agent.id)
  const { tenant, via, session } = caller
  return {
    tenant,
    reviewer: id,
    name,
    groups: [...groups],
    roles: [...roles],
    owns,
    // a linked account votes, and asks for nothing
    via: via as Me['via'],
    ...(email === undefined ? {} : { email }),
    ...(session && { session: { idle_ms: deps.sessions.idle, expires_at: isoTime(session.expiresAt) } }),
  }
}
