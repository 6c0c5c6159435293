import { defined } from '../../contract/defined.ts'
import type { ExplainRequest } from '../../contract/admin.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { CompiledSnapshot } from './compile.ts'
import type { Explanation } from './explanation.ts'
import { callUnder } from './limits.ts'
import type { Call, History } from '../language/snapshot.ts'
import { dateTimeOf } from '../language/time.ts'
import { showHidden } from '../text/text.ts'

/**
 * Explains a request. As in the gateway, the directory must allow the named agent to use the tool before any rule reads
 * the payload.
 *
 * @param refusal the error about a request that cannot be explained
 */
export async function explainRequest(
  snapshot: CompiledSnapshot,
  request: ExplainRequest,
  { now, refusal }: { readonly now: number; readonly refusal: (message: string, hint?: string) => Error },
): Promise<Explanation> {
  const call = callOfRequest(request, now)
  if (call === undefined) throw refusal('`time` must be a date and time in RFC 3339 format')
  if (request.agent !== undefined && !snapshot.mayUse(snapshot.agentOf(call.tenant, call.agent), call.tool))
    return snapshot.explainDenied(call)
  const misfits = snapshot.checkPayload(call.tool, call.payload)
  if (misfits.length > 0) {
    const places = misfits.map(({ pointer, message }) => `${pointer || 'payload'} ${message}`)
    throw refusal(`the payload does not fit the contract of \`${call.tool}\`: ${places.join('; ')}`)
  }
  const strangers = strangersIn(request, snapshot)
  if (strangers.length > 0) {
    const names = strangers.map((id) => `\`${showHidden(id)}\``).join(', ')
    const limits = snapshot.limitsOf(call.tool).map(({ id }) => id)
    const hint = limits.length > 0 ? `it has ${limits.join(', ')}` : undefined
    throw refusal(`\`used\` names an unknown limit of \`${call.tool}\`: ${names}`, hint)
  }
  return snapshot.explain(callUnder(call, await snapshot.judge(call), usedOf(request)))
}

/** Returns the call of a request, at its `time` or `now`; undefined when `time` is invalid. */
export function callOfRequest(request: ExplainRequest, now: number): Call | undefined {
  const { tool_name, payload = {}, agent, time } = request
  const at = time === undefined ? now : dateTimeOf(time)
  if (Number.isNaN(at)) return undefined
  const [tenant = '', id = ''] = (agent ?? 'test/test').split('/')
  return {
    tool: tool_name,
    payload: payload as JsonObject,
    tenant,
    agent: id,
    at,
    // The directory does not have the agent of a request that names none.
    ...(agent === undefined && { owners: [] }),
    history: historyOf(request),
    ...claimsOf(request),
  }
}

/**
 * Returns ids in `used` that are not limits of the tool. If such an id were ignored, a limit that should be full would
 * show room.
 */
export function strangersIn(
  request: Pick<ExplainRequest, 'tool_name' | 'used'>,
  { tools, limitsOf }: Pick<CompiledSnapshot, 'tools' | 'limitsOf'>,
): readonly string[] {
  // Calls of an unknown tool are rejected, regardless of `used`.
  if (!tools.has(request.tool_name)) return []
  const known = new Set(limitsOf(request.tool_name).map(({ id }) => id))
  return [...usedOf(request).keys()].filter((id) => !known.has(id))
}

/** Returns the earlier charges by limit id. */
export function usedOf({ used = {} }: Pick<ExplainRequest, 'used'>): ReadonlyMap<string, number> {
  return new Map(Object.entries(used))
}

function historyOf({ task = {}, agent_history = {} }: ExplainRequest): History {
  const { tools: taskTools = [], labels: taskLabels = [] } = task
  const { tools: agentTools = [], labels: agentLabels = [] } = agent_history
  return { taskTools, taskLabels, agentTools, agentLabels }
}

function claimsOf({ task = {}, ...request }: ExplainRequest): Partial<Call> {
  return defined({
    workflow: request.workflow_name ?? task.workflow,
    label: request.task_label ?? task.label,
    subject: request.subject ?? task.subject,
    riskLevel: request.risk_level,
  })
}
