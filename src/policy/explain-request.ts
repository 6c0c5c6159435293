import { defined } from '../contract/defined.ts'
import type { JsonObject } from '../contract/json.ts'
import type { Risk } from '../domain/decision.ts'
import type { Call } from './snapshot.ts'

/** A request to explain: the body of an evaluation, and who proposes it when. */
export interface ExplainRequest {
  readonly tool_name: string
  readonly payload?: JsonObject
  readonly risk_level?: Risk
  readonly workflow_name?: string
  readonly task_label?: string
  readonly subject?: string
  /** `TENANT/AGENT`, or an agent of tenant `test`. */
  readonly agent?: string
  readonly task?: { readonly workflow?: string; readonly label?: string; readonly subject?: string }
  /** RFC 3339. */
  readonly time?: string
}

/** The call that a request describes, at `now` unless it says otherwise; undefined when its time is none. */
export function callOfRequest(request: ExplainRequest, now: number): Call | undefined {
  const { tool_name, payload = {}, agent = 'test/test', time } = request
  const at = time === undefined ? now : Date.parse(time)
  if (Number.isNaN(at)) return undefined
  const [tenant = '', id = ''] = agent.includes('/') ? agent.split('/') : ['test', agent]
  return { tool: tool_name, payload, tenant, agent: id, at, ...claimsOf(request) }
}

function claimsOf({ task = {}, ...request }: ExplainRequest): Partial<Call> {
  return defined({
    workflow: request.workflow_name ?? task.workflow,
    label: request.task_label ?? task.label,
    subject: request.subject ?? task.subject,
    riskLevel: request.risk_level,
  })
}
