/**
 * `@countersign/sdk/langchain`: agents of LangChain, on LangGraph, behind the gateway. This module imports neither.
 */
import { ArgumentsChanged, NotExecuted } from '../errors.ts'
import { refusalFacts } from '../refusal.ts'
import type { Gate } from '../gate.ts'
import {
  type AdapterOptions,
  type Asked,
  checkSchema,
  createCalls,
  type Given,
  isAsyncIterable,
  parsed,
  type Saved,
  type ToolCall,
} from './calls.ts'

export type { AdapterOptions, ToolCall } from './calls.ts'

/** The members of a LangChain tool that the adapter uses. */
export interface LangChainTool {
  readonly name: string
  readonly invoke: (...args: never[]) => unknown
}

export interface LangChainOptions<Schema> extends AdapterOptions {
  /** `interrupt` of `@langchain/langgraph`. */
  readonly interrupt: (value: never) => unknown
  /** The channel of the checkpoint: `z.object({ countersign: z.any().optional() })`. */
  readonly stateSchema: Schema
  /** The conversation. Default: `thread_id` of the configuration. */
  readonly taskId?: string | undefined
}

/** The argument of `createMiddleware`. */
export interface MiddlewareParts<Schema> {
  readonly name: string
  readonly stateSchema: Schema
  readonly afterModel: (state: unknown, runtime: unknown) => Promise<never>
  readonly wrapToolCall: (request: unknown, handler: (request: never) => unknown) => Promise<never>
}

/**
 * Returns the argument of `createMiddleware` of LangChain. After the model's turn, it proposes the calls of these
 * tools, and keeps their handles in the checkpoint. A held call interrupts the graph before its tool runs. The
 * gateway's name for a tool is `prefix` followed by the tool's name. A refusal reaches the model as a ToolMessage with
 * status `error`, whose artifact has code and thread.
 *
 * @throws TypeError for a tool that is no StructuredTool, or has an `invoke` of its own; for a schema whose values no
 * payload can hold
 */
export function countersign<Schema>(
  gate: Gate,
  tools: readonly LangChainTool[],
  options: LangChainOptions<Schema>,
): MiddlewareParts<Schema> {
  const { interrupt, stateSchema, taskId, ...others } = options
  for (const tool of tools) checkTool(tool)
  const governed = new Map(tools.map((tool) => [tool.name, tool as unknown as Known]))
  const told = { onNotExecuted: unlessWaiting(options.onNotExecuted) }
  const calls = createCalls(gate, { ...others, ...told })
  // made with the first call, because Workers have no randomness while a module loads
  let ownTask: string | undefined
  const propose = async (call: Call, tool: Known, conversation: string | undefined): Promise<Kept> => {
    const task = taskId ?? conversation ?? (ownTask ??= crypto.randomUUID())
    try {
      const made = await parsed(tool.schema, call.args)
      return await calls.propose(askedOf(call, tool, { made, taskId: task }))
    } catch (error) {
      if (!(error instanceof NotExecuted)) throw error
      await told.onNotExecuted(error, { tool: call.name, callId: call.id })
      const { code, message, thread_id } = error
      return { code, message, thread_id }
    }
  }
  const afterModel = async (state: State, { configurable }: Runtime): Promise<object> => {
    const { tool_calls = [] } = state.messages?.at(-1) ?? {}
    const made = tool_calls.map(async (call): Promise<[string, Kept][]> => {
      const tool = governed.get(call.name)
      return tool === undefined ? [] : [[call.id ?? '', await propose(call, tool, configurable?.thread_id)]]
    })
    return { countersign: Object.fromEntries((await Promise.all(made)).flat()) }
  }
  const wrapToolCall = async (request: Request, handler: (request: Request) => unknown): Promise<unknown> => {
    const { toolCall: call } = request
    const tool = governed.get(call.name)
    if (tool === undefined) return handler(request)
    const { countersign = {} } = request.state ?? {}
    // a model writes the id
    const kept = Object.hasOwn(countersign, call.id ?? '') ? countersign[call.id ?? ''] : undefined
    for (;;) {
      const attempt = attemptOf(calls, { call, tool, kept, given: request.tool ?? tool })
      const answer = await handler({ ...request, tool: attempt.tool })
      const { refusal } = attempt
      if (refusal === undefined) return answer
      if (refusal.code !== 'still_pending')
        return Object.assign(answer as object, {
          status: 'error',
          artifact: refusalFacts(refusal as NotExecuted),
        })
      const { thread_id, console_url } = refusal
      interrupt({ countersign: { tool: call.name, thread_id, console_url } } as never)
    }
  }
  return {
    name: 'countersign',
    stateSchema,
    afterModel: afterModel as MiddlewareParts<Schema>['afterModel'],
    wrapToolCall: wrapToolCall as MiddlewareParts<Schema>['wrapToolCall'],
  }
}

/**
 * The argument of `new Command(...)` that continues each pause of a graph. It approves nothing: the adapter asks the
 * gateway, and a call that still waits pauses the graph again.
 */
