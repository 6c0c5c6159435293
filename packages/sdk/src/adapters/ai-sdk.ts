/** `@countersign/sdk/ai-sdk`: tools of the Vercel AI SDK behind the gateway. Imports nothing of the AI SDK. */
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
 * Returns the same tools, but `gate.guard` runs each `execute`. `execute` gets a frozen copy of the approved payload,
 * which is the input after the AI SDK parsed it. The gateway's name of a tool is its key, after `prefix`. A call that
 * does not run becomes a `tool-error` whose `error` is a NotExecuted; the model reads its message.
 *
 * @throws TypeError for a tool without `execute`: a tool that runs in a browser or at the provider cannot be held. Pass
 *   it unwrapped, and remember that it bypasses review.
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

/** Reads a result as the AI SDK does: an iterable is a stream, and a promise of one is not. */
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
 * Only such a function is known to stream before it is called. A promise of a stream would become the output itself.
 */
function isAsyncGeneratorFunction(execute: Execute): boolean {
  return Object.prototype.toString.call(execute) === '[object AsyncGeneratorFunction]'
}

/** The last item, which the AI SDK takes for the output of a stream. */
async function lastOf(stream: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown
  for await (const part of stream) last = part
  return last
}
