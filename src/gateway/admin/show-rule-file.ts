import type { RuleFileView } from '../../contract/admin.ts'
import { GatewayError } from '../../contract/errors.ts'
import type { Deps } from '../core/deps.ts'

/**
 * The text of a rule file of the bundle in force.
 *
 * @param tenant undefined for a caller who may see all tenants; otherwise the file must cover one of the tenant's tools
 * @throws GatewayError `not_found`
 */
export function showRuleFile(deps: Deps, path: string, tenant: string | undefined): RuleFileView {
  const snapshot = deps.policies.current()
  const text = snapshot?.ruleText(path, tenant)
  if (snapshot === undefined || text === undefined)
    throw new GatewayError('not_found', 'the bundle in force has no such rule file')
  return { path, text, revision: snapshot.revision }
}
