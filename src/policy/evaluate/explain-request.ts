import { defined } from '../../contract/defined.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Risk } from '../../domain/decision.ts'
import type { CompiledSnapshot } from './compile.ts'
import type { Call, History } from '../language/snapshot.ts'
import { dateTimeOf } from '../language/time.ts'

/** A request for an explanation: the body of an evaluation, with its agent and time. */
export interface ExplainRequest {
  readonly tool_name: string
  readonly payload?: JsonObject
  readonly risk_level?: Risk
  readonly workflow_name?: string
  readonly task_label?: string
  readonly subject?: string
  /** `TENANT/AGENT`; `test/test` unless given. */
  readonly agent?: string
  readonly task?: {
    readonly workflow?: string
    readonly label?: string
    readonly subject?: string
    readonly tools?: readonly string[]
    readonly labels?: readonly string[]
  }
  /** The tools that the agent was allowed to use in the last 24 hours, and their labels. */
  readonly agent_history?: { readonly tools?: readonly string[]; readonly labels?: readonly string[] }
  /** Earlier charges by limit id. */
  readonly used?: Readonly<Record<string, number>>
  /** RFC 3339. */
  readonly time?: string
}

/** Returns the call of a request, at its `time` or `now`; undefined when `time` is invalid. */
export function callOfRequest(request: ExplainRequest, now: number): Call | undefined {
  const { tool_name, payload = {}, agent, time } = request
  const at = time === undefined ? now : dateTimeOf(time)
  if (Number.isNaN(at)) return undefined
  const [tenant = '', id = ''] = (agent ?? 'test/test').split('/')
  return {
    tool: tool_name,
    payload,
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
