import { dynamicTool, generateText, stepCountIs, streamText, tool, type ToolSet } from 'ai'
import { MockLanguageModelV3, simulateReadableStream } from 'ai/test'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { guardTools } from '@countersign/sdk/ai-sdk'
import { NotExecuted } from '@countersign/sdk'
import { until } from '../gateway-fixture.ts'
import { adapterLaws, type Call, openBench, recording, type Wire } from './laws.ts'

const USAGE = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
}
const finish = (unified: 'stop' | 'tool-calls') => ({ unified, raw: undefined })
const partsOf = (calls: readonly Call[]) =>
  calls.map(({ tool: toolName, input, id: toolCallId }) => ({
    type: 'tool-call' as const,
    toolCallId,
    toolName,
    input: JSON.stringify(input),
  }))

/** A model that makes the calls, and then is done. */
function modelThatCalls(calls: readonly Call[]): MockLanguageModelV3 {
  return new MockLanguageModelV3({
    doGenerate: [
      { content: partsOf(calls), finishReason: finish('tool-calls'), usage: USAGE, warnings: [] },
      { content: [{ type: 'text', text: 'done' }], finishReason: finish('stop'), usage: USAGE, warnings: [] },
    ],
  })
}

/** What the model was sent of its calls. */
function readBy({ doGenerateCalls }: MockLanguageModelV3): string[] {
  const last = doGenerateCalls[1]?.prompt.at(-1)
  const results = last?.role === 'tool' ? last.content : []
  return results.flatMap((part) => {
    if (part.type !== 'tool-result') return []
    const { output } = part
    return [output.type === 'text' || output.type === 'error-text' ? output.value : JSON.stringify(output)]
  })
}

const wire: Wire = (gate, tools, options) => {
  const made = Object.entries(tools).map(([name, { schema, execute }]) => [
    name,
    tool({ inputSchema: schema, execute: async (input): Promise<unknown> => execute(input) }),
  ])
  const guarded = guardTools(gate, Object.fromEntries(made) as ToolSet, options)
  return {
    turn: async (calls, abortSignal) => {
      const model = modelThatCalls(calls)
      const stopWhen = stepCountIs(2)
      await generateText({
        model,
        tools: guarded,
        prompt: 'go',
        stopWhen,
        ...(abortSignal && { abortSignal }),
      })
      return readBy(model)
    },
  }
}

adapterLaws('AI SDK', wire)

describe('AI SDK: what does not run', () => {
  const open = openBench()

  it('is a tool-error with the refusal itself, for the program', async () => {
    const { gate, told } = open()
    const tools = guardTools(gate, { pay: tool({ inputSchema: z.looseObject({}), execute: () => 1 }) }, told)
    const model = modelThatCalls([{ tool: 'pay', input: { amount: 200_000 }, id: 'e1' }])
    const { steps } = await generateText({ model, tools, prompt: 'go', stopWhen: stepCountIs(2) })
    const failed = steps[0]?.content.find((part) => part.type === 'tool-error')
    expect(failed?.error).toBeInstanceOf(NotExecuted)
    expect(failed?.error).toMatchObject({ outcome: 'rejected' })
  })

  it('a tool without execute is refused at once: nobody could hold it', () => {
    const tools = { ask: tool({ inputSchema: z.object({}), outputSchema: z.string() }) }
    expect(() => guardTools(open().gate, tools)).toThrow(/^the tool ask has no execute/)
  })
})

