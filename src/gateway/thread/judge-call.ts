import type { Call, Outcome, Snapshot } from '../../policy/language/snapshot.ts'
import { clocked } from '../../policy/language/working-time.ts'
import type { Deps } from '../core/deps.ts'

/** Decides a call. Every call is refused while there is no snapshot. */
export async function decide(deps: Deps, snapshot: Snapshot | undefined, call: Call): Promise<Outcome> {
  if (snapshot === undefined) return NO_POLICY
  const start = performance.now()
  const outcome = await snapshot.decide(call)
  const seconds = (performance.now() - start) / 1000
  const { verdict, fault } = outcome
  const traceparent = deps.origin?.span?.received?.traceparent
  deps.observe({ kind: 'evaluated', verdict, seconds, fault, traceparent })
  const { requirement } = outcome
  return requirement?.working ? { ...outcome, requirement: clocked(requirement, call.at) } : outcome
}

/** The agent's statements about its call that policy reads. */
interface Claims {
  readonly tool_name: string
  readonly workflow_name?: string
  readonly task_label?: string
  readonly subject?: string
  readonly risk_level?: Outcome['risk']
}

/** The facts about a call that the agent does not state. */
type Facts = Pick<Call, 'payload' | 'at' | 'task' | 'use' | 'history' | 'exceeded'>

/** The call as policy sees it: identity comes from the key, never from the body. */
export function callOf(
  { tenant, id: agent }: { readonly tenant: string; readonly id: string },
  { tool_name: tool, workflow_name: workflow, task_label: label, subject, risk_level: riskLevel }: Claims,
  facts: Facts,
): Call {
  return { tool, tenant, agent, workflow, label, subject, riskLevel, ...facts }
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
