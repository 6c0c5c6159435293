import { afterAll, describe, expect, it } from 'vitest'
import { census } from '../../../src/gateway/jobs/backlog.ts'
import { measureStore } from '../../../src/gateway/integrity/measure-store.ts'
import { type SizeReader, sizeOf } from '../../../src/gateway/integrity/size.ts'
import type { EmbeddedStore } from '../../../src/store/embedded/store.ts'
import { elsewhere, held, HOUR, openWorld, type World } from '../../gateway-fixture.ts'
import { type Place, Places } from '../../store/places.ts'

/** The daily measurement of the store, which metrics show (docs/data.md). */

const places = new Places()
afterAll(() => places.dispose())

interface Measured {
  readonly world: World
  readonly reader: SizeReader
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
  const archive = place.kind === 'redis' ? await place.archive(world.clock) : undefined
  return {
    world,
    reader: archive ?? (store as EmbeddedStore),
    close: async () => {
      await archive?.close()
      await world.close()
    },
  }
}

describe.each(['embedded', 'redis'] as const)('the measurement of a store: %s', (kind) => {
  it('has what `store size` says, and a day later the growth of each kind', async () => {
    const { world, reader, close } = await open(kind === 'redis' ? await places.redis() : places.embedded())
    const { deps } = world.app
    const bot = await world.agent()
    await held(bot)
    expect((await census(deps)).sizes).toBeUndefined()
    await measureStore(deps, reader)
    const first = (await census(deps)).sizes
    const threads = (await sizeOf(reader)).filter((one) => one.kind === 'record thread')
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
    const counting: SizeReader = {
      now: () => reader.now(),
      partitions: () => {
        reads += 1
        return reader.partitions()
      },
      dump: (partition) => reader.dump(partition),
    }
    const dying: SizeReader = { ...counting, partitions: () => Promise.reject(new Error('killed')) }
    await expect(measureStore(deps, dying)).rejects.toThrow('killed')
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

  it('rests between steps', async () => {
    const { world, reader, close } = await open(places.embedded())
    const { store } = world.app.deps
    const writes = Array.from({ length: 1_200 }, (_, i) => ({
      op: 'put' as const,
      type: 'a',
      id: `${i}`,
      body: 'b',
    }))
    await store.commit('acme', { commitId: 'c', deadline: Infinity, guards: [], writes, events: [] })
    let rests = 0
    await sizeOf({
      now: () => reader.now(),
      partitions: () => Promise.resolve(['acme']),
      dump: (partition) => reader.dump(partition),
      rest: () => Promise.resolve(void (rests += 1)),
    })
    expect(rests).toBe(2)
    await close()
  })
})
