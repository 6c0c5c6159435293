/** `@countersign/sdk/openai-agents`: function tools of the OpenAI Agents SDK that run only as far as the gateway lets them. Imports nothing of that SDK. */
import type { Gate } from '../gate.ts'
import { type AdapterOptions, guardedCall, withMembers } from './guarded-call.ts'

export type { AdapterOptions, ToolCall } from './guarded-call.ts'

/** What Zod and others are, whose output is what `execute` gets. */
export interface StandardSchema<Output> {
  readonly '~standard': { readonly types?: { readonly output: Output } | undefined }
}

/** What `tool()` of the SDK takes, as far as we have to know it. */
export interface FunctionToolOptions<Parameters, Input> {
  readonly name?: string | undefined
  readonly parameters: Parameters
  readonly strict?: boolean
  readonly execute: (input: Input, ...more: never[]) => unknown
}

/** A JSON Schema, by which nothing is parsed. Its members stand here so that TypeScript does not take `'object'` for any text. */
export interface JsonSchema {
  readonly type: 'object'
  readonly additionalProperties: boolean
}

/**
 * What is given to `tool()`, with `execute` behind `gate.guard`: it gets a frozen copy of what was approved, which is the input after the SDK has parsed it. The
 * gateway's name of the tool is its `name`, as it is written, with `prefix` in front. For what does not run, the model reads why as the tool's output.
 *
 * @throws TypeError for what has no `execute`: what runs at the provider, and a finished tool, which would parse again what was approved
 */
export function guardTool<Input, Options extends object>(
  gate: Gate,
  tool: Options & FunctionToolOptions<StandardSchema<Input>, Input>,
  options?: AdapterOptions,
): Options
export function guardTool<Options extends FunctionToolOptions<JsonSchema, unknown>>(
  gate: Gate,
  tool: Options,
  options?: AdapterOptions,
): Options
export function guardTool<Options extends { readonly name?: string | undefined }>(
  gate: Gate,
  tool: Options,
  options: AdapterOptions = {},
): Options {
  const { execute, outputSchema } = tool as Known
  if (typeof execute !== 'function')
    throw new TypeError('guardTool takes what is given to tool(), not a tool: tool(guardTool(gate, { ... }))')
  const name = tool.name ?? execute.name
  if (name === '') throw new TypeError('the tool has no name')
  const behind = async (input: unknown, context?: unknown, details?: Details): Promise<unknown> => {
    const asked = { tool: name, callId: details?.toolCall?.callId, input, signal: details?.signal }
    const run = async (approved: unknown) => {
      const value = await execute.call(tool, approved, context, details)
      return { kind: 'value', value } as const
    }
    const outcome = await guardedCall(gate, asked, run, options)
    if (outcome.kind === 'value') return outcome.value
    if (outcome.kind === 'stream') return outcome.stream
    // a text would not be what the tool promises: its own errorFunction knows what is
    if (outputSchema !== undefined) throw outcome.refusal
    return outcome.refusal.message
  }
  // tool() calls a tool without a name by that of its function
  Object.defineProperty(behind, 'name', { value: execute.name })
  return withMembers<Options>(tool, { execute: behind })
}

/** What the SDK says to `execute` of the call. */
interface Details {
  readonly toolCall?: { readonly callId?: string }
  readonly signal?: AbortSignal
}

interface Known {
  readonly execute?: (input: unknown, context?: unknown, details?: Details) => unknown
  readonly outputSchema?: unknown
}
