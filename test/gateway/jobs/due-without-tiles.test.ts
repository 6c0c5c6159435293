import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { storeOfWholeLog } from '../../../src/app/whole-log.ts'
import { runDue } from '../../../src/gateway/jobs/scheduler.ts'
import type { ExplainingSnapshot } from '../../../src/policy/evaluate/explanation.ts'
import { WIDTH } from '../../../src/tiles/layout.ts'
import { HOUR } from '../../gateway-fixture.ts'
import { commitOf } from '../../store/commit-of.ts'
import { Lab } from '../../tiles/lab.ts'

/** The round of the timer, while the place of the tiles does not answer. */
let lab: Lab
beforeEach(() => {
  lab = new Lab()
  lab.logInStoreMs = HOUR
})
afterEach(() => lab.dispose())

describe('the round of the timer', () => {
  it('waits for tiles no longer than for a store', async () => {
    await lab.add(WIDTH + 1)
    await lab.publish()
    lab.now += 2 * HOUR
    expect(await lab.remove()).toBe(WIDTH + 1)
    const deps = await lab.on()
    const index = { op: 'index', index: 'tenants', to: 0 } as const
    const writes = ['acme', 'other'].map((member) => ({ ...index, member }))
    await deps.store.commit('_system', commitOf(deps.store, { writes }))
    let asked = 0
    const places = lab.places({
      of: () => ({
        ...lab.placeAt(),
        // a call to S3 may take a minute until it fails
        read: () => {
          asked++
          return new Promise(() => undefined)
        },
      }),
    })
    const retention = { threads_ms: HOUR, disclosures_ms: HOUR, log_in_store_ms: HOUR }
    const without = {
      ...deps,
      store: storeOfWholeLog(deps.store, places, 50),
      policies: { ...deps.policies, current: () => ({ retention }) as ExplainingSnapshot },
    }
    // the first round only plans the deletion
    await runDue(without)
    await expect(runDue(without)).rejects.toMatchObject({ code: 'tiles_unavailable' })
    expect(asked).toBeGreaterThan(0)
  })
})
