/** `@countersign/sdk/langchain`: tools of LangChain behind the gateway. This module does not import LangChain. */
import { type NotExecuted, refusalFacts } from '../errors.ts'
import type { Gate } from '../gate.ts'
import type { Payload } from '../types.ts'
import { type AdapterOptions, type Given, guardedCall, isAsyncIterable } from './guarded-call.ts'

export type { AdapterOptions, ToolCall } from './guarded-call.ts'

/** The members of a LangChain tool that the adapter uses. */
export interface LangChainTool {
  readonly name: string
  readonly invoke: (...args: never[]) => unknown
}

/**
 * Returns the same tool behind `gate.guard`. The tool receives a frozen copy of the approved payload, which is the
 * input as parsed by LangChain. The gateway's name for the tool is `prefix` followed by the tool's name. A refusal
 * reaches the model as a ToolMessage with status `error`, whose artifact has outcome and thread. A caller that invokes
 * the tool without a tool call gets the NotExecuted.
 *
 * @throws TypeError unless the tool is a StructuredTool. Tools at the provider, plain Runnables and tools with their
 * own `invoke` cannot be held.
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
  const guarded = async (input: unknown, manager?: unknown, config?: Config): Promise<unknown> => {
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
    // LangChain creates the message, whose class the adapter does not import
    if (refusal !== undefined && isObject(answer))
      Object.assign(answer, { status: 'error', artifact: refusalFacts(refusal) })
    return answer
  }
  const members = { _call: guarded, invoke: invoking, ...('func' in tool ? { func: guarded } : {}) }
  return Object.create(tool, Object.getOwnPropertyDescriptors(members)) as Tool
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

interface Config {
  readonly signal?: AbortSignal
  /** The model's call, which LangChain stores here before parsing. */
  readonly toolCall?: unknown
}

interface Known {
  readonly _call?: (input: unknown, manager?: unknown, config?: Config) => unknown
  readonly invoke: (input: unknown, config?: Config) => unknown
  readonly responseFormat?: unknown
}

/** The payload. A tool that accepts a string has `input` as its only argument, and the model sees the same argument. */
function shapeOf(input: unknown): { payload: unknown; inputOf: (approved: Payload) => unknown } {
  if (input === undefined) return { payload: {}, inputOf: () => undefined }
  if (typeof input === 'string') return { payload: { input }, inputOf: (approved) => approved['input'] }
  return { payload: input, inputOf: (approved) => approved }
}

/** Interprets a result like LangChain: an object with `next` is a stream. */
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

/** A separate object for this call, which `_call` finds in its config, because the same call may be invoked twice. */
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
