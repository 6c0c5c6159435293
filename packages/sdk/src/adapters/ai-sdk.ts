/** `@countersign/sdk/ai-sdk`: tools of the AI SDK behind the gateway. This module does not import the AI SDK. */
import type { Gate } from '../gate.ts'
import {
  type AdapterOptions,
  type Asked,
  type Calls,
  checkSchema,
  createCalls,
  type Given,
  isAsyncIterable,
  type Outcome,
  withMembers,
} from './calls.ts'

export type { AdapterOptions, ToolCall } from './calls.ts'

/** The members of an AI SDK tool that the adapter uses. */
export interface AiSdkTool {
  readonly execute?: ((...args: never[]) => unknown) | undefined
}

export interface AiSdkOptions extends AdapterOptions {
  /** The conversation. Together with the id and the arguments of a call, it finds the review of the call. */
  readonly taskId: string
}

/** The message that continues a request. */
export interface Settled {
  role: 'tool'
  content: { type: 'tool-approval-response'; approvalId: string; approved: boolean }[]
}

export interface GuardedTools<Tools> {
  readonly tools: Tools
  /**
   * The message for the next request, once reviewers have decided all held calls of the conversation. Undefined before,
   * because the AI SDK takes one answer for each `tool-approval-request`. The message approves nothing: `execute` asks
   * the gateway.
   *
   * @throws NotExecuted when the gateway does not say whether a call waits
   */
  readonly settle: (
    messages: readonly { readonly role: string; readonly content: unknown }[],
  ) => Promise<Settled | undefined>
}

/**
 * Returns the tools behind the gate. `needsApproval` of a tool proposes the call, and pauses the request while the call
 * is held. `execute` redeems the proof of the approved call. The gateway's name for a tool is `prefix` followed by the
 * tool's key. A call that does not run becomes a `tool-error` whose `error` is a NotExecuted, whose message the model
 * reads. A tool with a `needsApproval` of its own needs both approvals; the program answers the request for its own.
 *
 * @throws TypeError for a tool without `execute`, which runs in a browser or at the provider; for a schema whose values
 * no payload can hold
 */
export function guardTools<Tools extends Readonly<Record<string, AiSdkTool>>>(
  gate: Gate,
  tools: Tools,
  options: AiSdkOptions,
): GuardedTools<Tools> {
  const calls = createCalls(gate, options)
  const about = (name: string, input: unknown, details?: Details): Asked => ({
    taskId: options.taskId,
    tool: name,
    callId: details?.toolCallId,
    raw: input,
    input,
    schema: (tools[name] as Known | undefined)?.inputSchema,
    signal: details?.abortSignal,
  })
  const guarded = Object.entries(tools).map(([name, tool]) => [
    name,
    guardTool(calls, tool, { name, asked: (input, details) => about(name, input, details) }),
  ])
  const isOurs = async ({ toolName = '', toolCallId, input }: Part): Promise<boolean> => {
    const tool = Object.hasOwn(tools, toolName) ? tools[toolName] : undefined
    return tool !== undefined && !(await asksItself(tool, input, { toolCallId: toolCallId ?? '' }))
  }
  return {
    tools: Object.fromEntries(guarded) as Tools,
    settle: async (messages) => {
      const content: Settled['content'] = []
      for (const { approvalId = '', call } of openRequests(messages)) {
        if (!(await isOurs(call))) continue
        if (await calls.waits(about(call.toolName ?? '', call.input, { toolCallId: call.toolCallId ?? '' })))
          return undefined
        content.push({ type: 'tool-approval-response', approvalId, approved: true })
      }
      return content.length === 0 ? undefined : { role: 'tool', content }
    },
  }
}

interface Part {
  readonly type?: string
  readonly approvalId?: string
  readonly isAutomatic?: boolean
  readonly toolCallId?: string
  readonly toolName?: string
  readonly input?: unknown
}

/** Each `tool-approval-request` without an answer, and its call. */
function openRequests(messages: readonly { readonly content: unknown }[]) {
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as Part[]) : []))
  const answers = parts.filter(({ type }) => type === 'tool-approval-response')
  const answered = new Set(answers.map(({ approvalId }) => approvalId))
  return parts.flatMap(({ type, approvalId, isAutomatic, toolCallId }) => {
    const isOpen = type === 'tool-approval-request' && isAutomatic !== true && !answered.has(approvalId)
    const call = parts.findLast((part) => part.type === 'tool-call' && part.toolCallId === toolCallId)
    return isOpen && call !== undefined ? [{ approvalId, call }] : []
  })
}

/** The AI SDK's second argument of `execute` and `needsApproval`. */
interface Details {
  readonly toolCallId: string
  readonly abortSignal?: AbortSignal | undefined
}

type Execute = (input: unknown, details?: Details) => unknown

interface Known {
  readonly execute?: Execute
  readonly inputSchema?: unknown
  readonly needsApproval?: boolean | ((input: unknown, details: Details) => unknown)
}

interface Wrapped {
  readonly name: string
  readonly asked: (input: unknown, details?: Details) => Asked
}

function guardTool(calls: Calls, tool: AiSdkTool, { name, asked }: Wrapped): AiSdkTool {
  const { execute, inputSchema } = tool as Known
  if (typeof execute !== 'function')
    throw new TypeError(`the tool ${name} has no execute: the gateway cannot hold what runs elsewhere`)
  checkSchema(inputSchema, name)
  const run = async (input: unknown, details?: Details): Promise<Given> => {
    const ran = (approved: unknown): Promise<Given> | Given => given(execute.call(tool, approved, details))
    return executed(await calls.run(asked(input, details), ran))
  }
  const streaming: Execute = async function* (input, details) {
    const result = await run(input, details)
    if (result.kind === 'stream') yield* result.stream
    else yield result.value
  }
  const answering: Execute = async (input, details) => {
    const result = await run(input, details)
    return result.kind === 'stream' ? lastOf(result.stream) : result.value
  }
  const needsApproval = async (input: unknown, details: Details): Promise<boolean> =>
    (await asksItself(tool, input, details)) || calls.isHeld(asked(input, details))
  return withMembers(tool, {
    needsApproval,
    execute: isAsyncGeneratorFunction(execute) ? streaming : answering,
  })
}

/** Whether the program asks a person of its own. */
async function asksItself(tool: AiSdkTool, input: unknown, details: Details): Promise<boolean> {
  const { needsApproval = false } = tool as Known
  return Boolean(
    typeof needsApproval === 'function' ? await needsApproval.call(tool, input, details) : needsApproval,
  )
}
/** Interprets a result like the AI SDK: an iterable is a stream, but a promise of an iterable is not. */
async function given(result: unknown): Promise<Given> {
  if (isAsyncIterable(result)) return { kind: 'stream', stream: result }
  return { kind: 'value', value: await result }
}

/** @throws NotExecuted, which the AI SDK turns into a `tool-error` */
function executed(outcome: Outcome): Given {
  if (outcome.kind === 'refused') throw outcome.refusal
  return outcome
}

/**
 * Before the call, only such a function is known to stream. The AI SDK would use a promise of a stream as the output
 * itself.
 */
function isAsyncGeneratorFunction(execute: Execute): boolean {
  return Object.prototype.toString.call(execute) === '[object AsyncGeneratorFunction]'
}

/** The last item, which the AI SDK uses as the output of a stream. */
async function lastOf(stream: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown
  for await (const part of stream) last = part
  return last
}
