import { dynamicTool, generateText, type ModelMessage, stepCountIs, streamText, tool, type ToolSet } from 'ai'
import { MockLanguageModelV3, simulateReadableStream } from 'ai/test'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { guardTools } from '@countersign/sdk/ai-sdk'
import { NotExecuted } from '@countersign/sdk'
import { until } from '../../until.ts'
import { adapterLaws, type Agent, type Call, type Driver, openBench, recording, type Turn } from './laws.ts'

const USAGE = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
}
const TASK = { taskId: 'ai-sdk' }
const finish = (unified: 'stop' | 'tool-calls') => ({ unified, raw: undefined })
const partsOf = (calls: readonly Call[]) =>
  calls.map(({ tool: toolName, input, id: toolCallId }) => ({
    type: 'tool-call' as const,
    toolCallId,
    toolName,
    input: JSON.stringify(input),
  }))

/** A model that makes the calls, unless it reads results, and then is done. */
function modelThatCalls(calls: readonly Call[]): MockLanguageModelV3 {
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const isDone = prompt.some(({ role }) => role === 'tool')
      return {
        content: isDone ? [{ type: 'text', text: 'done' }] : partsOf(calls),
        finishReason: finish(isDone ? 'stop' : 'tool-calls'),
        usage: USAGE,
        warnings: [],
      }
    },
  })
}

/** The results of its calls that the model received. */
function readBy({ doGenerateCalls }: MockLanguageModelV3): string[] {
  const parts = doGenerateCalls
    .at(-1)
    ?.prompt.flatMap(({ role, content }) => (role === 'tool' ? content : []))
  return (parts ?? []).flatMap((part) => {
    if (part.type !== 'tool-result') return []
    const { output } = part
    return [output.type === 'text' || output.type === 'error-text' ? output.value : JSON.stringify(output)]
  })
}

function guardedBy({ gate, tools, taskId, options }: Agent) {
  const made = Object.entries(tools).map(([name, { schema, execute }]) => [
    name,
    tool({ inputSchema: schema, execute: async (input): Promise<unknown> => execute(input) }),
  ])
  return guardTools(gate, Object.fromEntries(made) as ToolSet, { ...options, taskId })
}

async function turnOf(tools: ToolSet, messages: ModelMessage[], calls: readonly Call[] = []): Promise<Turn> {
  const model = modelThatCalls(calls)
  const { response, content } = await generateText({ model, tools, messages, stopWhen: stepCountIs(2) })
  const isPaused = content.some(({ type }) => type === 'tool-approval-request')
  return {
    read: readBy(model),
    saved: isPaused ? JSON.stringify([...messages, ...response.messages]) : undefined,
  }
}

const driver: Driver = {
  start: (agent, calls) => turnOf(guardedBy(agent).tools, [{ role: 'user', content: 'go' }], calls),
  settle: async (agent, saved) => {
    const { tools, settle } = guardedBy(agent)
    const messages = JSON.parse(saved) as ModelMessage[]
    const next = await settle(messages)
    return next && turnOf(tools, [...messages, next])
  },
  force: async (agent, saved) => {
    const messages = JSON.parse(saved) as ModelMessage[]
    const [, approvalId = ''] = /"approvalId":"([^"]+)"/.exec(saved) ?? []
    const content = [{ type: 'tool-approval-response' as const, approvalId, approved: true }]
    return turnOf(guardedBy(agent).tools, [...messages, { role: 'tool', content }])
  },
}

adapterLaws('AI SDK', driver)

describe('AI SDK: refused calls and tools', () => {
  const open = openBench()

  it('gives the program a tool-error that carries the refusal', async () => {
    const { gate, told, taskId } = open()
    const pay = tool({ inputSchema: z.looseObject({}), execute: () => 1 })
    const { tools } = guardTools(gate, { pay }, { ...told, taskId })
    const model = modelThatCalls([{ tool: 'pay', input: { amount: 200_000 }, id: 'e1' }])
    const { steps } = await generateText({ model, tools, prompt: 'go', stopWhen: stepCountIs(2) })
    const failed = steps[0]?.content.find((part) => part.type === 'tool-error')
    expect(failed?.error).toBeInstanceOf(NotExecuted)
    expect(failed?.error).toMatchObject({ code: 'rejected' })
  })

  it('refuses a tool without execute, because the guard could not hold its calls', () => {
    const tools = { ask: tool({ inputSchema: z.object({}), outputSchema: z.string() }) }
    expect(() => guardTools(open().gate, tools, TASK)).toThrow(/^the tool ask has no execute/)
  })
})