export async function resumeAll(
  graph: { getState(config: never): Promise<unknown> },
  config: object,
): Promise<{ resume: Record<string, true> }> {
  const { tasks = [] } = (await graph.getState(config as never)) as {
    readonly tasks?: readonly { readonly interrupts?: readonly { readonly id?: string }[] }[]
  }
  const ids = tasks.flatMap(({ interrupts = [] }) =>
    interrupts.flatMap(({ id }) => (id === undefined ? [] : [id])),
  )
  return { resume: Object.fromEntries(ids.map((id) => [id, true as const])) }
}

/** A pause is no refusal. */
const unlessWaiting =
  (onNotExecuted: AdapterOptions['onNotExecuted']) =>
  (refusal: NotExecuted, call: ToolCall): unknown =>
    refusal.code === 'still_pending' ? undefined : onNotExecuted?.(refusal, call)

interface Call {
  readonly name: string
  readonly id?: string
  readonly args: unknown
}

interface Config {
  readonly signal?: AbortSignal
}

interface Known {
  readonly name: string
  readonly schema?: unknown
  readonly responseFormat?: unknown
  readonly _call: (input: unknown, manager?: unknown, config?: Config) => unknown
}

interface State {
  readonly messages?: readonly { readonly tool_calls?: readonly Call[] }[]
  readonly countersign?: Readonly<Record<string, Kept | undefined>>
}

interface Runtime {
  readonly configurable?: { readonly thread_id?: string }
}

interface Request {
  readonly toolCall: Call
  readonly tool?: Known
  readonly state?: State
}

/** A refusal of the proposal, in the checkpoint. */
type Refused = Pick<NotExecuted, 'code' | 'message' | 'thread_id'> & {
  readonly console_url?: string | undefined
}
type Kept = Saved | Refused

/** A tool that takes a string has `input` as its only argument, and the model sees the same argument. */
function askedOf(
  call: Call,
  tool: Known,
  {
    made,
    taskId,
    signal,
  }: { readonly made: unknown; readonly taskId: string; readonly signal?: AbortSignal | undefined },
): Asked {
  const isText = typeof made === 'string'
  const input = isText ? { input: made } : (made ?? {})
  const schema = isText || made === undefined ? undefined : tool.schema
  return { taskId, tool: call.name, callId: call.id, raw: call.args, input, schema, signal }
}

interface Attempt {
  readonly call: Call
  readonly tool: Known
  readonly kept: Kept | undefined
  /** The tool that the framework is about to run. */
  readonly given: Known
}

/** One run of a tool by the framework. The tool gets the approved value, not a second result of its schema. */
function attemptOf(calls: ReturnType<typeof createCalls>, { call, tool, kept, given }: Attempt) {
  const attempt: { tool: Known; refusal: Refused | undefined } = { tool: given, refusal: undefined }
  const _call = async (second: unknown, manager?: unknown, config?: Config): Promise<unknown> => {
    const outcome = await outcomeOf(second, manager, config)
    attempt.refusal = outcome.kind === 'refused' ? outcome.refusal : undefined
    if (outcome.kind === 'stream') return outcome.stream
    if (outcome.kind === 'value') return outcome.value
    const { message } = outcome.refusal
    return tool.responseFormat === 'content_and_artifact' ? [message, undefined] : message
  }
  const outcomeOf = async (second: unknown, manager: unknown, config: Config | undefined) => {
    if (kept === undefined)
      return { kind: 'refused' as const, refusal: new ArgumentsChanged('the call was never proposed') }
    if (!('handle' in kept)) return { kind: 'refused' as const, refusal: kept }
    const asked = askedOf(call, tool, { made: second, taskId: '', signal: config?.signal })
    const inputOf = (approved: { readonly input?: unknown }): unknown =>
      typeof second === 'string' ? approved.input : approved
    const run = async (approved: object): Promise<Given> =>
      givenBy(await tool._call.call(given, inputOf(approved), manager, config))
    return calls.run(asked, run, kept)
  }
  const members = { _call, ...('func' in given ? { func: _call } : {}) }
  attempt.tool = Object.create(given, Object.getOwnPropertyDescriptors(members)) as Known
  return attempt
}

/** Interprets a result like LangChain: an object with `next` is a stream. */
function givenBy(value: unknown): Given {
  const streams = isAsyncIterable(value) && 'next' in value && typeof value.next === 'function'
  return streams ? { kind: 'stream', stream: value } : { kind: 'value', value }
}

function checkTool(tool: LangChainTool): void {
  const { name, _call, schema } = tool as unknown as Partial<Known> & { readonly name: string }
  if (typeof _call !== 'function')
    throw new TypeError(`${name} is no StructuredTool: the gateway cannot hold what it does`)
  if (!isInvokedByLangChain(tool))
    throw new TypeError(`${name} has an invoke of its own: the gateway cannot hold what that does`)
  checkSchema(schema, name)
}

/**
 * True when the tool has LangChain's own `invoke`, because another implementation might never call `_call`. The class
 * StructuredTool provides this method.
 */
function isInvokedByLangChain(tool: object): boolean {
  let owner: object | null = tool
  while (owner !== null && !Object.hasOwn(owner, 'invoke'))
    owner = Object.getPrototypeOf(owner) as object | null
  return owner !== null && Object.hasOwn(owner, 'lc_namespace')
}
