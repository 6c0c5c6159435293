/**
 * `@countersign/sdk/openai-agents`: function tools of the OpenAI Agents SDK behind the gateway. Imports nothing of that
 * SDK.
 */
import type { Gate } from '../gate.ts'
import { type AdapterOptions, guardedCall, withMembers } from './guarded-call.ts'

export type { AdapterOptions, ToolCall } from './guarded-call.ts'

/** The schema type of Zod and others, whose output `execute` gets. */
export interface StandardSchema<Output> {
  readonly '~standard': { readonly types?: { readonly output: Output } | undefined }
}

/** The members of the options of `tool()` that the adapter uses. */
export interface FunctionToolOptions<Parameters, Input> {
  readonly name?: string | undefined
  readonly parameters: Parameters
  readonly strict?: boolean
  readonly execute: (input: Input, ...more: never[]) => unknown
}

/**
 * A JSON Schema, which does not parse. Its members are listed so that TypeScript does not take `'object'` for any text.
 */
export interface JsonSchema {
  readonly type: 'object'
  readonly additionalProperties: boolean
}

/**
 * Returns the options for `tool()` whose `execute` runs under `gate.guard`. `execute` gets a frozen copy of the approved
 * payload, which is the input after the SDK parsed it. The gateway's name of the tool is its `name`, unchanged, after
 * `prefix`. A refusal reaches the model as the tool's output.
 *
 * @throws TypeError for options without `execute`: a tool at the provider, or a finished tool, which would parse the
 *   approved payload again
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
  const guarded = async (input: unknown, context?: unknown, details?: Details): Promise<unknown> => {
    const asked = { tool: name, callId: details?.toolCall?.callId, input, signal: details?.signal }
    const run = async (approved: unknown) => {
      const value = await execute.call(tool, approved, context, details)
      return { kind: 'value', value } as const
    }
    const outcome = await guardedCall(gate, asked, run, options)
    if (outcome.kind === 'value') return outcome.value
    if (outcome.kind === 'stream') return outcome.stream
    // a text would break the promised output; the tool's own errorFunction can build a valid one
    if (outputSchema !== undefined) throw outcome.refusal
    return outcome.refusal.message
  }
  // tool() names a nameless tool after its function
  Object.defineProperty(guarded, 'name', { value: execute.name })
  return withMembers<Options>(tool, { execute: guarded })
}

/** The SDK's details of a call. */
interface Details {
  readonly toolCall?: { readonly callId?: string }
  readonly signal?: AbortSignal
}

interface Known {
  readonly execute?: (input: unknown, context?: unknown, details?: Details) => unknown
  readonly outputSchema?: unknown
}
