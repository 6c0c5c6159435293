// @store each
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { verifierKey } from '../../../src/domain/checkpoint.ts'
import { startLog } from '../../../src/gateway/admin/start-log.ts'
import { makeCheckpoint, originOf } from '../../../src/gateway/jobs/checkpoints.ts'
import { storeOfWholeLog } from '../../../src/app/whole-log.ts'
import type { Deps } from '../../../src/gateway/core/deps.ts'
import { WIDTH } from '../../../src/tiles/layout.ts'
import { openNote, readEdge, readNote, readRecords } from '../../../src/tiles/log.ts'
import { PlaceUnavailable } from '../../../src/tiles/place.ts'
import { HOUR } from '../../gateway-fixture.ts'
import { IDENTITY, Lab, TENANT } from '../../tiles/lab.ts'

let lab: Lab
beforeEach(() => {
  lab = new Lab()
  lab.logInStoreMs = HOUR
})
afterEach(() => lab.dispose())

/** A gateway whose store reads the tiles too. */
async function gateway(on = 'data'): Promise<Deps> {
  const deps = await lab.on(on)
  return Object.assign(deps, { store: storeOfWholeLog(deps.store, lab.places()) })
}

const start = async (on: string): Promise<Awaited<ReturnType<typeof startLog>>> =>
  startLog(
    await gateway(on),
    { identity: IDENTITY, tiles: lab.tiles },
    { tenant: TENANT, reason: 'an older backup was restored' },
  )

/** Signs what is new, and publishes it. */
async function publish(on: string): Promise<void> {
  await makeCheckpoint(await gateway(on), IDENTITY, TENANT)
  await lab.publish(on)
}

/** The records in a place, whose checkpoint and tiles must be those of this log. */
async function recordsIn(log: number): Promise<string[]> {
  const place = lab.placeAt(log)
  const key = verifierKey(originOf(IDENTITY, TENANT, log), IDENTITY.key.public)
  const checkpoint = openNote(place, (await readNote(place))?.note ?? '', key)
  await readEdge(place, checkpoint)
  const records: string[] = []
  for (let index = 0; index * WIDTH < checkpoint.size; index++) {
    const part = { index, width: Math.min(WIDTH, checkpoint.size - index * WIDTH) }
    records.push(...(await readRecords(place, part)).map(String))
  }
  return records
}

const stored = async (on: string): Promise<string[]> =>
  (await (await gateway(on)).store.events(TENANT, 0, 9_999)).map(({ body }) => body)

