import { Readable } from 'node:stream'
import type { ErasureRequest } from '../../contract/erasure.ts'
import type { ADMIN } from '../../contract/operations/admin.ts'
import type { ERASURE } from '../../contract/operations/erasure.ts'
import type { FREEZE } from '../../contract/operations/freeze.ts'
import type { LEGAL_HOLD } from '../../contract/operations/legal-hold.ts'
import { LIMITS } from '../../contract/limits.ts'
import type { Selection } from '../../domain/erasure.ts'
import { erase, previewErasure } from '../../gateway/admin/erase.ts'
import { explainPolicies } from '../../gateway/admin/explain-policies.ts'
import { exportEvidence } from '../../gateway/admin/export-evidence.ts'
import { findRaised } from '../../gateway/admin/find-raised.ts'
import { freeze, listFreezes, unfreeze } from '../../gateway/admin/freeze.ts'
import { addLegalHold, listLegalHolds, removeLegalHold } from '../../gateway/admin/legal-hold.ts'
import { showRuleFile } from '../../gateway/admin/show-rule-file.ts'
import { showPolicies } from '../../gateway/admin/show-policies.ts'
import { acceptLoss } from '../../gateway/admin/accept-loss.ts'
import { startLog } from '../../gateway/admin/start-log.ts'
import { issueKey, revokeKey } from '../../gateway/auth/keys.ts'
import { issueLink } from '../../gateway/auth/login-links.ts'
import { endSessions } from '../../gateway/auth/sign-out.ts'
import { listCheckpoints } from '../../gateway/jobs/checkpoints.ts'
import { finishErasure } from '../../gateway/jobs/erasing.ts'
import { listInstances } from '../../gateway/jobs/instances.ts'
import { administratorOf, requireTenant } from '../access/admin-right.ts'
import { linkUrl } from '../core/same-origin.ts'
import type { HttpDeps } from '../core/deps.ts'
import type { AdminRight, Call, Handlers } from '../core/handler.ts'

type Admin = typeof ADMIN & typeof ERASURE & typeof FREEZE & typeof LEGAL_HOLD

/**
 * Handlers of the admin plane (docs/operations.md): for the admin key, and for the admin role in its own tenant. Only
 * the admin key issues credentials, erases, and adds legal holds.
 */
export const adminHandlers = (http: HttpDeps): Handlers<Admin> => ({
  issue_login_link: async ({ gateway, params }) => {
    const { token, expiresAt } = await issueLink(gateway, params)
    return { url: linkUrl(http.site(), token), expires_at: new Date(expiresAt).toISOString() }
  },

  end_sessions: ({ gateway, params }) => endSessions(gateway, params),

  issue_agent_key: (call) => issue('agent', call),
  revoke_agent_key: ({ gateway, params }) => revokeKey(gateway, { kind: 'agent', ...params }),
  issue_reviewer_key: (call) => issue('reviewer', call),
  revoke_reviewer_key: ({ gateway, params }) => revokeKey(gateway, { kind: 'reviewer', ...params }),

  list_instances: ({ gateway }) => listInstances(gateway),
  show_settings: () => http.settings,

  // every reviewer may read the policy and request explanations; changes happen only in git
  show_policies: ({ gateway }) => showPolicies(gateway, http.shadowCounts),

  show_rule_file: ({ gateway, caller, query }) =>
    showRuleFile(gateway, query.path, caller.kind === 'reviewer' ? caller.tenant : undefined),

  explain_policies: ({ gateway, caller, body }) => {
    const { agent, ...asked } = body
    const full = { ...asked, agent: agentFor(caller, agent) } as Parameters<typeof explainPolicies>[1]
    return explainPolicies(gateway, full, caller.kind === 'reviewer')
  },

  find_raised: ({ gateway, body }) => findRaised(gateway, body),

  export_evidence: ({ gateway, caller: { kind, id }, query, reply }) => {
    const range = {
      tenant: query.tenant,
      after: Number(query.after ?? 0),
      limit: Math.min(Number(query.limit ?? LIMITS.EVIDENCE_PAGE_ITEMS), LIMITS.EVIDENCE_PAGE_ITEMS),
      disclosures: query.disclosures === 'true',
    }
    reply.type('application/x-ndjson')
    return Readable.from(exportEvidence(gateway, range, { kind, id }))
  },

  start_log: ({ gateway, body }) =>
    startLog(gateway, { identity: http.logIdentity, tiles: http.tiles }, body),

  accept_loss: ({ gateway, body }) => acceptLoss(gateway, body),
  list_checkpoints: ({ gateway, query }) => listCheckpoints(gateway, http.logIdentity, query),

  freeze: ({ gateway, caller, body }) => freeze(gateway, administratorOf(caller, body.tenant), body),
  unfreeze: ({ gateway, caller, body }) => unfreeze(gateway, administratorOf(caller, body.tenant), body),
  list_freezes: ({ gateway, query }) => listFreezes(gateway, query.tenant),

  add_legal_hold: ({ gateway, body }) => addLegalHold(gateway, body),
  remove_legal_hold: ({ gateway, body }) => removeLegalHold(gateway, body),
  list_legal_holds: ({ gateway, query }) => listLegalHolds(gateway, query.tenant),

  erase: ({ gateway, body }) => {
    const { tenant, reason, preview = false, in_store: inStore = false } = body
    const scope = { tenant, selection: selectionOf(body), inStore }
    if (preview) return previewErasure(gateway, scope)
    return erase(gateway, { ...scope, reason, finish: () => finishErasure(gateway, tenant) })
  },
})

const issue = (
  kind: 'agent' | 'reviewer',
  { gateway, params, body }: Call<(typeof ADMIN)['issue_agent_key']>,
) => issueKey(gateway, { kind, ...params }, { overlapMs: body.overlap_ms ?? 0 })

/** The agent of the call to explain. A reviewer may name only agents of the reviewer's own tenant. */
function agentFor(right: AdminRight, agent: string | undefined): string {
  const named = agent ?? (right.kind === 'reviewer' ? `${right.tenant}/test` : 'test/test')
  requireTenant(right, named.split('/')[0] ?? '')
  return named
}

/** The schema admits exactly one selection. */
function selectionOf({ task_id, thread_id, agent, field = '', equals = '' }: ErasureRequest): Selection {
  if (task_id !== undefined) return { task_id }
  if (thread_id !== undefined) return { thread_id }
  return agent === undefined ? { field, equals } : { agent }
}
