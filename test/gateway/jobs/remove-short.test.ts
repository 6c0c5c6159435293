import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTiles, type TilesWriter } from '../../../src/app/tiles.ts'
import { WIDTH } from '../../../src/tiles/layout.ts'
import { HOUR, overriding } from '../../gateway-fixture.ts'
import { Lab, TENANT } from '../../tiles/lab.ts'
import { until } from '../../until.ts'

/** Records leave a store that is short of room. */
let lab: Lab
let writer: TilesWriter | undefined
beforeEach(() => {
  lab = new Lab()
  lab.logInStoreMs = HOUR
})
afterEach(async () => {
  await writer?.close()
  await lab.dispose()
})

describe('a store that is short of room', () => {
  it('still loses its old records, which makes room, but not while calls wait', async () => {
    await lab.add(2 * WIDTH + 1)
    await lab.publish()
    lab.now += HOUR
    const deps = await lab.on()
    await deps.store.commit('_system', {
      commitId: 'i',
      deadline: Infinity,
      guards: [],
      writes: [{ op: 'index', index: 'tenants', member: TENANT, to: 0 }],
      events: [],
    })
    let [asked, calls] = [0, 1]
    const store = overriding(deps.store, { shortOfRoom: () => 'the disk is almost full' })
    writer = startTiles({ ...deps, store }, lab.places({ onStoreDisk: true }), {
      identity: lab.identity,
      isBusy: () => {
        asked++
        return calls > 0
      },
      watch: { requireSameStore: () => Promise.resolve() },
      log: { error: () => undefined },
      everyMs: 1,
    })
    await until(() => asked > 3)
    expect(await store.firstEvent(TENANT)).toBe(WIDTH + 1)
    calls = 0
    await until(async () => (await store.firstEvent(TENANT)) === 2 * WIDTH + 1, 5_000)
  })
})
