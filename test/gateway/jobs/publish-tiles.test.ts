// @store each
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { signingKeyOf } from '../../../src/domain/checkpoint.ts'
import { put } from '../../../src/gateway/core/records.ts'
import { lookAtTiles } from '../../../src/gateway/jobs/publish-tiles.ts'
import { WIDTH } from '../../../src/tiles/layout.ts'
import { readEdge, readNote, readRecords, sizeIn } from '../../../src/tiles/log.ts'
import { isPacked, PlaceUnavailable } from '../../../src/tiles/place.ts'
import { MINUTE } from '../../gateway-fixture.ts'
import { commitOf } from '../../store/commit-of.ts'
import { Lab, TENANT, watched } from '../../tiles/lab.ts'

let lab: Lab
beforeEach(() => {
  lab = new Lab()
})
afterEach(() => lab.dispose())

const sizeOfPlace = async (): Promise<number> => sizeIn((await readNote(lab.placeAt()))?.note ?? '')

/** The records in the bundles of the place, which must equal those of the store. */
async function expectPublished(size: number): Promise<void> {
  const { store } = await lab.on()
  const note = (await readNote(lab.placeAt()))?.note ?? ''
  const [, , root = ''] = note.split('\n')
  expect(sizeIn(note)).toBe(size)
  await readEdge(lab.placeAt(), { size, root: Buffer.from(root, 'base64').toString('hex') })
  for (let index = 0; index * WIDTH < size; index++) {
    const width = Math.min(WIDTH, size - index * WIDTH)
    const records = await readRecords(lab.placeAt(), { index, width })
    const stored = await store.events(TENANT, index * WIDTH, width)
    expect(records.map(String)).toEqual(stored.map(({ body }) => body))
  }
}

const replaceFile = (path: string, bytes: Buffer): void => {
  rmSync(path)
  writeFileSync(path, bytes)
}

/** Flips a bit in the middle of a file of the place. */
function flip(name: string): void {
  const path = join(lab.directory, 'tiles', TENANT, isPacked(name) ? `${name}.gz` : name)
  const bytes = readFileSync(path)
  const at = bytes.length >> 1
  bytes[at] = (bytes[at] ?? 0) ^ 1
  replaceFile(path, bytes)
}

const stopped = (): Promise<unknown> =>
  lab.publish().then(
    () => 'published',
    (error: { stop?: string }) => error.stop ?? error,
  )

