import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { continueOn, createGate, type Gate, type Handle, StillPending } from '@countersign/sdk'
import type { WebhookSecret } from '../../src/contract/webhook.ts'
import { type Agent, HOUR, newTask, openWorld, type Reviewer, type World } from '../gateway-fixture.ts'
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
/** Proposes a call that reviewers approve or reject, and returns its thread and the delivery of their decision. */
async function decided(decision: 'approve' | 'reject' = 'approve'): Promise<Got & { thread: string }> {
  const handle = await gate.propose('pay', { amount: 500 }, { taskId: newTask(), callId: 'c' })
  const { thread_id: thread = '' } = handle
  saved.set(thread, handle)
  await ann.vote(thread, { decision, revision: 1, comment: 'seen' })
  return {
    thread,
    ...(await delivered(decision === 'approve' ? 'review.approved' : 'review.rejected', thread)),
  }
}
const look = async (thread: string): Promise<unknown> => {
  const handle = saved.get(thread)
  return handle !== undefined && gate.resume(handle, ({ amount }) => ran.push(amount), { maxWaitMs: 0 })
}
/** The answer of a route to a delivery, and the threads that it looked up. */
async function routed({ headers, raw }: Pick<Got, 'headers' | 'raw'>, finding = look, lateSeconds = 0) {
  const request = new Request('http://agent/hook', { method: 'POST', headers, body: raw })
  const looked: string[] = []
  const asking = (thread: string): unknown => (looked.push(thread), finding(thread))
  const now = world.clock.now / 1_000 + lateSeconds
  const response = await continueOn(request, asking, { secrets, now })
  return { status: response.status, text: await response.text(), looked }
}

describe('continueOn', () => {
  it('continues an approved call once, also when the delivery is replayed', async () => {
    const got = await decided()
    expect(await routed(got)).toEqual({ status: 204, text: '', looked: [got.thread] })
    const again = await Promise.all([routed(got), routed(got)])
    expect([again.map(({ status }) => status), ran]).toEqual([[200, 200], [500]])
    expect(again[0].text).toMatch(/^(It may have run|Not executed)/)
  })

  it('refuses foreign and changed deliveries and old ones with 400, and does not look', async () => {
    const { headers, raw } = await decided()
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
      expect(await routed(one, look, lateSeconds)).toMatchObject({ status: 400, looked: [] })
    const request = new Request('http://agent/hook', { method: 'POST', headers, body: raw })
    const now = world.clock.now / 1_000
    await expect(continueOn(request, look, { now })).rejects.toThrow('a secret is `whsec_` and base64')
  })

  it('ignores other events, and says so', async () => {
    const { thread } = await decided()
    const ignored = { status: 200, text: 'ignored: review.pending ends no wait', looked: [] }
    expect(await routed(await delivered('review.pending', thread))).toEqual(ignored)
    await gate.guard('t', {}, () => 1)
    expect(await routed(await delivered('decision.allowed'))).toMatchObject({ status: 200, looked: [] })
  })

  it('passes a rejection to the look-up, and answers with its reason', async () => {
    const got = await decided('reject')
    const told = { status: 200, text: expect.stringContaining('seen'), looked: [got.thread] }
    expect(await routed(got)).toEqual(told)
  })

  it('looks up a call that ended otherwise', async () => {
    const ends: Record<string, (handle: Handle) => Promise<unknown>> = {
      'review.changes_requested': ({ thread_id = '' }) =>
        ann.vote(thread_id, { decision: 'request_changes', revision: 1, comment: 'less' }),
      'review.withdrawn': (handle) => gate.withdraw(handle, 'no longer needed'),
      'review.expired': () => Promise.resolve(world.clock.advance(9 * HOUR)).then(() => world.due()),
    }
    for (const [type, end] of Object.entries(ends)) {
      const handle = await gate.propose('pay', { amount: 500 }, { taskId: newTask(), callId: 'c' })
      await end(handle)
      const got = await delivered(type, handle.thread_id)
      expect(await routed(got, async () => undefined)).toMatchObject({
        status: 204,
        looked: [handle.thread_id],
      })
    }
  })

  it('asks for another delivery while the call is not saved or still waits, and passes other errors', async () => {
    const got = await decided()
    const unknown = { status: 503, text: `${got.thread} is not known yet` }
    expect(await routed(got, async () => false)).toMatchObject(unknown)
    const failing = (error: Error) => routed(got, () => Promise.reject(error))
    expect(await failing(new StillPending('nobody decided'))).toMatchObject({ status: 503 })
    await expect(failing(new Error('the database is away'))).rejects.toThrow('the database is away')
  })
})
