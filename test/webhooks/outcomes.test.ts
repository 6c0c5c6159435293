import { afterEach, beforeEach, expect, it } from 'vitest'
import type { WebhookSecret } from '../../src/contract/webhook.ts'
import { type DeliveryRecord, INDEX, put } from '../../src/gateway/core/records.ts'
import { STORE_LIMITS } from '../../src/store/store.ts'
import { createOutcomes } from '../../src/webhooks/outcomes.ts'
import { openWorld, overriding, type World } from '../gateway-fixture.ts'

/** How tries ended is written down for those of a moment together. */

let world: World
/** Commits that say how tries ended, by how many. */
let commits: number[]

beforeEach(async () => {
  commits = []
  world = await openWorld({
    config: { webhooksAllow: '127.0.0.1/32:8443' },
    tampered: true,
    wrapStore: (store) =>
      overriding(store, {
        commit: (tenant, commit) => {
          const said = commit.events.filter((event) => event.includes('webhook.delivered')).length
          if (said > 0) commits.push(said)
          return store.commit(tenant, commit)
        },
      }),
  })
})
afterEach(() => world.close())

const TRIES = 90
const SUCCESS = { result: 'success', said: '200' } as const

async function told(body: string): Promise<unknown[]> {
  const { deps } = world.app
  const asked = { tenant: 'acme', url: 'https://127.0.0.1:8443/', payload: 'full' }
  const { body: hook } = await world.admin<WebhookSecret>('POST', 'webhooks', { body: asked })
  const ids = Array.from({ length: TRIES }, (_, i) => `whd_acme_${String(i).padStart(26, '0')}`)
  for (const id of ids) {
    const at = deps.store.now()
    const record: DeliveryRecord = {
      destination: hook.id,
      type: 'decision.allowed',
      body,
      created_at: at,
      state: 'waiting',
      attempts: 0,
    }
    const entry = { op: 'index', index: INDEX.deliveries(hook.id), member: id, to: at } as const
    const writes = [put('delivery', id, record), entry]
    const commit = { commitId: deps.nextCommitId(), deadline: Infinity, guards: [], writes, events: [] }
    expect(await deps.store.commit('acme', commit)).toMatchObject({ ok: true })
  }
  const outcomes = createOutcomes(deps)
  const made = ids.map((id) => ({ id, destination: hook.id, tried: SUCCESS }))
  return Promise.all(made.map((one) => outcomes.record('acme', one, body.length)))
}

it('tries of large deliveries are written down in as many commits as they need', async () => {
  const body = JSON.stringify({ payload: 'x'.repeat(200_000) })
  expect(TRIES * body.length).toBeGreaterThan(STORE_LIMITS.commitLength)
  expect(await told(body)).toEqual(Array.from({ length: TRIES }, () => 'delivered'))
  expect(Math.max(...commits)).toBeLessThanOrEqual(5)
})

it('tries of small deliveries are written down together', async () => {
  expect(await told('{}')).toEqual(Array.from({ length: TRIES }, () => 'delivered'))
  expect(commits).toEqual([TRIES])
})
