import {
  Agent,
  type AgentInputItem,
  type Model,
  type ModelRequest,
  type ModelResponse,
  RunContext,
  Runner,
  RunState,
  tool,
  Usage,
} from '@openai/agents-core'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { guardTool, settle } from '@countersign/sdk/openai-agents'
import type { NotExecuted } from '@countersign/sdk'
import { adapterLaws, type Agent as Guarded, type Call, type Driver, openBench, type Turn } from './laws.ts'

/** A model that makes the calls, and then is done. */
class ModelThatCalls implements Model {
  readonly #calls: readonly Call[]
  readonly requests: ModelRequest[] = []

  constructor(calls: readonly Call[]) {
    this.#calls = calls
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    this.requests.push(request)
    const calls = this.requests.length === 1 ? this.#made() : []
    return { usage: new Usage(), output: calls.length === 0 ? [DONE] : calls }
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
    const items = this.requests.at(-1)?.input
    if (!Array.isArray(items)) return []
    const results = items.flatMap((item: AgentInputItem) =>
      item.type === 'function_call_result' ? [item] : [],
    )
    return results.map(({ output }) =>
      typeof output === 'object' && 'text' in output ? output.text : JSON.stringify(output),
    )
  }
}
const DONE = {
  type: 'message' as const,
  role: 'assistant' as const,
  status: 'completed' as const,
  content: [{ type: 'output_text' as const, text: 'done' }],
}

const runner = new Runner({ tracingDisabled: true })

async function runOf(tools: ReturnType<typeof tool>[], calls: readonly Call[]) {
  const model = new ModelThatCalls(calls)
  const result = await runner.run(new Agent({ name: 'bot', model, tools }), 'go')
  return { model, result }
}

/** Zod or not, the SDK's own types know only what its schemas can say. */
const parametersOf = (schema: z.ZodType) => schema as unknown as z.ZodObject

function botOf({ gate, tools, taskId, options }: Guarded, model: ModelThatCalls): Agent {
  const made = Object.entries(tools).map(([name, { schema, execute }]) => {
    const given = {
      name,
      description: name,
      parameters: parametersOf(schema),
      execute: async (input: unknown) => execute(input),
    }
    return tool(guardTool(gate, given, { ...options, taskId }))
  })
  return new Agent({ name: 'bot', model, tools: made })
}

async function turnOf(bot: Agent, model: ModelThatCalls, input: string | RunState<unknown, Agent>) {
  const { state, interruptions } = await runner.run(bot, input, { context: {} })
  return { read: model.read(), saved: interruptions.length > 0 ? state.toString() : undefined }
}

async function continued(
  agent: Guarded,
  saved: string,
  release: (state: RunState<unknown, Agent>) => unknown,
): Promise<Turn | undefined> {
  const model = new ModelThatCalls([])
  const bot = botOf(agent, model)
  const state = await RunState.fromString<unknown, Agent>(bot, saved)
  return (await release(state)) === 0 ? undefined : turnOf(bot, model, state)
}

const driver: Driver = {
  start: async (agent, calls) => {
    const model = new ModelThatCalls(calls)
    return turnOf(botOf(agent, model), model, 'go')
  },
  settle: async (agent, saved) => continued(agent, saved, (state) => settle(agent.gate, state)),
  force: async (agent, saved) => {
    const approve = (state: RunState<unknown, Agent>) =>
      state.getInterruptions().forEach((item) => state.approve(item))
    return (await continued(agent, saved, approve)) ?? expect.fail('nothing to approve')
  },
}

adapterLaws('OpenAI Agents', driver)

const TASK = { taskId: 'agents' }

describe('OpenAI Agents: guardTool', () => {
  const open = openBench()
  const parameters = z.object({ amount: z.number() })

  it('refuses a finished tool, which would parse an approved input again, and a tool without a function', () => {
    const finished = tool({ name: 't', description: 't', parameters, execute: () => '' })
    // @ts-expect-error a finished tool has no execute
    expect(() => guardTool(open().gate, finished, TASK)).toThrow(/takes what is given to tool\(\)/)
    // @ts-expect-error nor has one of the provider
    expect(() => guardTool(open().gate, { type: 'hosted_tool', name: 'web_search' }, TASK)).toThrow(TypeError)
    expect(() =>
      guardTool(
        open().gate,
        {
          description: 't',
          parameters,
          execute: (
            () => () =>
              1
          )(),
        },
        TASK,
      ),
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
    const made = tool(
      guardTool(open().gate, { description: 't', parameters: z.object({}), execute: t }, TASK),
    )
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
    const made = tool(guardTool(open().gate, options, TASK))
    const { model } = await runOf([made], [{ tool: 'ledger_transfer', input: {}, id: 'c0' }])
    expect(model.read()).toEqual([expect.stringContaining('does not let this agent use ledger.transfer.')])
  })

  it('gives the program the text that the model reads, and passes code and thread to onNotExecuted', async () => {
    const { gate, told, refusals, pending, taskId } = open()
    const options = { name: 'hold', description: 'h', parameters: z.object({}), execute: () => 'ran' }
    const made = tool(guardTool(gate, options, { ...told, taskId: () => taskId, maxWaitMs: 300 }))
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
      [tool(guardTool(open().gate, options, TASK))],
      [{ tool: 'wipe', input: {}, id: 'c3' }],
    )
    expect(errors.map((error) => (error as NotExecuted).code)).toEqual(['unknown_tool'])
    expect(model.read()).toEqual(['{"balance":null}'])
  })
})
