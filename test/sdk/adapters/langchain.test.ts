import { AIMessage, HumanMessage, type ToolMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import {
  DynamicStructuredTool,
  DynamicTool,
  isStructuredTool,
  StructuredTool,
  tool,
} from '@langchain/core/tools'
import { convertToOpenAITool } from '@langchain/core/utils/function_calling'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { guardTool } from '@countersign/sdk/langchain'
import { NotExecuted } from '@countersign/sdk'
import { adapterLaws, type Bench, type Call, openBench, recording, type Wire } from './laws.ts'

const ANY = z.looseObject({})
const callOf = ({ tool: name, input, id }: Call) => ({
  type: 'tool_call' as const,
  name,
  args: { ...input },
  id,
})

const wire: Wire = (gate, tools, options) => {
  const made = Object.entries(tools).map(([name, { schema, execute }]) => {
    // the type wants a schema of objects, and a transform has another type
    const parsing = schema as typeof ANY
    return guardTool(
      gate,
      tool(async (input) => execute(input) as string, { name, schema: parsing }),
      options,
    )
  })
  return {
    turn: async (calls, signal) => {
      const model = fakeModel().respondWithTools(calls.map(callOf)).respond(new AIMessage('done'))
      const bound = model.bindTools(made)
      const asked = await bound.invoke([new HumanMessage('go')])
      const found = await Promise.all(
        (asked.tool_calls ?? []).map(async (call): Promise<ToolMessage> => {
          const one = made.find(({ name }) => name === call.name) ?? expect.fail('no such tool')
          return (await one.invoke({ ...call, type: 'tool_call' }, signal && { signal })) as ToolMessage
        }),
      )
      await bound.invoke([asked, ...found])
      return (model.calls[1]?.messages ?? []).filter(({ type }) => type === 'tool').map(({ text }) => text)
    },
  }
}

adapterLaws('LangChain', wire)

describe('LangChain: guardTool', () => {
  const open = openBench()
  const say = (bench: Bench) => async (input: unknown) => String(recording(bench).execute(input))
  const REFUSED: Call = { tool: 'pay', input: { amount: 200_000 }, id: 'l1' }

  it('answers a refused tool call with status error, and puts outcome and thread into its artifact', async () => {
    const { gate, told, pending } = open()
    const hold = guardTool(gate, tool(say(open()), { name: 'hold', schema: ANY }), {
      ...told,
      maxWaitMs: 300,
    })
    const call = callOf({ tool: 'hold', input: {}, id: 'l2' })
    const message = (await hold.invoke(call)) as ToolMessage
    expect(message).toMatchObject({
      status: 'error',
      tool_call_id: 'l2',
      artifact: { 'countersign/code': 'still_pending', 'countersign/thread_id': pending[0] },
    })
    // the stored form of a conversation keeps the same
    const { kwargs } = JSON.parse(JSON.stringify(message)) as { kwargs: object }
    expect(kwargs).toMatchObject({ status: 'error', artifact: { 'countersign/code': 'still_pending' } })
    await open().ann.approve(pending[0] ?? '')
    // the very same object again
    expect(await hold.invoke(call)).toMatchObject({ status: 'success', content: 'ran', artifact: undefined })
  })

  it('answers a tool that returns artifacts in its own format', async () => {
    const pair = tool(async () => ['ran', { rows: 1 }], {
      name: 'pay',
      schema: ANY,
      responseFormat: 'content_and_artifact',
    })
    const message = (await guardTool(open().gate, pair).invoke(callOf(REFUSED))) as ToolMessage
    expect(message).toMatchObject({ status: 'error', artifact: { 'countersign/code': 'rejected' } })
    expect(message.content).toMatch(/^Not executed: /)
  })

  it('gives the same answer when the config carries the call', async () => {
    const pay = guardTool(open().gate, tool(say(open()), { name: 'pay', schema: ANY }))
    const config = { toolCall: callOf(REFUSED) }
    expect(await pay.invoke(REFUSED.input as { amount: number }, config)).toMatchObject({ status: 'error' })
  })

  it('throws the refusal when a program invokes the tool without a tool call', async () => {
    const pay = guardTool(open().gate, tool(say(open()), { name: 'pay', schema: ANY }))
    const refusal = await pay.invoke({ amount: 200_000 }).catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(NotExecuted)
    expect(refusal).toMatchObject({ code: 'rejected' })
    expect(open().ran).toEqual([])
  })

  it('throws the reason with which the program aborted', async () => {
    const signal = AbortSignal.abort(new Error('enough'))
    const t = guardTool(open().gate, tool(say(open()), { name: 't', schema: ANY }))
    await expect(t.invoke(callOf({ tool: 't', input: {}, id: 'l3' }), { signal })).rejects.toThrow('enough')
    expect(open().ran).toEqual([])
  })

  it('guards a tool that takes a string, as the model calls it', async () => {
    const { gate, ran } = open()
    const plain = guardTool(gate, new DynamicTool({ name: 't', description: 't', func: say(open()) }))
    expect(await plain.invoke('hello')).toBe('ran')
    expect(await plain.invoke(callOf({ tool: 't', input: { input: 'again' }, id: 'l4' }))).toMatchObject({
      content: 'ran',
    })
    await plain.invoke({})
    expect(ran).toEqual(['hello', 'again', undefined])
  })

  it('guards a subclass of StructuredTool, and direct calls of func', async () => {
    class Pay extends StructuredTool {
      override name = 'pay'
      override description = 'd'
      override schema = ANY
      protected override async _call(input: unknown): Promise<string> {
        return say(open())(input)
      }
    }
    await expect(guardTool(open().gate, new Pay()).invoke({ amount: 200_000 })).rejects.toThrow(NotExecuted)
    const fields = { name: 'pay', description: 'd', schema: ANY, func: say(open()) }
    const dynamic = guardTool(open().gate, new DynamicStructuredTool(fields))
    await expect(dynamic.func({ amount: 200_000 })).rejects.toThrow(NotExecuted)
    expect(dynamic).toBeInstanceOf(DynamicStructuredTool)
    expect(open().ran).toEqual([])
  })

  it('reports a streaming tool when its stream ends', async () => {
    const streaming = tool(
      async function* (): AsyncGenerator<string, string> {
        open().ran.push('begun')
        yield 'half'
        return 'whole'
      } as unknown as () => Promise<string>,
      { name: 't', schema: ANY },
    )
    const events: unknown[] = []
    const callbacks = [{ handleToolEvent: (chunk: unknown) => void events.push(chunk) }]
    const recorded = await open().world.evidenceOf(async () => {
      const call = callOf({ tool: 't', input: {}, id: 'l5' })
      expect(await guardTool(open().gate, streaming).invoke(call, { callbacks })).toMatchObject({
        content: 'whole',
      })
    })
    expect([events, open().ran]).toEqual([['half'], ['begun']])
    expect(recorded.at(-1)?.disclosures?.members).toMatchObject({ event_type: 'tool.execution.completed' })
  })

  it('guards every way in which LangChain runs a tool, and shows models the same schema', async () => {
    const plain = tool(say(open()), {
      name: 'pay',
      description: 'Pays.',
      schema: z.object({ amount: z.number() }),
    })
    const pay = guardTool(open().gate, plain)
    const input = { amount: 200_000 }
    const ways = [
      () => pay.batch([input]),
      () => pay.stream(input),
      () => pay.withConfig({ tags: ['x'] }).invoke(input),
      () => pay.pipe((out: unknown) => out).invoke(input),
      () => pay.call(input),
    ]
    for (const way of ways) await expect(way()).rejects.toThrow(NotExecuted)
    expect(open().ran).toEqual([])
    expect(isStructuredTool(pay)).toBe(true)
    expect(convertToOpenAITool(pay)).toEqual(convertToOpenAITool(plain))
  })

  it('refuses a tool that it cannot guard', () => {
    const provider = { name: 'web_search', type: 'web_search', invoke: () => 1 }
    expect(() => guardTool(open().gate, provider)).toThrow('web_search is no StructuredTool')
  })

  it('refuses a tool that overrides invoke, which could bypass the guard', () => {
    class Past extends StructuredTool {
      override name = 'pay'
      override description = 'd'
      override schema = ANY
      override async invoke(): Promise<never> {
        return expect.fail('it ran')
      }
      protected override async _call(): Promise<string> {
        return 'held'
      }
    }
    class Below extends Past {}
    const patched = Object.assign(tool(say(open()), { name: 'pay', schema: ANY }), {
      invoke: () => expect.fail('it ran'),
    })
    for (const one of [new Past(), new Below(), patched])
      expect(() => guardTool(open().gate, one)).toThrow('pay has an invoke of its own')
  })
})
