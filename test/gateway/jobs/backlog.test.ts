// @store each, in the soak
import { expect, it } from 'vitest'
import { census } from '../../../src/gateway/jobs/backlog.ts'
import { SYSTEM } from '../../../src/gateway/core/records.ts'
import { INDEX, TENANTS_INDEX } from '../../../src/gateway/core/indexes.ts'
import type { Write } from '../../../src/store/store.ts'
import { eachWorld, world } from '../../agent-world.ts'
import { held, overriding } from '../../gateway-fixture.ts'
import { countTurns } from '../../turns.ts'

const turns = countTurns()

eachWorld({
  // the delivery loop looks at all tenants, too, so it must not run
  webhooks: { everyMs: 2 ** 31 - 1 },
  wrapStore: (store) =>
    overriding(store, {
      get: (...args) => {
        turns.count()
        return store.get(...args)
      },
      range: (...args) => {
        turns.count()
        return store.range(...args)
      },
    }),
})

it('counts waiting threads a few tenants at a time, so that other requests are answered in between', async () => {
  await held(await world.agent())
  const { deps } = world.app
  const writes = Array.from({ length: 1_000 }, (_, i) =>
    [TENANTS_INDEX, INDEX.webhookTenants].map((index): Write => ({
      op: 'index',
      index,
      member: `t${i}`,
      to: 0,
    })),
  ).flat()
  const commit = { commitId: deps.nextCommitId(), deadline: Infinity, guards: [], writes, events: [] }
  expect(await deps.store.commit(SYSTEM, commit)).toMatchObject({ ok: true })
  turns.begin()
  const { pending, groups } = await census(deps)
  expect([pending.get('low')?.count, pending.get('medium')?.count, groups.get('desk')]).toEqual([1, 0, 1])
  // four risks of each tenant, and a read of each tenant where the next loop begins in the same turn
  expect(turns.most()).toBeLessThanOrEqual(2 * 50 * 4)
})
