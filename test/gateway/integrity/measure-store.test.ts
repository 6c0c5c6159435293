import { afterAll, describe, expect, it } from 'vitest'
import { census } from '../../../src/gateway/jobs/backlog.ts'
import { measureStore } from '../../../src/gateway/integrity/measure-store.ts'
import { type LiveReader, sizeNow, sizeOf } from '../../../src/gateway/integrity/size.ts'
import { type LiveContent, pagesOf, type StoreArchive } from '../../../src/store/archive.ts'
import type { EmbeddedStore } from '../../../src/store/embedded/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { elsewhere, held, HOUR, MINUTE, openWorld, type World } from '../../gateway-fixture.ts'
import { type Place, Places } from '../../store/places.ts'

/** The daily measurement of the store, which metrics show (docs/data.md). */

const places = new Places()
afterAll(() => places.dispose())

interface Measured {
  readonly world: World
  readonly reader: LiveReader
  readonly archive: Pick<StoreArchive, 'now' | 'partitions' | 'dump'>
  readonly close: () => Promise<void>
}

/** A gateway, and its store read page by page while it works. */
async function open(place: Place): Promise<Measured> {
  let store: unknown
  const world = await openWorld({
    openStore: async (clock) => {
      const opened = await place.open(clock)
      store = opened
      return opened
    },
  })
  const redis = place.kind === 'redis' ? await place.archive(world.clock) : undefined
  const archive = redis ?? (store as EmbeddedStore)
  return {
    world,
    archive,
    reader: liveOf(archive),
    close: async () => {
      await redis?.close()
      await world.close()
    },
  }
}

function liveOf(archive: Measured['archive']): LiveContent {
  const pages =
    'pages' in archive ? () => (archive as unknown as LiveContent).pages() : () => pagesOf(archive)
  return { now: () => archive.now(), pages }
}

describe.each(['embedded', 'redis'] as const)('the measurement of a store: %s', (kind) => {
  it('has what `store size` says, and a day later the growth of each kind', async () => {
    const { world, reader, archive, close } = await open(await places.of(kind))
    const { deps } = world.app
    const bot = await world.agent()
    await held(bot)
    // the first look only sets the time
    await measureStore(deps, reader)
    expect((await census(deps)).sizes).toBeUndefined()
    world.clock.advance(MINUTE)
    await measureStore(deps, reader)
    const first = (await census(deps)).sizes
    const threads = (await sizeOf(archive)).filter((one) => one.kind === 'record thread')
    expect(first?.kinds['record thread']).toEqual({ count: 1, bytes: threads[0]?.bytes })
    expect(first?.kinds['index']?.last_day).toBe(1)
    expect(first?.kinds['evidence']?.growth).toBe(first?.kinds['evidence']?.bytes)
    await held(bot)
    world.clock.advance(48 * HOUR)
    await measureStore(deps, reader)
    const second = (await census(deps)).sizes
    const grown = (second?.kinds['record thread']?.bytes ?? 0) - (threads[0]?.bytes ?? 0)
    expect(second?.kinds['record thread']).toMatchObject({ count: 2, growth: Math.round(grown / 2) })
    await close()
  })
})

describe('a measurement', () => {
  it('takes place once a day, on one instance at a time, and again when that instance has died', async () => {
    const { world, reader, close } = await open(places.embedded())
    const { deps } = world.app
    let reads = 0
    const counting: LiveReader = {
      now: () => reader.now(),
      pages: () => {
        reads += 1
        return reader.pages()
      },
    }
    const dying: LiveReader = { ...counting, rest: () => Promise.reject(new Error('killed')) }
    // a gateway that restarts every minute measures nevertheless
    for (let i = 0; i < 2; i++) {
      await measureStore(i === 0 ? deps : elsewhere(world), counting)
      world.clock.advance(MINUTE / 2)
    }
    expect(reads).toBe(0)
    await expect(measureStore(deps, dying)).rejects.toThrow('killed')
    expect((await census(deps)).sizes).toBeUndefined()
    reads = 0
    await measureStore(elsewhere(world), counting)
    expect(reads).toBe(0)
    world.clock.advance(7 * HOUR)
    await Promise.all([measureStore(deps, counting), measureStore(elsewhere(world), counting)])
    expect(reads).toBe(1)
    world.clock.advance(23 * HOUR)
    await measureStore(deps, counting)
    expect(reads).toBe(1)
    world.clock.advance(2 * HOUR)
    await measureStore(deps, counting)
    expect(reads).toBe(2)
    await close()
  })

  it('rests after each page', async () => {
    const { world, reader, close } = await open(places.embedded())
    const { store } = world.app.deps
    const writes = Array.from({ length: 1_200 }, (_, i) => ({
      op: 'put' as const,
      type: 'a',
      id: `${i}`,
      body: 'b',
    }))
    await store.commit('acme', { commitId: 'c', deadline: Infinity, guards: [], writes, events: ['e'] })
    let rests = 0
    await sizeNow({ ...reader, rest: () => Promise.resolve(void (rests += 1)) })
    expect(rests).toBe(3)
    await close()
  })
})

describe('a store in Redis', () => {
  /** Several tenants, with more keys, members and events than one page. */
  async function fill(store: Store): Promise<void> {
    for (const tenant of ['a', 'b', 'c']) {
      const writes = Array.from({ length: 1_500 }, (_, i) => [
        { op: 'put' as const, type: 't', id: `${i}`, body: 'é'.repeat(i % 50) },
        { op: 'index' as const, index: 'long', member: `m${i}`, to: i },
        { op: 'index' as const, index: `short/${i}`, member: 'm', to: i },
      ]).flat()
      const events = Array.from({ length: 700 }, (_, i) => `{"at":"2026-01-01T00:00:00.000Z","n":${i}}`)
      const disclosures = events.map((_, i) => (i % 3 === 0 ? '{"members":{}}' : undefined))
      await store.commit(tenant, {
        commitId: tenant,
        deadline: Infinity,
        guards: [],
        writes,
        events,
        disclosures,
      })
    }
  }

  it('is measured in one pass over its keys, to the same sizes as `store size` reports', async () => {
    const place = await places.redis()
    const store = await place.open()
    await fill(store)
    const archive = await place.archive()
    const scans = async (): Promise<number> =>
      Number(/cmdstat_scan:calls=(\d+)/.exec(await place.ask('INFO', 'commandstats'))?.[1] ?? 0)
    const before = await scans()
    const sizes = await sizeNow(liveOf(archive))
    const pass = (await scans()) - before
    expect(pass).toBeLessThan(20)
    const order = (all: readonly { kind: string; partition: string }[]) =>
      all.toSorted((a, b) => `${a.partition} ${a.kind}`.localeCompare(`${b.partition} ${b.kind}`))
    expect(order(sizes)).toEqual(order(await sizeOf(archive)))
    await archive.close()
    await store.close()
  })

  it('is not read further once the gateway stops', async () => {
    const place = await places.redis()
    const store = await place.open()
    await fill(store)
    const archive = await place.archive()
    let rests = 0
    const rest = () => (++rests === 3 ? Promise.reject(new Error('stops')) : Promise.resolve())
    await expect(sizeNow({ ...liveOf(archive), rest })).rejects.toThrow('stops')
    expect(rests).toBe(3)
    await archive.close()
    await store.close()
  })
})