describe('the tiles of a tenant', () => {
  it('are published when a bundle is full, or when a record has waited for a minute', async () => {
    const look = async () => {
      const { isDue, published, since } = await lookAtTiles(await lab.on(), lab.tiles, TENANT)
      return { isDue, published, waits: since === undefined ? undefined : lab.now - since }
    }
    expect(await look()).toEqual({ isDue: false, published: 0, waits: undefined })
    await lab.add(WIDTH - 1)
    expect(await look()).toMatchObject({ isDue: false, published: 0 })
    await lab.add(1)
    expect(await look()).toMatchObject({ isDue: true })
    await lab.publish()
    expect(await look()).toEqual({ isDue: false, published: WIDTH, waits: undefined })
    await lab.add(1)
    const start = lab.now
    lab.now += MINUTE - 2
    expect(await look()).toMatchObject({ isDue: false, published: WIDTH, waits: MINUTE - 1 })
    lab.now = start + MINUTE
    expect(await look()).toMatchObject({ isDue: true })
    await lab.publish()
    expect(await look()).toEqual({ isDue: false, published: WIDTH + 1, waits: undefined })
    await expectPublished(WIDTH + 1)
  })

  it('have every record, whatever the steps in which the log grew', async () => {
    let size = 0
    for (const count of [1, 254, 1, 1, 43, 212, 700]) {
      await lab.add(count)
      size += count
      await lab.publish()
      await expectPublished(size)
    }
    // a partial file stays until its full one is published
    expect(await lab.placeAt().list('tile/0')).toEqual([
      'tile/0/000',
      'tile/0/001',
      'tile/0/002',
      'tile/0/003',
      'tile/0/004.p/188',
    ])
    expect(await lab.placeAt().list('tile/entries')).toHaveLength(5)
    expect(await lab.placeAt().list('tile/1')).toHaveLength(3)
  })

  it('continue in steps when a long log begins', async () => {
    await lab.add(30_000)
    lab.now += 60 * MINUTE
    await lab.add(60_000)
    await lab.publish()
    await lab.publish()
    await expectPublished(90_000)
  })

  it('of one record with 60,000 bytes are published, and a longer record stops only them', async () => {
    const around = JSON.stringify({ at: new Date(lab.now).toISOString(), n: 1, text: '' }).length
    await lab.add(1, { text: 'x'.repeat(60_000 - around) })
    await lab.publish()
    await lab.add(1, { text: 'é'.repeat(30_000) })
    expect(await stopped()).toBe('long_record')
    await expectPublished(1)
    await lab.add(1)
    expect(await stopped()).toBe('long_record')
  })

  it('have one writer at a time; another one continues when its lease ends', async () => {
    await lab.add(300)
    let wake = (): void => undefined
    const asleep = new Promise<void>((resolve) => {
      wake = resolve
    })
    let reached = (): void => undefined
    const paused = new Promise<void>((resolve) => {
      reached = resolve
    })
    lab.wrap = (place) =>
      watched(place, {
        before: async (change) => {
          if (change !== 'replace') return
          reached()
          await asleep
        },
      })
    const slow = lab.publish()
    await paused
    lab.wrap = (place) => place
    await lab.publish()
    expect(await lab.placeAt().read('checkpoint')).toBeUndefined()
    lab.now += 6 * MINUTE
    await lab.add(300)
    await lab.publish()
    await expectPublished(600)
    wake()
    await expect(slow).rejects.toThrow(/another writer/)
    await expectPublished(600)
    expect(await lookAtTiles(await lab.on(), lab.tiles, TENANT)).toMatchObject({ published: 600 })
  })

  it('keep their lease while a slow place takes longer than it', async () => {
    await lab.add(1_500)
    lab.wrap = (place) => watched(place, { after: () => void (lab.now += 2 * MINUTE) })
    await lab.publish()
    await expectPublished(1_500)
  })

  it('are published in spite of a lease that was taken while the clock was ahead', async () => {
    await lab.add(300)
    const { store } = await lab.on()
    const hold = async (until: number): Promise<void> => {
      const head = { place: lab.address, size: 0, before: 0, lease: { by: 'another', until } }
      const commitId = `hold-${until}`
      await store.commit(TENANT, commitOf(store, { commitId, writes: [put('tiles', 'head', head)] }))
    }
    await hold(store.now() + 5 * MINUTE)
    await lab.publish()
    expect(await lab.placeAt().read('checkpoint')).toBeUndefined()
    await hold(store.now() + 600 * MINUTE)
    await lab.publish()
    await expectPublished(300)
  })

  it('continue in a place that the store does not know, without a look at all of it', async () => {
    await lab.add(20 * WIDTH + 10)
    await lab.publish()
    lab.address = './tiles'
    const listed: string[] = []
    lab.wrap = (place) => ({
      ...watched(place, {}),
      list: (folder) => (listed.push(folder), place.list(folder)),
    })
    for (let i = 0; i < 3; i++) {
      await lab.add(WIDTH)
      await lab.publish()
      await lab.publish()
    }
    await expectPublished(23 * WIDTH + 10)
    expect(await lab.placeAt().list('tile/0/020.p')).toEqual([])
    expect(new Set(listed).size).toBeLessThan(10)
  })

  it('end with the gateway, and the next one continues at once', async () => {
    await lab.add(300)
    await expect(lab.publish('data', AbortSignal.abort())).rejects.toThrow(/this gateway ends/)
    await lab.publish()
    await expectPublished(300)
  })
})

describe('a long publication', () => {
  it('ends with the gateway while it reads the store', async () => {
    await lab.add(2_000)
    const { store } = await lab.on()
    const stop = new AbortController()
    const read = vi.spyOn(store, 'events').mockImplementationOnce((...args) => {
      stop.abort()
      return store.events(...args)
    })
    await expect(lab.publish('data', stop.signal)).rejects.toThrow(/this gateway ends/)
    expect(read.mock.calls.map(([, after]) => after)).toEqual([0, 0])
    read.mockRestore()
    await lab.publish()
    await expectPublished(2_000)
  })
})

describe('a place that fails', () => {
  it.each(['before', 'after'] as const)(
    'at any change (%s it happens): the next publication completes the same files',
    async (when) => {
      await lab.add(200)
      await lab.publish()
      await lab.add(400)
      let changes = 0
      let failAt = 0
      lab.wrap = (place) =>
        watched(place, {
          [when]: () => {
            if (++changes === failAt) throw new PlaceUnavailable('the cable was cut')
          },
        })
      for (failAt = 1; changes >= failAt - 1; failAt++) {
        changes = 0
        // nothing before the checkpoint may change what readers see
        const failed = await lab.publish().then(
          () => false,
          () => true,
        )
        if (!failed) break
        expect([200, 600]).toContain(await sizeOfPlace())
      }
      await expectPublished(600)
      expect(await lookAtTiles(await lab.on(), lab.tiles, TENANT)).toMatchObject({ published: 600 })
    },
  )
})

