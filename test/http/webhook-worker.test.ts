// @store each, in the soak
import { createHmac } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { WebhookSecret } from '../../src/contract/webhook.ts'
import { type CommitResult, type Store, StoreIndeterminate, StoreUnavailable } from '../../src/store/store.ts'
import { eachWorld, world } from '../agent-world.ts'
import { type Agent, newTask, overriding, SECOND } from '../gateway-fixture.ts'
import { until } from '../until.ts'
import { type Got, type Receiver, Receivers } from '../webhooks/receiver.ts'

/** The webhook worker with its timer off: only commits wake it (docs/decisions/0015). */

const NEVER_MS = 2 ** 31 - 1
const CONNECTIONS = 16
/** So long that none ends while a test holds it, however slow the machine is. */
const TRY_MS = 10 * SECOND
/** A try, and five seconds for its record. */
const LEASE_MS = TRY_MS + 5 * SECOND

const receivers = new Receivers()
afterAll(() => receivers.dispose())

let bot: Agent
let receiver: Receiver
let hook: WebhookSecret
/** Looks that were taken at the outbox. */
let looks: number
/** The store cannot return the waiting deliveries. */
let away: boolean
/** Runs while the worker is suspended, before it makes the deliveries that it has claimed. */
let suspended: (() => Promise<void>) | undefined
/** Takes the place of the commits to come that enqueue something. */
let instead: ((commit: () => Promise<CommitResult>) => Promise<CommitResult>) | undefined

const enqueues = ({ writes }: Parameters<Store['commit']>[1]): boolean =>
  writes.some((write) => write.op === 'put' && write.type === 'delivery')

/** Suspends the worker once, when it has claimed something. */
async function afterwards<T extends readonly unknown[]>(claiming: Promise<T>): Promise<T> {
  const claimed = await claiming
  const suspend = claimed.length > 0 ? suspended : undefined
  if (suspend !== undefined) suspended = undefined
  await suspend?.()
  return claimed
}

const watched = (store: Store): Store =>
  overriding(store, {
    claimDue(partition, index, claim) {
      if (index.startsWith('outbox/')) looks += 1
      if (away) return Promise.reject(new StoreUnavailable('away'))
      return afterwards(store.claimDue(partition, index, claim))
    },
    commit(partition, commit) {
      const really = (): Promise<CommitResult> => store.commit(partition, commit)
      return instead !== undefined && enqueues(commit) ? instead(really) : really()
    },
  })

eachWorld(async () => {
  receiver = await receivers.open()
  instead = undefined
  suspended = undefined
  away = false
  return {
    config: { webhooksAllow: `127.0.0.1/32:${receiver.port}` },
    webhooks: { everyMs: NEVER_MS, deadlineMs: TRY_MS, ca: receivers.ca },
    wrapStore: watched,
  }
})
beforeEach(async () => {
  bot = await world.agent()
  looks = 0
  const body = { tenant: 'acme', url: receiver.url }
  hook = (await world.admin<WebhookSecret>('POST', 'webhooks', { body })).body
  await ping()
  await until(async () => (await outbox()).length === 0)
})

const allow = async (): Promise<number> =>
  (await bot.submit(newTask(), { tool_name: 't', payload: {} })).status
const got = (count: number): Promise<void> => until(() => receiver.got.length >= count)
async function ping(): Promise<void> {
  const before = receiver.got.length
  await world.admin('POST', `webhooks/${hook.id}/ping`)
  await got(before + 1)
}
const outbox = (): ReturnType<Store['range']> =>
  world.app.deps.store.range('acme', `outbox/${hook.id}`, { limit: 100 })

describe('a delivery', () => {
  it('is left to other instances when its gateway was suspended beyond the lease: the URL may have changed', async () => {
    let rotated: WebhookSecret | undefined
    suspended = async () => {
      world.clock.advance(LEASE_MS + SECOND)
      const body = { overlap_ms: 0 }
      rotated = (await world.admin<WebhookSecret>('POST', `webhooks/${hook.id}/rotate-secret`, { body })).body
    }
    await allow()
    await until(() => {
      world.app.deps.enqueued('acme')
      return receiver.got.length >= 2
    })
    const { raw, headers } = receiver.got[1] as Got
    const signature = createHmac('sha256', rotated?.secret ?? '')
      .update(raw)
      .digest('hex')
    expect(headers['x-guard-signature']).toBe(`sha256=${signature}`)
  })

  it('is delivered after a look at which the store was unavailable, without keeping a connection', async () => {
    away = true
    const before = looks
    world.app.deps.enqueued('acme')
    await until(() => looks > before)
    away = false
    await allow()
    await until(() => {
      world.app.deps.enqueued('acme')
      return receiver.got.length >= 2
    })
  })

  it('a delivery to a busy destination waits: the oldest is next', async () => {
    const open: ServerResponse[] = []
    receiver.answer = (_, response) => void open.push(response)
    for (let i = 0; i < CONNECTIONS; i++) await allow()
    await got(1 + CONNECTIONS)
    world.clock.advance(1)
    await allow()
    const waiting = (await outbox()).filter(({ score }) => score <= world.clock.now)
    expect(waiting).toHaveLength(1)
    world.clock.advance(1)
    await allow()
    for (const response of open.slice(0, CONNECTIONS / 2)) response.end()
    await got(3 + CONNECTIONS)
    expect(receiver.got.slice(1 + CONNECTIONS).map(({ body }) => body.id)).toContain(waiting[0]?.member)
    for (const response of open) response.end()
  })

  it.each([
    ['failed', () => Promise.reject(new StoreUnavailable('not now'))],
    ['was refused', () => Promise.resolve({ ok: false, reason: 'late' } as const)],
  ])('a delivery whose commit %s is never made', async (_, failure) => {
    instead = failure
    for (let i = 0; i < CONNECTIONS; i++) expect(await allow()).toBe(503)
    instead = undefined
    expect(await allow()).toBe(200)
    await got(2)
    expect(await outbox().then((left) => left.length)).toBeLessThanOrEqual(1)
    expect(receiver.got).toHaveLength(2)
  })

  it('a delivery whose commit succeeded without an answer is made at the next look', async () => {
    instead = async (commit) => {
      await commit()
      throw new StoreIndeterminate('nothing heard')
    }
    expect(await allow()).toBe(503)
    instead = undefined
    const [entry] = await outbox()
    await ping()
    await until(() => receiver.got.some(({ body }) => body.id === entry?.member))
  })
})
