import { describe, expect, it } from 'vitest'
import { continueOn, createClient } from '@countersign/sdk'
import { guardTool } from '../../packages/sdk/src/adapters/openai-agents.ts'
import { gateBefore } from './double.ts'

/* Answers, ids and requests of an attacker who wants a call to run, or a program to stop. */

const HELD = { status: 'pending_review', thread_id: 'thr_1' }
const ALLOW = { status: 'allow' }
const RAN = (): never => expect.fail('it ran')

describe('a caller that gave up', () => {
  it('before the call sends no request, so that reviewers never see the call', async () => {
    const { gate, asked } = gateBefore({}, ALLOW)
    await gate.guard('pay', {}, () => 'ran')
    await gate.settled()
    const before = asked.length
    const signal = AbortSignal.abort()
    await expect(gate.guard('pay', {}, RAN, { signal })).rejects.toMatchObject({ code: 'aborted' })
    expect(asked.slice(before)).toEqual([])
  })

  it('while `resume` waits for the reports of its task ends that wait', async () => {
    const { gate } = gateBefore({ outcomes: () => new Response(new ReadableStream()) })
    await gate.guard('pay', {}, () => 'ran')
    const handle = await gate.propose('pay', {}, { taskId: 't', callId: 'c' })
    const controller = new AbortController()
    const resumed = gate.resume(handle, RAN, { signal: controller.signal })
    controller.abort()
    await expect(resumed).rejects.toMatchObject({ code: 'aborted', thread_id: 'thr_1' })
  })

  it('after a month at the earliest runs the call at once', async () => {
    const deadlineMs = 40 * 24 * 3_600_000
    expect(await gateBefore({}, ALLOW).gate.guard('pay', {}, () => 'ran', { deadlineMs })).toBe('ran')
  })
})

it('an answer to which the `fetch` of the caller was redirected permits nothing', async () => {
  const redirected = (answer: object): Response =>
    Object.defineProperty(Response.json(answer), 'redirected', { value: true })
  for (const route of ['requests', 'decisions', 'validate'] as const)
    await expect(gateBefore({ [route]: redirected }, HELD).gate.guard('pay', {}, RAN)).rejects.toMatchObject({
      code: route === 'validate' ? 'outcome_unknown' : 'unexpected_answer',
    })
})

it('the refusal of a proof that another process replaced says that the call may have run', async () => {
  const { gate } = gateBefore({ validate: () => ({ valid: false, reason: 'invalid' }) }, HELD)
  await expect(gate.guard('pay', {}, RAN)).rejects.toThrow(/^It may have run: .* invalid\./)
})

it('an answer that never ends is read up to a limit', async () => {
  let pulled = 0
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void =>
    controller.enqueue(new Uint8Array(1024 * 1024 * (pulled++ < 99 ? 1 : 0)))
  const fetch = async (): Promise<Response> => new Response(new ReadableStream({ pull }))
  const client = createClient({ url: 'http://127.0.0.1:1', key: 'csk_x', fetch })
  await expect(client.resolve([])).rejects.toMatchObject({ code: 'unreadable' })
  expect(pulled).toBeLessThan(40)
})

it('413: a body that is larger than any delivery is not read to its end', async () => {
  let pulled = 0
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void =>
    pulled++ < 99 ? controller.enqueue(new Uint8Array(1024 * 1024)) : controller.close()
  const init = { method: 'POST', body: new ReadableStream({ pull }), duplex: 'half' } as RequestInit
  const request = new Request('http://127.0.0.1/webhook', init)
  const answer = await continueOn(request, RAN, { secrets: `whsec_${'A'.repeat(32)}` })
  expect([answer.status, pulled < 10]).toEqual([413, true])
})

it.each(['__proto__', 'constructor', 'toString'])(
  'a call with the id `%s` is one like any other, also in the saved state',
  async (callId) => {
    const ran: unknown[] = []
    const { gate } = gateBefore({}, HELD)
    const tool = guardTool(
      gate,
      {
        name: 'pay',
        parameters: { type: 'object', additionalProperties: true } as const,
        execute: (input: unknown) => ran.push(input),
      },
      { taskId: 't' },
    ) as unknown as {
      needsApproval: (context: object, input: object, callId: string) => Promise<boolean>
      execute: (input: object, context: object, details: object) => Promise<unknown>
    }
    const context = { context: {} }
    expect(await tool.needsApproval(context, { n: 1 }, callId)).toBe(true)
    const saved = JSON.parse(JSON.stringify(context)) as object
    const details = { toolCall: { callId } }
    expect(await tool.execute({ n: 2 }, saved, details)).toMatch(/not the arguments that were proposed/)
    await tool.execute({ n: 1 }, saved, details)
    expect(ran).toEqual([{ n: 1 }])
  },
)