describe('tiles stop, and nothing is written,', () => {
  const files = async (): Promise<string[]> => [
    ...(await lab.placeAt().list('tile')),
    (await readNote(lab.placeAt()))?.note ?? '',
  ]

  it.each([
    ['store_behind', 500],
    ['forked', 600],
    ['forked', 900],
  ])('when the store went back after publication (%s, with %i records)', async (stop, count) => {
    await lab.add(600)
    await lab.publish()
    const before = await files()
    await lab.add(count, { to: 'set-back', text: 'other' })
    const found = await lab.publish('set-back').catch((error: { stop: string }) => error.stop)
    expect(found).toBe(stop)
    expect(await files()).toEqual(before)
    await lab.add(300)
    await lab.publish()
    await expectPublished(900)
  })

  it('when the store was emptied', async () => {
    await lab.add(600)
    await lab.publish()
    const found = await lab.publish('empty').catch((error: { stop: string }) => error.stop)
    expect(found).toBe('store_behind')
  })

  it('when the place lost its files; another address begins anew', async () => {
    await lab.add(300)
    await lab.publish()
    rmSync(join(lab.directory, 'tiles'), { recursive: true })
    await lab.add(1)
    expect(await stopped()).toBe('place_behind')
    expect(await files()).toEqual([''])
    lab.address = 'elsewhere'
    await lab.publish()
    await expectPublished(301)
  })

  it.each(['tile/0/001.p/44', 'tile/1/000.p/1', 'tile/entries/001.p/44.gz'])(
    'when a file is missing: %s',
    async (path) => {
      await lab.add(300)
      await lab.publish()
      rmSync(join(lab.directory, 'tiles', TENANT, path))
      await lab.add(1)
      expect(await stopped()).toBe('damaged')
    },
  )

  it('when a bit of a file flips as it is written, or after a writer was killed before the checkpoint', async () => {
    await lab.add(300)
    await lab.publish()
    const written = ['tile/0/001.p/44', 'tile/1/000.p/1', 'tile/entries/001.p/44']
    await lab.add(300)
    let broken: string | undefined
    lab.wrap = (place) =>
      watched(place, {
        before: (change) => {
          if (change === 'replace') throw new PlaceUnavailable('the writer was killed')
        },
        after: (change, path) => {
          if (change !== 'create' || written.includes(path)) return
          written.push(path)
          flip((broken = path))
        },
      })
    for (;;) {
      broken = undefined
      const stop = await stopped()
      if (broken === undefined) break
      expect([stop, await sizeOfPlace()], broken).toEqual(['damaged', 300])
      flip(broken)
    }
    expect(written).toHaveLength(3 + 5)
    lab.wrap = (place) => place
    for (const path of written) {
      flip(path)
      expect([await stopped(), await sizeOfPlace()], path).toEqual(['damaged', 300])
      flip(path)
    }
    await lab.publish()
    await expectPublished(600)
  })

  it('when the place has other records than its hashes, or the store gives others at a second read', async () => {
    await lab.add(44)
    await lab.publish()
    const path = join(lab.directory, 'tiles', TENANT, 'tile/entries/000.p/44.gz')
    const own = readFileSync(path)
    const others = gunzipSync(own).toString().replaceAll('"text":""', '"text" :1')
    replaceFile(path, gzipSync(others))
    await lab.add(1)
    expect([await stopped(), await sizeOfPlace()]).toEqual(['damaged', 44])
    replaceFile(path, own)
    // more than a publication keeps in memory
    await lab.add(299, { text: 'x'.repeat(16_000) })
    const { store } = await lab.on()
    const read = store.events.bind(store)
    let times = 0
    const spy = vi.spyOn(store, 'events').mockImplementation(async (tenant, after, count) => {
      const events = await read(tenant, after, count)
      times += after === 44 ? 1 : 0
      const isOther = (number: number): boolean => times === 2 && number > WIDTH
      return events.map((one) =>
        isOther(one.number) ? { ...one, body: one.body.replace('"n":', '"n" :') } : one,
      )
    })
    expect([await stopped(), await sizeOfPlace(), times]).toEqual(['damaged', 44, 2])
    spy.mockRestore()
    await lab.publish()
    await expectPublished(344)
  })

  it('when another key signed the checkpoint; a new key of this log continues', async () => {
    await lab.add(300)
    await lab.publish()
    lab.identity = { name: 'lab', key: signingKeyOf(Buffer.alloc(32, 2)) }
    await lab.add(1)
    await lab.publish()
    await expectPublished(301)
    await lab.add(1, { to: 'another' })
    lab.identity = { name: 'other', key: lab.identity.key }
    const found = await lab.publish('another').catch((error: { stop: string }) => error.stop)
    expect(found).toBe('damaged')
  })
})
