import type { PoliciesView } from '../../contract/admin.ts'
import { defined } from '../../contract/defined.ts'
import { withdrawalText } from '../../policy/language/snapshot.ts'
import type { Diagnostic } from '../../policy/report/diagnostics.ts'
import type { Deps, PolicyStatus } from '../core/deps.ts'
import { isoTime } from '../core/event-record.ts'

/**
 * The bundle in force and the result of the last load (docs/operations.md, GET policies). `shadow` counts fired shadow
 * rules.
 */
export function showPolicies(deps: Deps, shadow: ReadonlyMap<string, number>): PoliciesView {
  const snapshot = deps.policies.current()
  const { loadedAt, commit, lastLoad } = deps.policies.status()
  return {
    in_force: snapshot !== undefined,
    ...defined({
      revision: snapshot?.revision,
      commit,
      withdrawals: snapshot?.withdrawal && withdrawalText(snapshot),
      loaded_at: loadedAt === undefined ? undefined : isoTime(loadedAt),
    }),
    files: (snapshot?.files ?? []).map((file) => ({ ...file })),
    tools: snapshot?.tools.size ?? 0,
    rules: snapshot?.ruleCount ?? 0,
    last_load: lastLoad === undefined ? { ok: false, diagnostics: [] } : loadView(lastLoad),
    shadow: Object.fromEntries(shadow),
  }
}

function loadView(load: NonNullable<PolicyStatus['lastLoad']>): PoliciesView['last_load'] {
  const { ok, at, revision, diagnostics } = load
  return { ok, at: isoTime(at), diagnostics: diagnostics.map(diagnosticView), ...defined({ revision }) }
}

function diagnosticView(diagnostic: Diagnostic): PoliciesView['last_load']['diagnostics'][number] {
  const { code, severity, file, line, column, message, hint } = diagnostic
  return { code, severity, file, line, column, message, ...defined({ hint }) }
}
