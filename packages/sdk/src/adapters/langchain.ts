/** `@countersign/sdk/langchain`: tools of LangChain that run only as far as the gateway lets them. Imports nothing of LangChain. */
import { type NotExecuted, refusalFacts } from '../errors.ts'
import type { Gate } from '../gate.ts'
import type { Payload } from '../types.ts'
import { type AdapterOptions, type Given, guardedCall, isAsyncIterable } from './guarded-call.ts'

export type { AdapterOptions, ToolCall } from './guarded-call.ts'

/** A tool of LangChain, as far as we have to know it. */
export interface LangChainTool {
  readonly name: string
  readonly invoke: (...args: never[]) => unknown
}

/**
 * The same tool, behind `gate.guard`: it gets a frozen copy of what was approved, which is the input after LangChain has parsed it. The gateway's name of the tool is
 * its own, with `prefix` in front. For what does not run, the model reads why in a ToolMessage with status `error`, whose artifact has outcome and thread; who
 * invokes the tool without a tool call gets the NotExecuted.
 *
 * @throws TypeError for what is no StructuredTool: what runs at the provider, or is a Runnable only, cannot be held, and nor can what has an `invoke` of its own
 */
export function guardTool<Tool extends LangChainTool>(
  gate: Gate,
  tool: Tool,
  options: AdapterOptions = {},
): Tool {
  const { _call: call, invoke } = tool as unknown as Known
  if (typeof call !== 'function')
    throw new TypeError(`${tool.name} is no StructuredTool: the gateway cannot hold what it does`)
  if (!isInvokedByLangChain(tool))
    throw new TypeError(`${tool.name} has an invoke of its own: the gateway cannot hold what that does`)
  const refusals = new WeakMap<object, NotExecuted>()
  const behind = async (input: unknown, manager?: unknown, config?: Config): Promise<unknown> => {
    const { payload, inputOf } = shapeOf(input)
    const asked = { tool: tool.name, callId: idOf(config), input: payload, signal: config?.signal }
    const run = async (approved: Payload): Promise<Given> =>
      given(await call.call(tool, inputOf(approved), manager, config))
    const outcome = await guardedCall(gate, asked, run, options)
    if (outcome.kind === 'value') return outcome.value
    if (outcome.kind === 'stream') return outcome.stream
    config?.signal?.throwIfAborted()
    if (asked.callId === undefined || !isObject(config?.toolCall)) throw outcome.refusal
    refusals.set(config.toolCall, outcome.refusal)
    return answerOf(outcome.refusal, tool)
  }
  const invoking = async function (this: object, input: unknown, config?: Config): Promise<unknown> {
    const own = ownCall(input, config)
    const answer: unknown = await invoke.call(this, own.input, own.config)
    const refusal = refusals.get(own.call)
    // LangChain has made the message, whose class we do not import
    if (refusal !== undefined && isObject(answer))
      Object.assign(answer, { status: 'error', artifact: refusalFacts(refusal) })
    return answer
  }
  const members = { _call: behind, invoke: invoking, ...('func' in tool ? { func: behind } : {}) }
  return Object.create(tool, Object.getOwnPropertyDescriptors(members)) as Tool
}

/** What stands in the place of LangChain's `invoke` may do all the work, and never come to `_call`. StructuredTool is the class that says where it is from. */
function isInvokedByLangChain(tool: object): boolean {
  let owner: object | null = tool
  while (owner !== null && !Object.hasOwn(owner, 'invoke'))
    owner = Object.getPrototypeOf(owner) as object | null
  return owner !== null && Object.hasOwn(owner, 'lc_namespace')
}

interface Config {
  readonly signal?: AbortSignal
  /** The call of the model that LangChain put here before it parsed. */
  readonly toolCall?: unknown
}

interface Known {
  readonly _call?: (input: unknown, manager?: unknown, config?: Config) => unknown
  readonly invoke: (input: unknown, config?: Config) => unknown
  readonly responseFormat?: unknown
}

/** A tool that takes a text has `input` for its only argument, as the model sees it, too. */
function shapeOf(input: unknown): { payload: unknown; inputOf: (approved: Payload) => unknown } {
  if (input === undefined) return { payload: {}, inputOf: () => undefined }
  if (typeof input === 'string') return { payload: { input }, inputOf: (approved) => approved['input'] }
  return { payload: input, inputOf: (approved) => approved }
}

/** As LangChain takes it: what has a `next` is a stream. */
function given(value: unknown): Given {
  const streams = isAsyncIterable(value) && 'next' in value && typeof value.next === 'function'
  return streams ? { kind: 'stream', stream: value } : { kind: 'value', value }
}

function answerOf(refusal: NotExecuted, tool: LangChainTool): unknown {
  const { responseFormat } = tool as unknown as Known
  return responseFormat === 'content_and_artifact'
    ? [refusal.message, refusalFacts(refusal)]
    : refusal.message
}

function idOf(config: Config | undefined): string | undefined {
  const call = config?.toolCall
  return isObject(call) && 'id' in call && typeof call.id === 'string' ? call.id : undefined
}

/** The call as an object of this invocation's own, which `_call` finds in its config: the same call may be invoked twice. */
function ownCall(input: unknown, config: Config | undefined) {
  if (isObject(input) && 'type' in input && input.type === 'tool_call') {
    const call = { ...input }
    return { call, input: call, config }
  }
  const call = { ...(isObject(config?.toolCall) ? config.toolCall : undefined) }
  return { call, input, config: isObject(config?.toolCall) ? { ...config, toolCall: call } : config }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