describe('AI SDK: a tool', () => {
  const open = openBench()

  it('keeps every member except execute, and the `this` of execute', async () => {
    const key = Symbol('own')
    const plain = dynamicTool({ description: 'd', inputSchema: z.looseObject({}), execute: () => 1 })
    const original = Object.assign(plain, {
      [key]: 2,
      execute(this: unknown) {
        return this === original
      },
    })
    const { t } = guardTools(open().gate, { t: original }, TASK).tools
    const ours = { execute: undefined, needsApproval: undefined }
    expect({ ...t, ...ours }).toEqual({ ...original, ...ours })
    const context = { toolCallId: 'k1', messages: [] }
    expect(await (t.execute as (input: unknown, context: unknown) => unknown)({}, context)).toBe(true)
  })

  it("passes the AI SDK's call options to the tool", async () => {
    const heard: unknown[] = []
    const execute = (
      _: unknown,
      { toolCallId, experimental_context }: { toolCallId: string; experimental_context?: unknown },
    ) => heard.push(toolCallId, experimental_context)
    const { tools } = guardTools(open().gate, { t: tool({ inputSchema: z.looseObject({}), execute }) }, TASK)
    const model = modelThatCalls([{ tool: 't', input: {}, id: 'k2' }])
    await generateText({ model, tools, prompt: 'go', stopWhen: stepCountIs(2), experimental_context: 'mine' })
    expect(heard).toEqual(['k2', 'mine'])
  })

  /** All parts about tools of a streamed step that calls `name` once. */
  async function streamed(name: string, execute: (input: unknown) => AsyncIterable<string>) {
    const { gate, told, taskId } = open()
    const given = { [name]: tool({ inputSchema: z.looseObject({}), execute }) }
    const { tools } = guardTools(gate, given, { ...told, taskId, maxWaitMs: 60_000 })
    const call: Call = { tool: name, input: {}, id: `s-${crypto.randomUUID()}` }
    const chunks = [
      ...partsOf([call]),
      { type: 'finish' as const, finishReason: finish('tool-calls'), usage: USAGE },
    ]
    const model = new MockLanguageModelV3({ doStream: { stream: simulateReadableStream({ chunks }) } })
    const found: unknown[] = []
    for await (const part of streamText({ model, tools, prompt: 'go' }).fullStream) {
      if (part.type === 'tool-result') found.push([part.preliminary === true, part.output])
      if (part.type === 'tool-error') found.push((part.error as NotExecuted).code ?? String(part.error))
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
    (await open().world.evidenceOf(() => act().then(() => open().gate.settled()))).map(
      ({ record }) => record.details?.['outcome'] ?? record.type,
    )

  it('still streams a tool that streams, and reports it when the stream ends', async () => {
    const told = await events(async () => {
      expect(await streamed('t', counting)).toEqual([
        [true, 'one'],
        [true, 'two'],
        [false, 'two'],
      ])
    })
    expect(told).toEqual(['decision.allowed', 'executed'])
  })

  it('gives only the last part of a stream that execute returns without being a generator function', async () => {
    expect(await streamed('t', () => counting())).toEqual([[false, 'two']])
  })

  it('does not start a streaming tool before a reviewer approves', async () => {
    const turn = streamed('hold', counting)
    await until(() => open().pending.length === 1)
    expect(open().ran).toEqual([])
    await open().ann.approve(open().pending[0] ?? '')
    expect((await turn).at(-1)).toEqual([false, 'two'])
    expect(open().ran).toEqual(['begun', 'ended'])
  })

  it('gives only the refusal when a streaming tool is refused', async () => {
    expect(await streamed('wipe', counting)).toEqual(['unknown_tool'])
    expect(open().ran).toEqual([])
  })

  it('reports a tool as failed when its stream fails', async () => {
    const told = await events(async () => {
      const found = await streamed('t', async function* () {
        yield 'one'
        throw new Error('broken pipe')
      })
      expect(found).toEqual([[true, 'one'], 'Error: broken pipe'])
    })
    expect(told.at(-1)).toBe('failed')
  })

  it("closes the tool's stream and reports it when the reader stops early", async () => {
    const told = await events(async () => {
      let closed = false
      const endless = async function* () {
        try {
          for (;;) yield 'more'
        } finally {
          closed = true
        }
      }
      const given = { t: tool({ inputSchema: z.looseObject({}), execute: endless }) }
      const { t } = guardTools(open().gate, given, TASK).tools
      const stream = t.execute?.({}, { toolCallId: 'k3', messages: [] }) as AsyncIterable<string>
      for await (const part of stream) if (part === 'more') break
      expect(closed).toBe(true)
    })
    expect(told.at(-1)).toBe('executed')
  })

  it("asks the gateway after the AI SDK's own approval is given", async () => {
    const { gate, told, ran, taskId } = open()
    const { execute } = recording(open())
    const held = tool({
      inputSchema: z.looseObject({}),
      needsApproval: true,
      execute: async (input) => execute(input),
    })
    const { tools, settle } = guardTools(gate, { t: held }, { ...told, taskId })
    const model = modelThatCalls([{ tool: 't', input: { n: 1 }, id: 'n1' }])
    const first = await generateText({ model, tools, prompt: 'go', stopWhen: stepCountIs(2) })
    const request = first.content.find((part) => part.type === 'tool-approval-request')
    expect([ran, request === undefined]).toEqual([[], false])
    // the program answers for its own
    expect(await settle(first.response.messages)).toBeUndefined()
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
