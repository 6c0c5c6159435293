// @store each, in the soak
import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Redelivered, WebhookSecret } from '../../../src/contract/webhook.ts'
import { listDeliveries } from '../../../src/gateway/webhooks/deliveries.ts'
import type { DeliveryRecord } from '../../../src/gateway/core/records.ts'
import { INDEX } from '../../../src/gateway/core/indexes.ts'
import { put } from '../../../src/gateway/core/records.ts'
import { STORE_LIMITS, type Write } from '../../../src/store/store.ts'
import { eachWorld, world } from '../../agent-world.ts'
import { overriding } from '../../gateway-fixture.ts'
import { countTurns } from '../../turns.ts'

/** Deliveries of large payloads. A receiver with `payload: full` gets each payload whole. */

let hook: string
const turns = countTurns()
const name = (i: number): string => `whd_acme_${String(i).padStart(26, '0')}`

eachWorld({
  config: { webhooksAllow: '127.0.0.1/32:8443' },
  tampered: true,
  wrapStore: (store) =>
    overriding(store, {
      get: (tenant, type, id) => {
        if (type === 'delivery') turns.count()
        return store.get(tenant, type, id)
      },
    }),
})
beforeEach(async () => {
  const body = { tenant: 'acme', url: 'https://127.0.0.1:8443/', payload: 'full' }
  const created = await world.admin<WebhookSecret>('POST', 'webhooks', { body })
  hook = created.body.id
  expect((await world.admin('POST', `webhooks/${hook}/pause`)).status).toBe(200)
})

async function given(count: number, body: string): Promise<void> {
  const { deps } = world.app
  const at = deps.store.now()
  for (let i = 0; i < count; i++) {
    const record: DeliveryRecord = {
      destination: hook,
      type: 'review.pending',
      body,
      created_at: at,
      state: 'dead',
      attempts: 10,
    }
    const writes: Write[] = [
      put('delivery', name(i), record),
      { op: 'index', index: INDEX.deliveries(hook), member: name(i), to: at },
    ]
    const commit = { commitId: deps.nextCommitId(), deadline: Infinity, guards: [], writes, events: [] }
    expect(await deps.store.commit('acme', commit)).toMatchObject({ ok: true })
  }
}

describe('many deliveries', () => {
  it('many deliveries are redelivered even when one commit cannot contain them all', async () => {
    const body = JSON.stringify({ payload: '"'.repeat(130_000) })
    await given(40, body)
    expect(40 * JSON.stringify(body).length).toBeGreaterThan(STORE_LIMITS.commitLength)
    const since = new Date(world.clock.now - 1_000).toISOString()
    const { status, body: answer } = await world.admin<Redelivered>('POST', `webhooks/${hook}/redeliver`, {
      body: { since },
    })
    expect([status, answer]).toEqual([200, { count: 40 }])
    expect(await world.app.deps.store.count('acme', INDEX.outbox(hook))).toBe(40)
  })

  it('many deliveries are searched a few at a time, so that other requests are answered in between', async () => {
    await given(130, '{}')
    turns.begin()
    const { deps } = world.app
    const here = { tenant: 'acme', id: hook }
    expect(await listDeliveries(deps, here, { state: 'delivered' })).toEqual({ deliveries: [] })
    await nextTurn()
    expect((await listDeliveries(deps, here, { limit: '100' })).deliveries).toHaveLength(100)
    expect(turns.most()).toBeLessThanOrEqual(25)
  })

  it('many deliveries are searched a few at a time even when no delivery matches', async () => {
    await given(130, '{}')
    turns.begin()
    const body = { since: new Date(0).toISOString(), state: 'delivered' }
    const { status, text } = await world.admin('POST', `webhooks/${hook}/redeliver`, { body })
    expect([status, text]).toEqual([200, '{"count":0}'])
    expect(turns.most()).toBeLessThanOrEqual(50)
  })

  it('many deliveries are paged through to the end with any page size', async () => {
    await given(53, '{}')
    for (const limit of ['1', '25', '26', '53', '100']) {
      const found: string[] = []
      let cursor: string | undefined
      do {
        const query = { limit, ...(cursor === undefined ? {} : { cursor }) }
        const page = await listDeliveries(world.app.deps, { tenant: 'acme', id: hook }, query)
        found.push(...page.deliveries.map(({ id }) => id))
        cursor = page.next_cursor
      } while (cursor !== undefined)
      expect(found).toEqual(Array.from({ length: 53 }, (_, i) => name(52 - i)))
    }
  })
})
