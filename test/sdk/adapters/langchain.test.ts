import { AIMessage, type BaseMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { DynamicTool, StructuredTool, tool } from '@langchain/core/tools'
import { Command, interrupt, MemorySaver } from '@langchain/langgraph'
import { createAgent, createMiddleware } from 'langchain'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { countersign, type LangChainTool, resumeAll } from '@countersign/sdk/langchain'
import type { AdapterOptions } from '../../../packages/sdk/src/adapters/calls.ts'
import type { Gate } from '@countersign/sdk'
import { adapterLaws, type Agent, type Call, type Driver, openBench, type Turn } from './laws.ts'

const ANY = z.looseObject({})
const STATE = z.object({ countersign: z.any().optional() })

const middleware = (gate: Gate, tools: readonly LangChainTool[], options: AdapterOptions = {}) =>
  createMiddleware(countersign(gate, tools, { ...options, interrupt, stateSchema: STATE }))

/** A checkpointer as a string: MemorySaver with its two maps written out. */
const written = ({ storage, writes }: MemorySaver): string =>
  JSON.stringify({ storage, writes }, (_, one: unknown) =>
    one instanceof Uint8Array ? { bytes: new TextDecoder().decode(one) } : one,
  )
const read = (text: string): MemorySaver =>
  Object.assign(
    new MemorySaver(),
    JSON.parse(text, (_, one: unknown) =>
      typeof one === 'object' && one !== null && 'bytes' in one && typeof one.bytes === 'string'
        ? new TextEncoder().encode(one.bytes)
        : one,
    ),
  )

const callOf = ({ tool: name, input, id }: Call) => ({
  type: 'tool_call' as const,
  name,
  args: { ...input },
  id,
})

function agentOf({ gate, tools, options }: Agent, calls: readonly Call[], checkpointer: MemorySaver) {
  const made = Object.entries(tools).map(([name, { schema, execute }]) =>
    // the type wants a schema of objects, and a codec has another type
    tool(async (input) => execute(input) as string, { name, schema: schema as typeof ANY }),
  )
  const done = new AIMessage('done')
  const model = fakeModel()
  const scripted =
    calls.length === 0 ? model.respond(done) : model.respondWithTools(calls.map(callOf)).respond(done)
  return createAgent({
    model: scripted,
    tools: made,
    middleware: [middleware(gate, made, options)],
    checkpointer,
  })
}

async function turnOf(
  agent: ReturnType<typeof agentOf>,
  input: Parameters<typeof agent.invoke>[0],
  { taskId, checkpointer }: { taskId: string; checkpointer: MemorySaver },
): Promise<Turn> {
  const config = { configurable: { thread_id: taskId } }
  const result = (await agent.invoke(input, config)) as {
    messages: BaseMessage[]
    __interrupt__?: readonly unknown[]
  }
  const { messages, __interrupt__ = [] } = result
  const results = messages.filter(({ type }) => type === 'tool').map(({ text }) => text)
  return { read: results, saved: __interrupt__.length > 0 ? written(checkpointer) : undefined }
}

const driver: Driver = {
  start: async (given, calls) => {
    const checkpointer = new MemorySaver()
    const input = { messages: [{ role: 'user', content: 'go' }] }
    return turnOf(agentOf(given, calls, checkpointer), input, { ...given, checkpointer })
  },
  settle: async (given, saved) => {
    const checkpointer = read(saved)
    const agent = agentOf(given, [], checkpointer)
    const resume = await resumeAll(agent.graph, { configurable: { thread_id: given.taskId } })
    const turn = await turnOf(agent, new Command(resume), { ...given, checkpointer })
    return turn.saved === undefined ? turn : undefined
  },
}

adapterLaws('LangChain', driver)

describe('LangChain: the middleware', () => {
  const open = openBench()

  it('passes calls of other tools, and refuses tools that the gateway cannot hold', async () => {
    class Own extends StructuredTool {
      override name = 'own'
      override description = 'own'
      override schema = ANY
      protected override async _call(): Promise<string> {
        return 'ran'
      }
      override async invoke(): Promise<never> {
        throw new Error('unused')
      }
    }
    const { gate } = open()
    expect(() => middleware(gate, [new Own()])).toThrow(/own has an invoke of its own/)
    expect(() => middleware(gate, [{ name: 'x', invoke: () => 1 }])).toThrow(/x is no StructuredTool/)
    const free = tool(() => 'free', { name: 'free', schema: ANY })
    const model = fakeModel()
      .respondWithTools([callOf({ tool: 'free', input: {}, id: 'f1' })])
      .respond(new AIMessage('done'))
    const agent = createAgent({ model, tools: [free], middleware: [middleware(gate, [])] })
    const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'go' }] })
    expect(messages.filter(({ type }) => type === 'tool').map(({ text }) => text)).toEqual(['free'])
  })

  it('gives a tool of text its text, and marks a refusal as an error with code and thread', async () => {
    const { gate, told, ran } = open()
    const heard = new DynamicTool({
      name: 't',
      description: 't',
      func: async (text) => String(ran.push(text)),
    })
    const pay = tool(() => 'paid', { name: 'pay', schema: ANY })
    const calls = [
      { tool: 't', input: { input: 'hello' }, id: 's1' },
      { tool: 'pay', input: { amount: 200_000 }, id: 's2' },
    ]
    const model = fakeModel().respondWithTools(calls.map(callOf)).respond(new AIMessage('done'))
    const agent = createAgent({
      model,
      tools: [heard, pay],
      middleware: [middleware(gate, [heard, pay], told)],
    })
    const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'go' }] })
    expect(ran).toEqual(['hello'])
    expect(messages.find(({ type, name }) => type === 'tool' && name === 'pay')).toMatchObject({
      status: 'error',
      artifact: { 'countersign/code': 'rejected' },
    })
  })
})
