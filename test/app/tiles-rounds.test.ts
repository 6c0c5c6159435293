import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Places } from '../../src/app/places.ts'
import { startTiles, type TilesWriter } from '../../src/app/tiles.ts'
import { publishTiles } from '../../src/gateway/jobs/publish-tiles.ts'
import { WIDTH } from '../../src/tiles/layout.ts'
import { readNote, sizeIn } from '../../src/tiles/log.ts'
import { directoryPlace } from '../../src/tiles/directory/directory-place.ts'
import { type Place, PlaceUnavailable } from '../../src/tiles/place.ts'
import { Lab, TENANT, watched } from '../tiles/lab.ts'
import { until } from '../until.ts'

/** The rounds of the writer of tiles, over several tenants. */
let lab: Lab
let writer: TilesWriter | undefined
/** The reasons for which tiles have stopped. */
let stops: string[]
beforeEach(() => {
  lab = new Lab()
  stops = []
})
afterEach(async () => {
  await writer?.close()
  await lab.dispose()
})

const placeOf = (tenant: string): Place => directoryPlace(join(lab.directory, 'tiles', tenant))

const sizeOf = async (tenant: string): Promise<number> =>
  sizeIn((await readNote(placeOf(tenant)))?.note ?? '')

async function start(of: Places['of'], store = 'data'): Promise<TilesWriter> {
  writer = startTiles(await lab.on(store), lab.places({ of }), {
    identity: lab.identity,
    isBusy: () => false,
    watch: { requireSameStore: () => Promise.resolve() },
    log: { error: (facts: { readonly reason?: string }) => void stops.push(facts.reason ?? '') },
    everyMs: 1,
  })
  return writer
}

describe('a tenant that always has more to publish', () => {
  it('does not keep the tiles of others waiting', async () => {
    for (const tenant of ['busy', 'quiet']) await lab.add(WIDTH, { tenant })
    let isBusy = true
    const started = await start((tenant) =>
      tenant === 'quiet'
        ? placeOf(tenant)
        : watched(placeOf(tenant), {
            after: async (change) => {
              if (change === 'replace' && isBusy) await lab.add(WIDTH, { tenant })
            },
          }),
    )
    started.noted('busy')
    started.noted('quiet')
    await until(async () => (await sizeOf('quiet')) === WIDTH)
    isBusy = false
    // what became due in the last round follows at once
    await until(() => started.readings().lagMs === 0)
    expect(await sizeOf('busy')).toBeGreaterThan(WIDTH)
  })

  it('does not hide the records of others that wait', async () => {
    const oldest = lab.now
    await lab.add(WIDTH, { tenant: 'quiet' })
    lab.now += 1_000_000
    await lab.add(WIDTH, { tenant: 'busy' })
    let wake = (): void => undefined
    const asleep = new Promise<void>((resolve) => {
      wake = resolve
    })
    let isAsleep = false
    const started = await start((tenant) =>
      watched(placeOf(tenant), {
        before: () => {
          isAsleep = true
          return asleep
        },
      }),
    )
    started.noted('busy')
    started.noted('quiet')
    await until(() => isAsleep)
    expect(started.readings().lagMs).toBe(lab.now - oldest)
    wake()
    await until(() => started.readings().lagMs === 0)
  })
})

describe('a store that went back', () => {
  it('is found when another instance had the lease at the start', async () => {
    await lab.add(200)
    await lab.publish()
    await lab.add(100, { to: 'set-back' })
    let free = (): void => undefined
    const held = new Promise<void>((resolve) => {
      free = resolve
    })
    let hasLease = false
    const place = (): Place => {
      hasLease = true
      return failing(held)
    }
    const other = { ...lab.tiles, placeOf: place }
    const dead = publishTiles(await lab.on('set-back'), other, TENANT, new AbortController().signal)
    await until(() => hasLease)
    let looks = 0
    const started = await start((tenant) => {
      looks++
      return placeOf(tenant)
    }, 'set-back')
    started.noted(TENANT)
    await until(() => looks > 3)
    expect(stops).toEqual([])
    free()
    await expect(dead).rejects.toThrow(PlaceUnavailable)
    await until(() => stops.length > 0)
    expect(stops).toEqual(['store_behind'])
    expect(started.readings().stopped).toEqual(new Map([['store_behind', 1]]))
  })
})

/** A place that fails once the promise is fulfilled. */
const failing = (held: Promise<void>): Place => ({
  ...placeOf(TENANT),
  read: async () => {
    await held
    throw new PlaceUnavailable('the cable was cut')
  },
})
