import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { storeOfWholeLog } from '../../../src/app/whole-log.ts'
import { filesAfter } from '../../../src/gateway/core/record-files.ts'
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
  it('expires disclosures by the entries of record files, and waits for no tile', async () => {
    await lab.add(WIDTH)
    lab.now += HOUR / 2
    const later = lab.now
    await lab.add(WIDTH + 1)
    await lab.publish()
    lab.now += 2 * HOUR
    expect(await lab.remove()).toBe(2 * WIDTH + 1)
    const deps = await lab.on()
    const files = await filesAfter(deps.store, 'acme', 0)
    expect(files.map(({ last }) => last)).toEqual([WIDTH, 2 * WIDTH])
    expect(JSON.stringify(files[0]).length).toBeLessThan(120)
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
    const retention = {
      threads_ms: HOUR,
      tasks_ms: HOUR,
      disclosures_ms: lab.now - later + HOUR / 4,
      log_in_store_ms: HOUR,
    }
    const without = {
      ...deps,
      store: storeOfWholeLog(deps.store, places, 50),
      policies: { ...deps.policies, current: () => ({ retention }) as ExplainingSnapshot },
    }
    const expired = async () =>
      JSON.parse((await deps.store.get('acme', 'disclosed', 'all'))?.body ?? '{}') as object
    for (let i = 0; i < 4; i++) {
      await runDue(without)
      lab.now += 100
    }
    // of the second file, only the tile knows the records that are older
    expect(await expired()).toEqual({ up_to: WIDTH, done: WIDTH })
    expect(asked).toBeGreaterThan(0)
    asked = 0
    lab.now += 25 * HOUR
    for (let i = 0; i < 5; i++) {
      await runDue(without)
      lab.now += 100
    }
    expect(await expired()).toMatchObject({ up_to: expect.any(Number) as number })
    expect(((await expired()) as { up_to: number }).up_to).toBeGreaterThan(2 * WIDTH)
    expect(asked).toBe(0)
  })
})
