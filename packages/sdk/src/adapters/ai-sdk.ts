/** `@countersign/sdk/ai-sdk`: tools of the Vercel AI SDK that run only as far as the gateway lets them. Imports nothing of the AI SDK. */
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

/** A tool of the AI SDK, as far as we have to know it. */
export interface AiSdkTool {
  readonly execute?: ((...args: never[]) => unknown) | undefined
}

/**
 * The same tools, each `execute` behind `gate.guard`: it gets a frozen copy of what was approved, which is the input after the AI SDK has parsed it. The gateway's
 * name of a tool is its key, with `prefix` in front. What does not run is a `tool-error` whose `error` is a NotExecuted; the model reads its message.
 *
 * @throws TypeError for a tool without `execute`: what runs in a browser or at the provider cannot be held. Leave it out, and know that nobody decides about it.
 */
export function guardTools<Tools extends Readonly<Record<string, AiSdkTool>>>(
  gate: Gate,
  tools: Tools,
  options: AdapterOptions = {},
): Tools {
  const behind = Object.entries(tools).map(([name, tool]) => [name, guardTool(gate, name, tool, options)])
  return Object.fromEntries(behind) as Tools
}

/** What the AI SDK says to `execute` of the call. */
interface Told {
  readonly toolCallId?: string
  readonly abortSignal?: AbortSignal | undefined
}

type Execute = (input: unknown, told?: Told) => unknown

function guardTool(gate: Gate, name: string, tool: AiSdkTool, options: AdapterOptions): AiSdkTool {
  const execute = tool.execute as Execute | undefined
  if (typeof execute !== 'function')
    throw new TypeError(`the tool ${name} has no execute: the gateway cannot hold what runs elsewhere`)
  const run = async (input: unknown, told?: Told): Promise<Given> => {
    const asked = { tool: name, callId: told?.toolCallId, input, signal: told?.abortSignal }
    const ran = (approved: unknown): Promise<Given> | Given => given(execute.call(tool, approved, told))
    return executed(await guardedCall(gate, asked, ran, options))
  }
  const streaming: Execute = async function* (input, told) {
    const result = await run(input, told)
    if (result.kind === 'stream') yield* result.stream
    else yield result.value
  }
  const answering: Execute = async (input, told) => {
    const result = await run(input, told)
    return result.kind === 'stream' ? lastOf(result.stream) : result.value
  }
  return withMembers(tool, { execute: isAsyncGeneratorFunction(execute) ? streaming : answering })
}

/** As the AI SDK takes it: what is iterable at once is a stream, and a promise of such is not. */
async function given(result: unknown): Promise<Given> {
  if (isAsyncIterable(result)) return { kind: 'stream', stream: result }
  return { kind: 'value', value: await result }
}

/** @throws NotExecuted, which the AI SDK makes a `tool-error` of */
function executed(outcome: Outcome): Given {
  if (outcome.kind === 'refused') throw outcome.refusal
  return outcome
}

/** Only such a function is known to stream before it is called, and a promise of a stream would be its output. */
function isAsyncGeneratorFunction(execute: Execute): boolean {
  return Object.prototype.toString.call(execute) === '[object AsyncGeneratorFunction]'
}

/** What the AI SDK takes for the output of a stream. */
async function lastOf(stream: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown
  for await (const part of stream) last = part
  return last
}
