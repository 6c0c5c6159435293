// @store each, in the soak
import { expect, it } from 'vitest'
import { SYSTEM } from '../../../src/gateway/core/records.ts'
import { INDEX, TENANTS_INDEX } from '../../../src/gateway/core/indexes.ts'
import { listTenants, webhookTenants } from '../../../src/gateway/core/tenants.ts'
import { openWorld } from '../../gateway-fixture.ts'

it('lists every tenant, however many there are, because a missing one would never expire anything', async () => {
  const world = await openWorld()
  try {
    const { deps } = world.app
    const names = Array.from({ length: 10_001 }, (_, i) => `tenant-${String(i).padStart(5, '0')}`)
    for (const index of [TENANTS_INDEX, INDEX.webhookTenants])
      for (const some of [names.slice(0, 6_000), names.slice(6_000)]) {
        const writes = some.map((member) => ({ op: 'index', index, member, to: 0 }) as const)
        const commit = { guards: [], events: [], deadline: Infinity, commitId: deps.nextCommitId() }
        expect(await deps.store.commit(SYSTEM, { ...commit, writes })).toMatchObject({ ok: true })
      }
    expect(await listTenants(deps)).toEqual(names)
    expect(await webhookTenants(deps)).toEqual(names)
  } finally {
    await world.close()
  }
})
