import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Places } from '../../src/app/places.ts'
import { startTiles, type TilesWriter } from '../../src/app/tiles.ts'
import { storeOfWholeLog } from '../../src/app/whole-log.ts'
import { startLog } from '../../src/gateway/admin/start-log.ts'
import { makeCheckpoint } from '../../src/gateway/jobs/checkpoints.ts'
import { WIDTH } from '../../src/tiles/layout.ts'
import { PlaceUnavailable } from '../../src/tiles/place.ts'
import { HOUR } from '../gateway-fixture.ts'
import { Lab, TENANT } from '../tiles/lab.ts'
import { until } from '../until.ts'

/** The writer of tiles over the store of an application, which reads the first records in tiles. */
let lab: Lab
let writer: TilesWriter | undefined
let said: unknown[]
let stops: string[]
beforeEach(() => {
  lab = new Lab()
  lab.logInStoreMs = HOUR
  said = []
  stops = []
})
afterEach(async () => {
  await writer?.close()
  writer = undefined
  await lab.dispose()
})

async function start(of: Places): Promise<TilesWriter> {
  const deps = await lab.on()
  writer = startTiles({ ...deps, store: storeOfWholeLog(deps.store, of) }, of, {
    identity: lab.identity,
    isBusy: () => false,
    watch: { requireSameStore: () => Promise.resolve() },
    log: {
      error: (facts: { readonly reason?: string }) => {
        said.push(facts)
        if (facts.reason !== undefined) stops.push(facts.reason)
      },
    },
    everyMs: 1,
  })
  writer.noted(TENANT)
  return writer
}

describe('tiles whose first records left the store', () => {
  beforeEach(async () => {
    await lab.add(WIDTH + 1)
    await lab.publish()
    lab.now += HOUR
    expect(await lab.remove()).toBe(WIDTH + 1)
  })

  it('stop with an alert when the settings name a place without their files', async () => {
    lab.address = 'elsewhere'
    const started = await start(lab.places())
    await until(() => stops.length > 0)
    expect(started.readings().stopped).toEqual(new Map([['place_behind', 1]]))
  })

  it.each([
    ['stop with an alert when a new log lacks them, too', undefined, 'place_behind'],
    ['say why a new log waits for them', new PlaceUnavailable('the cable was cut'), undefined],
  ])('%s', async (_, failure, stop) => {
    const deps = await lab.on()
    const whole = { ...deps, store: storeOfWholeLog(deps.store, lab.places()) }
    await startLog(whole, { identity: lab.identity, tiles: lab.tiles }, { tenant: TENANT, reason: 'r' })
    await makeCheckpoint(whole, lab.identity, TENANT)
    lab.now += HOUR
    const of = lab.places()
    if (failure === undefined) rmSync(join(lab.directory, lab.address), { recursive: true })
    await start({
      ...of,
      of: (tenant, log) => {
        const place = of.of(tenant, log)
        return log === 2 || tenant !== TENANT || failure === undefined
          ? place
          : { ...place, read: () => Promise.reject(failure) }
      },
    })
    await until(() => said.length > 0, 5_000)
    expect(stops[0]).toBe(stop)
    // the log writes an error with its causes
    const { err } = said[0] as { err: Error }
    expect(`${err.message}: ${String(err.cause)}`).toMatch(/tile.entries|cable/)
  })

  it('are not late for the age of the log when a new log begins', async () => {
    lab.now += 1_000 * HOUR
    const deps = await lab.on()
    const whole = { ...deps, store: storeOfWholeLog(deps.store, lab.places()) }
    await startLog(whole, { identity: lab.identity, tiles: lab.tiles }, { tenant: TENANT, reason: 'r' })
    await makeCheckpoint(whole, lab.identity, TENANT)
    let wake = (): void => undefined
    const asleep = new Promise<void>((resolve) => (wake = resolve))
    let isAsleep = false
    const of = lab.places()
    const slow: Places = {
      ...of,
      of: (tenant, log) => {
        const place = of.of(tenant, log)
        if (log !== 2) return place
        return {
          ...place,
          name: place.name,
          read: (path) => place.read(path),
          list: (folder) => place.list(folder),
          replace: (...a) => place.replace(...a),
          remove: (path) => place.remove(path),
          create: async (...a) => {
            isAsleep = true
            await asleep
            return place.create(...a)
          },
        }
      },
    }
    const started = await start(slow)
    await until(() => isAsleep)
    const { lagMs } = started.readings()
    wake()
    expect(lagMs).toBeLessThan(HOUR)
  })
})
