/**
 * `@countersign/sdk/openai-agents`: function tools of the OpenAI Agents SDK behind the gateway. This module does not
 * import that SDK.
 */
import type { ToolSchema } from '../carrier.ts'
import type { Gate } from '../gate.ts'
import { NotExecuted } from '../errors.ts'
import {
  type AdapterOptions,
  type Asked,
  checkSchema,
  createCalls,
  type Saved,
  waits,
  withMembers,
} from './calls.ts'

export type { AdapterOptions, ToolCall } from './calls.ts'

/** The members of the options of `tool()` that the adapter uses. */
export interface FunctionToolOptions<Parameters, Input> {
  readonly name?: string | undefined
  readonly parameters: Parameters
  readonly strict?: boolean
  readonly execute: (input: Input, ...more: never[]) => unknown
}

/**
 * A JSON Schema, which does not parse. The members are listed so that TypeScript does not widen `'object'` to string.
 */
export interface JsonSchema {
  readonly type: 'object'
  readonly additionalProperties: boolean
}

export interface AgentsOptions extends AdapterOptions {
  /** The conversation, or a function of the run's context that returns it. */
  readonly taskId: string | ((context: never) => string)
}

/**
 * Returns the options for `tool()`. `needsApproval` proposes the call, keeps its handle in the run's context, which
 * `RunState` saves, and interrupts the run while the call is held. `execute` redeems the proof of the approved call.
 * The gateway's name for the tool is `prefix` followed by `name`. A refusal reaches the model as the tool's output.
 *
 * @throws TypeError for a finished tool, which would parse the approved payload again; for a schema whose values no
 * payload can hold
 */
export function guardTool<Input, Options extends object>(
  gate: Gate,
  tool: Options & FunctionToolOptions<ToolSchema<Input>, Input>,
  options: AgentsOptions,
): Options
export function guardTool<Options extends FunctionToolOptions<JsonSchema, unknown>>(
  gate: Gate,
  tool: Options,
  options: AgentsOptions,
): Options
export function guardTool<Options extends { readonly name?: string | undefined }>(
  gate: Gate,
  tool: Options,
  options: AgentsOptions,
): Options {
  const { execute, outputSchema, parameters: schema, needsApproval } = tool as Known
  if (typeof execute !== 'function')
    throw new TypeError('guardTool takes what is given to tool(), not a tool: tool(guardTool(gate, { ... }))')
  const name = tool.name ?? execute.name
  if (name === '') throw new TypeError('the tool has no name')
  checkSchema(schema, name)
  const { taskId, ...others } = options
  const calls = createCalls(gate, others)
  const about = (context: Context | undefined, call: Pick<Asked, 'callId' | 'input' | 'signal'>): Asked => ({
    ...call,
    raw: call.input,
    tool: name,
    schema,
    taskId: typeof taskId === 'string' ? taskId : taskId(context as never),
  })
  const asksItself = async (...args: [Context, unknown, string | undefined]): Promise<boolean> =>
    Boolean(typeof needsApproval === 'function' ? await needsApproval(...args) : needsApproval)
  const needs = async (context: Context, input: unknown, callId?: string): Promise<boolean> => {
    const own = await asksItself(context, input, callId)
    const known = savedOf(context, callId)
    // made once: the run after the approval may ask again
    if (callId === undefined || known !== undefined) return own || known !== undefined
    try {
      const asked = about(context, { callId, input })
      const saved = await calls.propose(asked)
      savedIn(context)[memberOf(callId)] = own ? { ...saved, own } : saved
      return own || saved.handle.status === 'pending_review'
    } catch (error) {
      // `execute` proposes the call again, and the model reads the refusal
      if (error instanceof NotExecuted) return own
      throw error
    }
  }
  const guarded = async (input: unknown, context?: Context, details?: Details): Promise<unknown> => {
    const callId = details?.toolCall?.callId
    const asked = about(context, { callId, input, signal: details?.signal })
    const saved = context && savedOf(context, callId)
    const run = async (approved: unknown) => {
      const value = await execute.call(tool, approved, context, details)
      return { kind: 'value', value } as const
    }
    const outcome = await calls.run(asked, run, saved)
    if (outcome.kind === 'value') return outcome.value
    if (outcome.kind === 'stream') return outcome.stream
    // plain text would not match the promised output type; the tool's own errorFunction can build a valid output
    if (outputSchema !== undefined) throw outcome.refusal
    return outcome.refusal.message
  }
  // tool() names a nameless tool after its function
  Object.defineProperty(guarded, 'name', { value: execute.name })
  const members = { execute: guarded, ...(options.maxWaitMs === undefined && { needsApproval: needs }) }
  return withMembers<Options>(tool, members)
}

const MEMBER = 'countersign'

/** The calls in the run's context. `RunState` saves the context. */
function savedIn(context: Context): Record<string, Saved> {
  const own = (context.context ??= {}) as Record<string, Record<string, Saved> | undefined>
  return (own[MEMBER] ??= {})
}

/** A model writes the ids, such as `__proto__`. */
const memberOf = (callId: string): string => `call:${callId}`
const savedOf = (context: Context, callId: string | undefined): Saved | undefined =>
  callId === undefined ? undefined : savedIn(context)[memberOf(callId)]

/** An interrupted run, as `RunState` has it. */
export interface InterruptedRun<Item> {
  readonly _context: object
  getInterruptions(): readonly Item[]
  approve(item: Item): void
}

/**
 * Releases the decided calls of an interrupted run, and leaves the others interrupted. It approves nothing: `execute`
 * asks the gateway.
 *
 * @returns the number of released calls
 * @throws NotExecuted when the gateway does not say whether a call waits
 */
export async function settle<Item extends { readonly rawItem: object }>(
  gate: Gate,
  state: InterruptedRun<Item>,
): Promise<number> {
  let released = 0
  for (const item of state.getInterruptions()) {
    const saved = savedOf(state._context as Context, (item.rawItem as { readonly callId?: string }).callId)
    if (saved === undefined || saved.own || (await waits(gate, saved.handle))) continue
    state.approve(item)
    released++
  }
  return released
}

interface Context {
  context?: unknown
}

/** The SDK's details about a call. */
interface Details {
  readonly toolCall?: { readonly callId?: string }
  readonly signal?: AbortSignal
}

interface Known {
  readonly execute?: (input: unknown, context?: Context, details?: Details) => unknown
  readonly outputSchema?: unknown
  readonly parameters?: unknown
  readonly needsApproval?: boolean | ((context: Context, input: unknown, callId?: string) => unknown)
}
