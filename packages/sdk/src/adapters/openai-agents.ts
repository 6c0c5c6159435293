/**
 * `@countersign/sdk/openai-agents`: function tools of the OpenAI Agents SDK behind the gateway. This module does not
 * import that SDK.
 */
import type { Gate } from '../gate.ts'
import { type AdapterOptions, guardedCall, withMembers } from './guarded-call.ts'

export type { AdapterOptions, ToolCall } from './guarded-call.ts'

/** The schema type of Zod and others, whose output `execute` receives. */
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
 * A JSON Schema, which does not parse. The members are listed so that TypeScript does not widen `'object'` to string.
 */
export interface JsonSchema {
  readonly type: 'object'
  readonly additionalProperties: boolean
}

/**
 * Returns the options for `tool()` whose `execute` runs under `gate.guard`. `execute` receives a frozen copy of the
 * approved payload, which is the input as parsed by the SDK. The gateway's name for the tool is `name` followed by the
 * tool's unchanged `prefix`. A refusal reaches the model as the tool's output.
 *
 * @throws TypeError for options without `execute`, such as a tool at the provider or a finished tool, which would parse
 * the approved payload again
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
    // plain text would not match the promised output type; the tool's own errorFunction can build a valid output
    if (outputSchema !== undefined) throw outcome.refusal
    return outcome.refusal.message
  }
  // tool() names a nameless tool after its function
  Object.defineProperty(guarded, 'name', { value: execute.name })
  return withMembers<Options>(tool, { execute: guarded })
}

/** The SDK's details about a call. */
interface Details {
  readonly toolCall?: { readonly callId?: string }
  readonly signal?: AbortSignal
}

interface Known {
  readonly execute?: (input: unknown, context?: unknown, details?: Details) => unknown
  readonly outputSchema?: unknown
}
