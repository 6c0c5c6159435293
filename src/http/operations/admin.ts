import { Readable } from 'node:stream'
import type { ADMIN } from '../../contract/operations/admin.ts'
import { LIMITS } from '../../contract/limits.ts'
import { explainPolicies } from '../../gateway/admin/explain-policies.ts'
import { exportEvidence } from '../../gateway/admin/export-evidence.ts'
import { findRaised } from '../../gateway/admin/find-raised.ts'
import { showRuleFile } from '../../gateway/admin/show-rule-file.ts'
import { showPolicies } from '../../gateway/admin/show-policies.ts'
import { acceptLoss } from '../../gateway/admin/accept-loss.ts'
import { startLog } from '../../gateway/admin/start-log.ts'
import { issueKey, revokeKey } from '../../gateway/auth/keys.ts'
import { issueLink } from '../../gateway/auth/login-links.ts'
import { endSessions } from '../../gateway/auth/sign-out.ts'
import { listCheckpoints } from '../../gateway/jobs/checkpoints.ts'
import { listInstances } from '../../gateway/jobs/instances.ts'
import { requireTenant } from '../access/admin-right.ts'
import { linkUrl } from '../core/same-origin.ts'
import type { HttpDeps } from '../core/deps.ts'
import { type AdminRight, answer, type Call, type Handlers } from '../core/handler.ts'

/** Handlers of the admin plane (docs/operations.md). Only the admin key issues credentials. */
export const adminHandlers = (http: HttpDeps): Handlers<typeof ADMIN> => ({
  issue_login_link: async ({ gateway, params }) => {
    const { token, expiresAt } = await issueLink(gateway, params)
    return answer(201, { url: linkUrl(http.site(), token), expires_at: new Date(expiresAt).toISOString() })
  },

  end_sessions: async ({ gateway, params }) => {
    await endSessions(gateway, params)
    return answer(204, null)
  },

  issue_agent_key: (call) => issue('agent', call),
  revoke_agent_key: (call) => revoke('agent', call),
  issue_reviewer_key: (call) => issue('reviewer', call),
  revoke_reviewer_key: (call) => revoke('reviewer', call),

  list_instances: async ({ gateway }) => answer(200, await listInstances(gateway)),

  show_settings: () => Promise.resolve(answer(200, http.settings)),

  // every reviewer may read the policy and request explanations; changes happen only in git
  show_policies: async ({ gateway }) => answer(200, showPolicies(gateway, http.shadowCounts)),

  show_rule_file: async ({ gateway, caller, query }) =>
    answer(200, showRuleFile(gateway, query.path, caller.kind === 'reviewer' ? caller.tenant : undefined)),

  explain_policies: async ({ gateway, caller, body }) => {
    const { agent, ...asked } = body
    const full = { ...asked, agent: agentFor(caller, agent) } as Parameters<typeof explainPolicies>[1]
    return answer(200, await explainPolicies(gateway, full, caller.kind === 'reviewer'))
  },

  find_raised: async ({ gateway, body }) => answer(200, await findRaised(gateway, body)),

  export_evidence: async ({ gateway, caller, query }) => {
    requireTenant(caller, query.tenant)
    const range = {
      tenant: query.tenant,
      after: Number(query.after ?? 0),
      limit: Math.min(Number(query.limit ?? LIMITS.EVIDENCE_PAGE_ITEMS), LIMITS.EVIDENCE_PAGE_ITEMS),
      disclosures: query.disclosures === 'true',
    }
    const lines = exportEvidence(gateway, range, { kind: caller.kind, id: caller.id })
    return answer(200, Readable.from(lines), { 'content-type': 'application/x-ndjson' })
  },

  start_log: async ({ gateway, body }) =>
    answer(200, await startLog(gateway, { identity: http.logIdentity, tiles: http.tiles }, body)),

  accept_loss: async ({ gateway, body }) => answer(200, await acceptLoss(gateway, body)),

  list_checkpoints: async ({ gateway, caller, query }) => {
    requireTenant(caller, query.tenant)
    return answer(200, await listCheckpoints(gateway, http.logIdentity, query))
  },
})

async function issue(
  kind: 'agent' | 'reviewer',
  { gateway, params, body }: Call<(typeof ADMIN)['issue_agent_key']>,
) {
  const { overlap_ms: overlapMs = 0 } = body
  return answer(201, await issueKey(gateway, { kind, ...params }, { overlapMs }))
}

async function revoke(
  kind: 'agent' | 'reviewer',
  { gateway, params }: Call<(typeof ADMIN)['revoke_agent_key']>,
) {
  await revokeKey(gateway, { kind, ...params })
  return answer(204, null)
}

/** The agent of the call to explain. A reviewer may name only agents of the reviewer's own tenant. */
function agentFor(right: AdminRight, agent: string | undefined): string {
  const named = agent ?? (right.kind === 'reviewer' ? `${right.tenant}/test` : 'test/test')
  requireTenant(right, named.split('/')[0] ?? '')
  return named
}
