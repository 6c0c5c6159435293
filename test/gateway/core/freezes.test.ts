// @store each
import { describe, expect, it } from 'vitest'
import { freeze, unfreeze } from '../../../src/gateway/admin/freeze.ts'
import type { StoredRecord } from '../../../src/store/store.ts'
import { eachWorld, world } from '../../agent-world.ts'
import { elsewhere, held, overriding } from '../../gateway-fixture.ts'

/** A tenant may have a thousand freezes with their reasons. Every poll and list reads them afresh. */

/** The number of times that a verb parsed the record. */
let texts: number
/** The number of reads of the record. */
let reads: number

eachWorld(() => {
  texts = 0
  reads = 0
  return {
    wrapStore: (store) =>
      overriding(store, {
        get: async (tenant, type, id) => {
          const record = await store.get(tenant, type, id)
          return type === 'freezes' && record !== undefined ? counting(record) : record
        },
      }),
  }
})

function counting(record: StoredRecord): StoredRecord {
  reads += 1
  return {
    ...record,
    get body() {
      texts += 1
      return record.body
    },
  }
}

const admin = { actor: { kind: 'admin', id: 'admin' } } as const
const strangers = { tenant: 'acme', agent: 'other', reason: 'it talks to strangers' }

describe('freezes', () => {
  it('freezes are read by every poll and list, and parsed once', async () => {
    const [bot, ann] = [await world.agent(), await world.reviewer('ann')]
    const { thread } = await held(bot)
    await freeze(world.app.deps, admin, strangers)
    await bot.poll({ thread_id: thread })
    ;[texts, reads] = [0, 0]
    for (let i = 0; i < 5; i++) {
      expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
      expect((await ann.list()).body.threads).toHaveLength(1)
    }
    expect(reads).toBeGreaterThanOrEqual(10)
    expect(texts).toBe(0)
  })

  it('freezes of another gateway take effect immediately, and end when it lifts them', async () => {
    const [bot, ann] = [await world.agent(), await world.reviewer('ann')]
    const { thread } = await held(bot)
    await freeze(world.app.deps, admin, strangers)
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
    await freeze(elsewhere(world), admin, { tenant: 'acme', agent: 'bot', reason: 'it talks, too' })
    expect((await bot.poll({ thread_id: thread })).body).toMatchObject({ status: 'rejected' })
    expect((await ann.call<{ freezes: unknown[] }>('GET', 'agents')).body.freezes).toHaveLength(2)
    await unfreeze(elsewhere(world), admin, strangers)
    expect((await ann.call<{ freezes: unknown[] }>('GET', 'agents')).body.freezes).toHaveLength(1)
  })
})