describe('AI SDK: a tool', () => {
  const open = openBench()

  it('keeps all that is not execute, and execute its this', async () => {
    const key = Symbol('own')
    const plain = dynamicTool({ description: 'd', inputSchema: z.looseObject({}), execute: () => 1 })
    const original = Object.assign(plain, {
      [key]: 2,
      execute(this: unknown) {
        return this === original
      },
    })
    const { t } = guardTools(open().gate, { t: original })
    expect({ ...t, execute: undefined }).toEqual({ ...original, execute: undefined })
    const context = { toolCallId: 'k1', messages: [] }
    expect(await (t.execute as (input: unknown, context: unknown) => unknown)({}, context)).toBe(true)
  })

  it('gets what the AI SDK says of the call', async () => {
    const heard: unknown[] = []
    const execute = (
      _: unknown,
      { toolCallId, experimental_context }: { toolCallId: string; experimental_context?: unknown },
    ) => heard.push(toolCallId, experimental_context)
    const tools = guardTools(open().gate, { t: tool({ inputSchema: z.looseObject({}), execute }) })
    const model = modelThatCalls([{ tool: 't', input: {}, id: 'k2' }])
    await generateText({ model, tools, prompt: 'go', stopWhen: stepCountIs(2), experimental_context: 'mine' })
    expect(heard).toEqual(['k2', 'mine'])
  })

  /** All parts about tools of a streamed step that calls `name` once. */
  async function streamed(name: string, execute: (input: unknown) => AsyncIterable<string>) {
    const tools = guardTools(
      open().gate,
      { [name]: tool({ inputSchema: z.looseObject({}), execute }) },
      open().told,
    )
    const call: Call = { tool: name, input: {}, id: `s-${crypto.randomUUID()}` }
    const chunks = [
      ...partsOf([call]),
      { type: 'finish' as const, finishReason: finish('tool-calls'), usage: USAGE },
    ]
    const model = new MockLanguageModelV3({ doStream: { stream: simulateReadableStream({ chunks }) } })
    const found: unknown[] = []
    for await (const part of streamText({ model, tools, prompt: 'go' }).fullStream) {
      if (part.type === 'tool-result') found.push([part.preliminary === true, part.output])
      if (part.type === 'tool-error') found.push((part.error as NotExecuted).outcome ?? String(part.error))
    }
    return found
  }
  async function* counting(this: unknown): AsyncGenerator<string> {
    open().ran.push('begun')
    yield 'one'
    yield 'two'
    open().ran.push('ended')
  }
  const events = async (act: () => Promise<unknown>) =>
    (await open().world.evidenceOf(act)).map(({ record }) => record.details?.['event_type'] ?? record.type)

  it('that streams still streams, and is reported when it has ended', async () => {
    const told = await events(async () => {
      expect(await streamed('t', counting)).toEqual([
        [true, 'one'],
        [true, 'two'],
        [false, 'two'],
      ])
    })
    expect(told).toEqual(['decision.allowed', 'tool.execution.completed'])
  })

  it('that streams, but is not known to before it is called, gives its last part', async () => {
    expect(await streamed('t', () => counting())).toEqual([[false, 'two']])
  })

  it('that streams does not begin before people approve', async () => {
    const turn = streamed('hold', counting)
    await until(() => open().pending.length === 1)
    expect(open().ran).toEqual([])
    await open().ann.approve(open().pending[0] ?? '')
    expect((await turn).at(-1)).toEqual([false, 'two'])
    expect(open().ran).toEqual(['begun', 'ended'])
  })

  it('that streams and is refused gives nothing but the refusal', async () => {
    expect(await streamed('wipe', counting)).toEqual(['unknown_tool'])
    expect(open().ran).toEqual([])
  })

  it('whose stream fails is reported as failed', async () => {
    const told = await events(async () => {
      const found = await streamed('t', async function* () {
        yield 'one'
        throw new Error('broken pipe')
      })
      expect(found).toEqual([[true, 'one'], 'Error: broken pipe'])
    })
    expect(told.at(-1)).toBe('tool.execution.failed')
  })

  it('whose stream nobody reads to its end is told so, and reported', async () => {
    const told = await events(async () => {
      let closed = false
      const endless = async function* () {
        try {
          for (;;) yield 'more'
        } finally {
          closed = true
        }
      }
      const { t } = guardTools(open().gate, { t: tool({ inputSchema: z.looseObject({}), execute: endless }) })
      const stream = t.execute?.({}, { toolCallId: 'k3', messages: [] }) as AsyncIterable<string>
      for await (const part of stream) if (part === 'more') break
      expect(closed).toBe(true)
    })
    expect(told.at(-1)).toBe('tool.execution.completed')
  })

  it('that the framework itself holds for an approval is asked about when that was given', async () => {
    const { gate, told, ran } = open()
    const { execute } = recording(open())
    const held = tool({
      inputSchema: z.looseObject({}),
      needsApproval: true,
      execute: async (input) => execute(input),
    })
    const tools = guardTools(gate, { t: held }, told)
    const model = modelThatCalls([{ tool: 't', input: { n: 1 }, id: 'n1' }])
    const first = await generateText({ model, tools, prompt: 'go', stopWhen: stepCountIs(2) })
    const request = first.content.find((part) => part.type === 'tool-approval-request')
    expect([ran, request === undefined]).toEqual([[], false])
    const approval = {
      type: 'tool-approval-response' as const,
      approvalId: request?.approvalId ?? '',
      approved: true,
    }
    const messages = [
      { role: 'user' as const, content: 'go' },
      ...first.response.messages,
      { role: 'tool' as const, content: [approval] },
    ]
    await generateText({ model, tools, messages, stopWhen: stepCountIs(2) })
    expect(ran).toEqual([{ n: 1 }])
  })
})
