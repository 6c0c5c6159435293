/** `@countersign/sdk/ai-sdk`: tools of the Vercel AI SDK behind the gateway. This module does not import the AI SDK. */
import type { Gate } from '../gate.ts'
import {
  type AdapterOptions,
  type Given,
  guardedCall,
  isAsyncIterable,
  type Outcome,
  withMembers,
} from './guarded-call.ts'

export type { AdapterOptions, ToolCall } from './guarded-call.ts'

/** The members of an AI SDK tool that the adapter uses. */
export interface AiSdkTool {
  readonly execute?: ((...args: never[]) => unknown) | undefined
}

/**
 * Returns the same tools, but `gate.guard` runs each `execute`. `execute` receives a frozen copy of the approved
 * payload, which is the input as parsed by the AI SDK. The gateway's name for a tool is `prefix` followed by the tool's
 * key. A call that does not run becomes a `tool-error` whose `error` is a NotExecuted. The model reads the message of
 * this error.
 *
 * @throws TypeError for a tool without `execute`, because a tool that runs in a browser or at the provider cannot be
 * held. Pass such a tool unwrapped, and remember that it bypasses review.
 */
export function guardTools<Tools extends Readonly<Record<string, AiSdkTool>>>(
  gate: Gate,
  tools: Tools,
  options: AdapterOptions = {},
): Tools {
  const guarded = Object.entries(tools).map(([name, tool]) => [name, guardTool(gate, name, tool, options)])
  return Object.fromEntries(guarded) as Tools
}

/** The AI SDK's second argument of `execute`. */
interface Details {
  readonly toolCallId?: string
  readonly abortSignal?: AbortSignal | undefined
}

type Execute = (input: unknown, details?: Details) => unknown

function guardTool(gate: Gate, name: string, tool: AiSdkTool, options: AdapterOptions): AiSdkTool {
  const execute = tool.execute as Execute | undefined
  if (typeof execute !== 'function')
    throw new TypeError(`the tool ${name} has no execute: the gateway cannot hold what runs elsewhere`)
  const run = async (input: unknown, details?: Details): Promise<Given> => {
    const asked = { tool: name, callId: details?.toolCallId, input, signal: details?.abortSignal }
    const ran = (approved: unknown): Promise<Given> | Given => given(execute.call(tool, approved, details))
    return executed(await guardedCall(gate, asked, ran, options))
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
  return withMembers(tool, { execute: isAsyncGeneratorFunction(execute) ? streaming : answering })
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
