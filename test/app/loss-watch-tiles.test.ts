import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Confirmed } from '../../src/evidence/confirmed.ts'
import { createLossWatch } from '../../src/gateway/jobs/loss-watch.ts'
import { WIDTH } from '../../src/tiles/layout.ts'
import { HOUR } from '../gateway-fixture.ts'
import { commitOf } from '../store/commit-of.ts'
import { Lab, TENANT } from '../tiles/lab.ts'

/** The watch for losses, once the last record of this gateway is only in tiles. */
let lab: Lab
beforeEach(() => {
  lab = new Lab()
  lab.logInStoreMs = HOUR
})
afterEach(() => lab.dispose())

describe('the watch for losses', () => {
  it('needs no tiles: the report of an idle gateway follows it, and without reports it refuses calls', async () => {
    const { store } = await lab.on()
    const writes = [{ op: 'put', type: 'secret', id: 'log', body: JSON.stringify({ value: 'lab' }) } as const]
    await store.commit('_system', commitOf(store, { writes }))
    const confirmed = new Confirmed(() => lab.now)
    const of = { log: 'lab', instance: 'one', confirmed, onLost: () => undefined }
    const watch = createLossWatch({ store }, of)
    const own = commitOf(store, { events: [JSON.stringify({ at: new Date(lab.now).toISOString() })] })
    const result = await store.commit(TENANT, own)
    confirmed.noted({ tenant: TENANT, commitId: own.commitId, result })
    // another instance writes the next records
    await lab.add(WIDTH)
    await lab.publish()
    lab.now += HOUR
    expect(await lab.remove()).toBe(WIDTH + 1)
    await watch.check()
    expect(watch.lost()).toBeUndefined()
  })

  it('compares the record that it asked for, while another is confirmed', async () => {
    const { store } = await lab.on()
    const writes = [{ op: 'put', type: 'secret', id: 'log', body: JSON.stringify({ value: 'lab' }) } as const]
    await store.commit('_system', commitOf(store, { writes }))
    const confirmed = new Confirmed(() => lab.now)
    const write = async (): Promise<void> => {
      const own = commitOf(store, { events: [JSON.stringify({ at: new Date(lab.now).toISOString() })] })
      const result = await store.commit(TENANT, own)
      confirmed.noted({ tenant: TENANT, commitId: own.commitId, result })
    }
    await write()
    const read = store.events.bind(store)
    const spy = vi.spyOn(store, 'events').mockImplementation(async (...asked) => {
      const found = await read(...asked)
      await write()
      return found
    })
    const watch = createLossWatch(
      { store },
      { log: 'lab', instance: 'one', confirmed, onLost: () => undefined },
    )
    await watch.check()
    expect([watch.lost(), spy.mock.calls.length]).toEqual([undefined, 1])
    spy.mockRestore()
  })
})
