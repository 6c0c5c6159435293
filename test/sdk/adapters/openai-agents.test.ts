import {
  Agent,
  type AgentInputItem,
  type Model,
  type ModelRequest,
  type ModelResponse,
  RunContext,
  Runner,
  tool,
  Usage,
} from '@openai/agents-core'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { guardTool } from '@countersign/sdk/openai-agents'
import type { NotExecuted } from '@countersign/sdk'
import { until } from '../../until.ts'
import { adapterLaws, type Call, openBench, recording, type Wire } from './laws.ts'

/** A model that makes the calls, and then is done. */
class ModelThatCalls implements Model {
  readonly #calls: readonly Call[]
  readonly requests: ModelRequest[] = []

  constructor(calls: readonly Call[]) {
    this.#calls = calls
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    this.requests.push(request)
    return { usage: new Usage(), output: this.requests.length === 1 ? this.#made() : [DONE] }
  }

  // oxlint-disable-next-line require-yield
  async *getStreamedResponse(): AsyncGenerator<never> {
    throw new Error('no test streams')
  }

  #made(): ModelResponse['output'] {
    return this.#calls.map(({ tool: name, input, id: callId }) => ({
      type: 'function_call' as const,
      callId,
      name,
      status: 'completed' as const,
      arguments: JSON.stringify(input),
    }))
  }

  /** The results of its calls that the model received, in the order of the calls. */
  read(): string[] {
    const items = this.requests[1]?.input
    if (!Array.isArray(items)) return []
    const results = items.flatMap((item: AgentInputItem) =>
      item.type === 'function_call_result' ? [item] : [],
    )
    return this.#calls.flatMap(({ id }) =>
      results.flatMap(({ callId, output }) =>
        callId === id
          ? [typeof output === 'object' && 'text' in output ? output.text : JSON.stringify(output)]
          : [],
      ),
    )
  }
}
const DONE = {
  type: 'message' as const,
  role: 'assistant' as const,
  status: 'completed' as const,
  content: [{ type: 'output_text' as const, text: 'done' }],
}

async function runOf(tools: ReturnType<typeof tool>[], calls: readonly Call[], signal?: AbortSignal) {
  const model = new ModelThatCalls(calls)
  const agent = new Agent({ name: 'bot', model, tools })
  const runner = new Runner({ tracingDisabled: true })
  const result = await runner.run(agent, 'go', signal === undefined ? {} : { signal })
  return { model, result }
}

/** Zod or not, the SDK's own types know only what its schemas can say. */
const parametersOf = (schema: z.ZodType) => schema as unknown as z.ZodObject

const wire: Wire = (gate, tools, options) => {
  const made = Object.entries(tools).map(([name, { schema, execute }]) =>
    tool(
      guardTool(
        gate,
        {
          name,
          description: name,
          parameters: parametersOf(schema),
          execute: async (input: unknown) => execute(input),
        },
        options,
      ),
    ),
  )
  return {
    turn: async (calls, signal) => (await runOf(made, calls, signal)).model.read(),
  }
}

adapterLaws('OpenAI Agents', wire)

describe('OpenAI Agents: guardTool', () => {
  const open = openBench()
  const parameters = z.object({ amount: z.number() })

  it('refuses a finished tool, which would parse an approved input again, and a tool without a function', () => {
    const finished = tool({ name: 't', description: 't', parameters, execute: () => '' })
    // @ts-expect-error a finished tool has no execute
    expect(() => guardTool(open().gate, finished)).toThrow(/takes what is given to tool\(\)/)
    // @ts-expect-error nor has one of the provider
    expect(() => guardTool(open().gate, { type: 'hosted_tool', name: 'web_search' })).toThrow(TypeError)
    expect(() =>
      guardTool(open().gate, {
        description: 't',
        parameters,
        execute: (
          () => () =>
            1
        )(),
      }),
    ).toThrow('the tool has no name')
  })

  it("takes the function's name, as the SDK does, and passes context and details", async () => {
    const heard: unknown[] = []
    function t(
      _: unknown,
      context?: RunContext<unknown>,
      details?: { toolCall?: { callId: string } },
    ): string {
      heard.push(context instanceof RunContext, details?.toolCall?.callId)
      return 'ran'
    }
    const made = tool(guardTool(open().gate, { description: 't', parameters: z.object({}), execute: t }))
    expect(made.name).toBe('t')
    await runOf([made], [{ tool: 't', input: {}, id: 'c1' }])
    expect(heard).toEqual([true, 'c1'])
  })

  it('asks the gateway under the original name, even if the SDK changes it for the model', async () => {
    const options = {
      name: 'ledger.transfer',
      description: 't',
      parameters: z.object({}),
      execute: () => 'ran',
    }
    const made = tool(guardTool(open().gate, options))
    const { model } = await runOf([made], [{ tool: 'ledger_transfer', input: {}, id: 'c0' }])
    expect(model.read()).toEqual(['Not executed: the gateway does not let this agent use ledger.transfer'])
  })

  it('gives the program the text that the model reads, and passes outcome and thread to onNotExecuted', async () => {
    const { gate, told, refusals, pending } = open()
    const options = { name: 'hold', description: 'h', parameters: z.object({}), execute: () => 'ran' }
    const made = tool(guardTool(gate, options, { ...told, maxWaitMs: 300 }))
    const { result } = await runOf([made], [{ tool: 'hold', input: {}, id: 'c2' }])
    const outputs = result.newItems.flatMap((item) =>
      item.type === 'tool_call_output_item' ? [item.output] : [],
    )
    expect(outputs).toEqual(refusals.map(({ message }) => message))
    expect(refusals).toMatchObject([{ code: 'still_pending', thread_id: pending[0] }])
  })

  it('throws the refusal when the tool promises no text, and its errorFunction decides', async () => {
    const outputSchema = z.object({ balance: z.number().nullable() })
    const errors: unknown[] = []
    const options = {
      name: 'wipe',
      description: 'w',
      parameters: z.object({}),
      outputSchema,
      execute: () => ({ balance: 1 }),
      errorFunction: (_: unknown, error: unknown) => {
        errors.push(error)
        return { balance: null }
      },
    }
    const { model } = await runOf(
      [tool(guardTool(open().gate, options))],
      [{ tool: 'wipe', input: {}, id: 'c3' }],
    )
    expect(errors.map((error) => (error as NotExecuted).code)).toEqual(['unknown_tool'])
    expect(model.read()).toEqual(['{"balance":null}'])
  })

  it("does not run a call after the SDK's timeout, and a repeated call may resume it", async () => {
    const { gate, told, ran, pending, ann, refusals } = open()
    const { execute } = recording(open())
    const options = { name: 'hold', description: 'h', parameters: z.object({}), timeoutMs: 2_000 }
    const made = tool(
      guardTool(gate, { ...options, execute: async (input: unknown) => execute(input) }, told),
    )
    const { model } = await runOf([made], [{ tool: 'hold', input: {}, id: 'c4' }])
    expect(model.read()[0]).toContain('timed out')
    await until(() => refusals.length === 1)
    await ann.approve(pending[0] ?? '')
    expect([ran, refusals.map(({ code }) => code)]).toEqual([[], ['still_pending']])
  })
})
