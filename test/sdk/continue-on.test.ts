import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { continueOn, createGate, type Gate, type Handle, StillPending } from '@countersign/sdk'
import type { WebhookSecret } from '../../src/contract/webhook.ts'
import { type Agent, newTask, openWorld, type Reviewer, type World } from '../gateway-fixture.ts'
import { until } from '../until.ts'
import { type Got, type Receiver, Receivers } from '../webhooks/receiver.ts'

/* Deliveries as a real gateway signed and sent them, given to `continueOn` as a framework gives a request. */

const receivers = new Receivers()
let world: World
let bot: Agent
let ann: Reviewer
let receiver: Receiver
let gate: Gate
let secrets: string

beforeAll(async () => {
  receiver = await receivers.open()
  world = await openWorld({
    config: { webhooksAllow: `127.0.0.1/32:${receiver.port}` },
    webhooks: { everyMs: 20, ca: receivers.ca, wall: () => world.clock.now },
  })
  bot = await world.agent()
  ann = await world.reviewer('ann')
  const body = { tenant: 'acme', url: receiver.url }
  secrets = (await world.admin<WebhookSecret>('POST', 'webhooks', { body })).body.secret
  gate = createGate({ url: world.url, key: bot.key, onPending: () => undefined })
})
afterAll(async () => {
  await world.close()
  await receivers.dispose()
})

/** The delivery of an event of a thread. */
async function delivered(type: string, thread?: string): Promise<Got> {
  const find = (): Got | undefined =>
    receiver.got.find(({ body }) => body.type === type && body['thread_id'] === thread)
  await until(() => find() !== undefined)
  return find() as Got
}

const ran: unknown[] = []
const saved = new Map<string, Handle>()
const propose = async (): Promise<Handle & { readonly thread_id: string }> => {
  const handle = await gate.propose('pay', { amount: 500 }, { taskId: newTask(), callId: 'c' })
  saved.set(handle.thread_id ?? '', handle)
  return handle as typeof handle & { readonly thread_id: string }
}
const look = async (thread: string): Promise<unknown> => {
  const handle = saved.get(thread)
  return handle !== undefined && gate.resume(handle, ({ amount }) => ran.push(amount), { maxWaitMs: 0 })
}
/** The answer of a route to a delivery, and the threads that it looked up. */
async function routed(
  { headers, raw }: Pick<Got, 'headers' | 'raw'>,
  finding = look,
  { lateSeconds = 0 } = {},
) {
  const request = new Request('http://agent/hook', { method: 'POST', headers, body: raw })
  const looked: string[] = []
  const asking = (thread: string): unknown => {
    looked.push(thread)
    return finding(thread)
  }
  const now = world.clock.now / 1_000 + lateSeconds
  const response = await continueOn(request, asking, { secrets, now })
  return { answer: [response.status, await response.text()], looked }
}

describe('continueOn', () => {
  it('continues an approved call once, also when the delivery is replayed', async () => {
    const { thread_id } = await propose()
    await ann.approve(thread_id, 1)
    const got = await delivered('review.approved', thread_id)
    ran.length = 0
    expect(await routed(got)).toEqual({ answer: [204, ''], looked: [thread_id] })
    const [again, third] = await Promise.all([routed(got), routed(got)])
    expect([again.answer[0], third.answer[0], ran]).toEqual([200, 200, [500]])
    expect(again.answer[1]).toMatch(/^(It may have run|Not executed)/)
  })

  it('refuses foreign and changed deliveries and old ones with 400, and does not look', async () => {
    const { thread_id } = await propose()
    await ann.approve(thread_id, 1)
    const { headers, raw } = await delivered('review.approved', thread_id)
    const { 'x-guard-signature': _, ...unsigned } = headers
    const forged = { ...headers, 'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}` }
    for (const [one, lateSeconds] of [
      [{ headers, raw: raw.replace('review.approved', 'review.rejected') }, 0],
      [{ headers: forged, raw }, 0],
      [{ headers: unsigned, raw }, 0],
      [{ headers: {}, raw: '' }, 0],
      [{ headers, raw }, 301],
      [{ headers, raw }, -301],
    ] as const)
      expect(await routed(one, look, { lateSeconds })).toEqual({
        answer: [400, expect.any(String)],
        looked: [],
      })
    const request = new Request('http://agent/hook', { method: 'POST', headers, body: raw })
    const now = world.clock.now / 1_000
    await expect(continueOn(request, look, { now })).rejects.toThrow('a secret is `whsec_` and base64')
  })

  it('ignores other events, and says so', async () => {
    const { thread_id } = await propose()
    const pending = await delivered('review.pending', thread_id)
    expect(await routed(pending)).toEqual({
      answer: [200, 'ignored: review.pending ends no wait'],
      looked: [],
    })
    await gate.guard('t', {}, () => 1)
    expect((await routed(await delivered('decision.allowed'))).answer[0]).toBe(200)
  })

  it('passes a rejection to the look-up, and answers with its reason', async () => {
    const { thread_id } = await propose()
    await ann.vote(thread_id, { decision: 'reject', revision: 1, comment: 'never' })
    const { answer, looked } = await routed(await delivered('review.rejected', thread_id))
    expect([answer, looked]).toEqual([[200, expect.stringContaining('never')], [thread_id]])
  })

  it('asks for another delivery while the call is not saved or still waits, and passes other errors', async () => {
    const { thread_id } = await propose()
    await ann.approve(thread_id, 1)
    const got = await delivered('review.approved', thread_id)
    expect((await routed(got, async () => false)).answer).toEqual([503, `${thread_id} is not known yet`])
    const waits = async (): Promise<never> => Promise.reject(new StillPending('nobody decided'))
    expect((await routed(got, waits)).answer[0]).toBe(503)
    const broken = async (): Promise<never> => Promise.reject(new Error('the database is away'))
    await expect(routed(got, broken)).rejects.toThrow('the database is away')
  })
})
