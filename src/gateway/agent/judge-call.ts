import type { JsonObject } from '../../contract/json.ts'
import type { Call, Outcome, Snapshot } from '../../policy/evaluate/snapshot.ts'
import type { Deps } from '../core/deps.ts'

/** Decides a call. Every call is refused while there is no snapshot. */
export async function decide(deps: Deps, snapshot: Snapshot | undefined, call: Call): Promise<Outcome> {
  if (snapshot === undefined) return NO_POLICY
  const start = performance.now()
  const outcome = await snapshot.decide(call)
  const seconds = (performance.now() - start) / 1000
  const { verdict, fault } = outcome
  const traceparent = deps.origin?.span.received?.traceparent
  deps.observe({ kind: 'evaluated', verdict, seconds, fault, traceparent })
  return outcome
}

/** The call as policy sees it: identity comes from the key, never from the body. */
export function callOf(
  caller: { tenant: string; id: string },
  claims: {
    tool_name: string
    workflow_name?: string
    task_label?: string
    subject?: string
    risk_level?: Outcome['risk']
  },
  payload: JsonObject,
  at: number,
): Omit<Call, 'task' | 'exceeded' | 'history'> {
  return {
    tool: claims.tool_name,
    payload,
    tenant: caller.tenant,
    agent: caller.id,
    at,
    ...(claims.workflow_name === undefined ? {} : { workflow: claims.workflow_name }),
    ...(claims.task_label === undefined ? {} : { label: claims.task_label }),
    ...(claims.subject === undefined ? {} : { subject: claims.subject }),
    ...(claims.risk_level === undefined ? {} : { riskLevel: claims.risk_level }),
  }
}

const NO_POLICY: Outcome = {
  verdict: 'reject',
  risk: 'critical',
  policyRisk: 'critical',
  message: 'No policy is in force: the gateway has not loaded a valid bundle.',
  by: ['no_policy'],
  fired: [],
  reads: [],
}
