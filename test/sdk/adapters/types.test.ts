import { tool as langChainTool } from '@langchain/core/tools'
import { interrupt } from '@langchain/langgraph'
import { Agent, tool as agentsTool, type RunContext } from '@openai/agents-core'
import { dynamicTool, generateText, type LanguageModel, tool as aiTool, type ToolSet } from 'ai'
import { createMiddleware } from 'langchain'
import { expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { guardTools } from '@countersign/sdk/ai-sdk'
import { countersign } from '@countersign/sdk/langchain'
import { guardTool as guardAgents } from '@countersign/sdk/openai-agents'
import type { Gate } from '@countersign/sdk'

const SCHEMA = z.object({ amount: z.coerce.number(), to: z.string().default('me') })
const TASK = { taskId: 't' }
const paid = (amount: number): { paid: number } => ({ paid: amount })

it('guarded AI SDK tools keep their types (checked by the compiler)', () => {
  const uses = async (gate: Gate, model: LanguageModel) => {
    const plain = {
      pay: aiTool({ inputSchema: SCHEMA, execute: async ({ amount }) => paid(amount) }),
      any: dynamicTool({ inputSchema: z.object({}), execute: async () => 1 }),
    }
    const { tools } = guardTools(gate, plain, TASK)
    expectTypeOf(tools).toEqualTypeOf(plain)
    expectTypeOf(tools).toExtend<ToolSet>()
    await generateText({ model, tools, prompt: 'go' })
    // written in place: the types still flow into execute
    guardTools(
      gate,
      {
        pay: aiTool({
          inputSchema: SCHEMA,
          execute: (input) => expectTypeOf(input).toEqualTypeOf<{ amount: number; to: string }>(),
        }),
      },
      TASK,
    )
    // @ts-expect-error a tool is an object
    guardTools(gate, { pay: 'pay' }, TASK)
  }
  expectTypeOf(uses).returns.toEqualTypeOf<Promise<void>>()
})

it('guarded options for the OpenAI Agents SDK fit tool() and keep its types (checked by the compiler)', () => {
  interface Person {
    name: string
  }
  const uses = (gate: Gate) => {
    const pay = agentsTool(
      guardAgents(
        gate,
        {
          name: 'pay',
          description: 'Pays.',
          parameters: SCHEMA,
          execute: async (input, context?: RunContext<Person>) => {
            expectTypeOf(input).toEqualTypeOf<{ amount: number; to: string }>()
            return `${context?.context.name} paid ${input.amount}`
          },
        },
        TASK,
      ),
    )
    const plain = agentsTool(
      guardAgents(
        gate,
        {
          name: 'any',
          description: 'Takes anything.',
          parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
          strict: false,
          execute: (input) => {
            expectTypeOf(input).toEqualTypeOf<unknown>()
            return 'done'
          },
        },
        TASK,
      ),
    )
    const wrong = {
      name: 'pay',
      description: '',
      parameters: SCHEMA,
      execute: ({ at }: { at: Date }) => at.toISOString(),
    }
    // @ts-expect-error not what the schema gives
    guardAgents(gate, wrong, TASK)
    return new Agent<Person>({ name: 'bot', tools: [pay, plain] })
  }
  expectTypeOf(uses).returns.toEqualTypeOf<Agent<Person>>()
})

it('the parts of the middleware fit createMiddleware (checked by the compiler)', () => {
  const uses = (gate: Gate) => {
    const plain = langChainTool(async ({ amount }) => paid(amount), { name: 'pay', schema: SCHEMA })
    const stateSchema = z.object({ countersign: z.any().optional() })
    return createMiddleware(countersign(gate, [plain], { interrupt, stateSchema, prefix: 'ledger.' }))
  }
  expectTypeOf(uses).parameters.toEqualTypeOf<[Gate]>()
})