describe('a new log', () => {
  it('continues after a fork, has all records of the store, and names the last note of the other', async () => {
    await lab.add(300)
    await lab.publish()
    const before = (await readNote(lab.placeAt()))?.note ?? ''
    await lab.add(500, { to: 'set-back' })
    await expect(lab.publish('set-back')).rejects.toMatchObject({ stop: 'forked' })
    const started = await start('set-back')
    expect(started).toMatchObject({
      log: 2,
      origin: 'countersign/lab/acme/2',
      previous: before,
      previous_verifier_key: verifierKey('countersign/lab/acme', IDENTITY.key.public),
    })
    await publish('set-back')
    const records = await recordsIn(2)
    expect(records).toEqual(await stored('set-back'))
    expect(JSON.parse(records.at(-1) ?? '')).toMatchObject({
      type: 'log.started',
      details: { log: 2, origin: started.origin, previous: before },
    })
    expect((await readNote(lab.placeAt()))?.note).toBe(before)
    await lab.add(WIDTH, { to: 'set-back' })
    await publish('set-back')
    expect(await recordsIn(2)).toHaveLength(501 + WIDTH)
  })

  it('takes from the tiles of the other what the store has no longer', async () => {
    await lab.add(2 * WIDTH + 10)
    await lab.publish()
    lab.now += HOUR
    expect(await lab.remove()).toBe(2 * WIDTH + 1)
    // the end of the log is lost
    await lab.placeAt().remove('checkpoint')
    await expect(lab.publish()).rejects.toMatchObject({ stop: 'place_behind' })
    const { previous } = await start('data')
    expect(previous).toContain(`\n${2 * WIDTH + 10}\n`)
    await publish('data')
    expect(await recordsIn(2)).toEqual(await stored('data'))
    await lab.add(WIDTH)
    await publish('data')
    lab.now += HOUR
    expect(await lab.remove()).toBe(3 * WIDTH + 1)
    expect(await stored('data')).toHaveLength(3 * WIDTH + 11)
    expect((await start('data')).log).toBe(3)
    await publish('data')
    expect(await recordsIn(3)).toEqual(await stored('data'))
  })

  it('is not published under the name of the other, nor the other under its name', async () => {
    await lab.add(300)
    const deps = await gateway()
    await start('data')
    // nothing is signed for it yet
    await lab.publish()
    await expect(recordsIn(2)).rejects.toThrow('not signed')
    let isStarted = false
    lab.wrap = (place) => ({
      ...place,
      name: place.name,
      read: async (path) => {
        if (!isStarted) {
          isStarted = true
          await start('data')
          await makeCheckpoint(deps, IDENTITY, TENANT)
        }
        return place.read(path)
      },
      list: (folder) => place.list(folder),
      create: (path, bytes) => place.create(path, bytes),
      replace: (path, bytes, version) => place.replace(path, bytes, version),
      remove: (path) => place.remove(path),
    })
    await makeCheckpoint(deps, IDENTITY, TENANT)
    await lab.publish()
    lab.wrap = (place) => place
    expect(await recordsIn(2)).toHaveLength(301)
    await lab.publish()
    expect(await recordsIn(3)).toHaveLength(302)
  })

  it('is refused before the first checkpoint, and while the place does not answer', async () => {
    const deps = await lab.on()
    const tiles = lab.tiles
    const ask = { tenant: TENANT, reason: 'r' }
    await expect(startLog(deps, { identity: IDENTITY, tiles }, ask)).rejects.toMatchObject({
      code: 'not_found',
    })
    await lab.add(1)
    const away = {
      ...tiles,
      placeOf: () => ({
        ...lab.placeAt(),
        read: () => Promise.reject(new PlaceUnavailable('the cable was cut')),
      }),
    }
    await expect(startLog(deps, { identity: IDENTITY, tiles: away }, ask)).rejects.toMatchObject({
      code: 'tiles_unavailable',
    })
    expect((await startLog(deps, { identity: IDENTITY, tiles: undefined }, ask)).log).toBe(2)
  })
})

describe('a new log of a store that forgot one', () => {
  it('has another number than any log in the place, whose origin and key were given to auditors', async () => {
    await lab.add(300)
    await lab.publish()
    await lab.add(400, { to: 'forgotten' })
    await start('forgotten')
    await publish('forgotten')
    const before = await recordsIn(2)
    // a backup from before that is restored
    await lab.add(500, { to: 'restored' })
    expect((await start('restored')).log).toBe(3)
    await publish('restored')
    expect(await recordsIn(3)).toEqual(await stored('restored'))
    expect(await recordsIn(2)).toEqual(before)
  })
})

describe('readers, once there is a further log', () => {
  it('read the last one, also when the log before it was never published', async () => {
    await lab.add(2 * WIDTH)
    await lab.publish()
    await lab.add(WIDTH + 300, { to: 'set-back' })
    await start('set-back')
    await start('set-back')
    await publish('set-back')
    const before = await stored('set-back')
    lab.now += HOUR
    expect(await lab.remove('set-back')).toBeGreaterThan(WIDTH)
    expect(await stored('set-back')).toEqual(before)
  })

  it.each(['is missing', 'is garbage'])(
    'get no record of a forked log when a bundle of the new one %s',
    async (what) => {
      await lab.add(2 * WIDTH)
      await lab.publish()
      await lab.add(WIDTH + 300, { to: 'set-back' })
      await start('set-back')
      await publish('set-back')
      lab.now += HOUR
      expect(await lab.remove('set-back')).toBeGreaterThan(WIDTH)
      await lab.placeAt(2).remove('tile/entries/000')
      if (what === 'is garbage') await lab.placeAt(2).create('tile/entries/000', Buffer.from('garbage'))
      await expect(stored('set-back')).rejects.toThrow(
        /^the tiles of \S+ cannot be read \(records 1 to \d+, /,
      )
    },
  )
})
