// @store each
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { storeOfWholeLog } from '../../../src/app/whole-log.ts'
import { transact } from '../../../src/gateway/core/transact.ts'
import { thinCheckpoints } from '../../../src/gateway/jobs/checkpoints.ts'
import { forgetTask } from '../../../src/gateway/jobs/forget-tasks.ts'
import { encodeBundle } from '../../../src/tiles/bundle.ts'
import { WIDTH } from '../../../src/tiles/layout.ts'
import { readNote, sizeIn } from '../../../src/tiles/log.ts'
import { HOUR, overriding } from '../../gateway-fixture.ts'
import { commitOf } from '../../store/commit-of.ts'
import { Lab, TENANT } from '../../tiles/lab.ts'

let lab: Lab
beforeEach(() => {
  lab = new Lab()
  lab.logInStoreMs = HOUR
})
afterEach(() => lab.dispose())

/** The bodies of all records, as readers see them. */
async function wholeLog(pageOf = 100): Promise<string[]> {
  const store = storeOfWholeLog((await lab.on()).store, lab.places())
  const bodies: string[] = []
  for (;;) {
    const page = await store.events(TENANT, bodies.length, pageOf)
    expect(page.map(({ number }) => number)).toEqual(page.map((_, i) => bodies.length + i + 1))
    if (page.length === 0) return bodies
    bodies.push(...page.map(({ body }) => body))
  }
}

const failing = (): Promise<unknown> =>
  lab.remove().then(
    (first) => first,
    (error: { stop?: string }) => error.stop ?? error,
  )

describe('records of evidence', () => {
  it('leave the store in whole bundles when they are published and old enough', async () => {
    await lab.add(2 * WIDTH + 10)
    const all = await wholeLog()
    lab.now += HOUR
    expect(await lab.remove()).toBe(1)
    await lab.publish()
    expect(await lab.remove()).toBe(2 * WIDTH + 1)
    const { store } = await lab.on()
    expect(await store.events(TENANT, 0, 999)).toHaveLength(10)
    for (const pageOf of [1, 50, 256, 9_999]) expect(await wholeLog(pageOf)).toEqual(all)
  })

  it('stay while they are young, or while the policies name no retention', async () => {
    await lab.add(WIDTH)
    lab.now += HOUR / 2
    await lab.add(WIDTH + 1)
    await lab.publish()
    expect(await lab.remove()).toBe(1)
    lab.now += HOUR / 2
    expect(await lab.remove()).toBe(WIDTH + 1)
    lab.now += HOUR
    lab.logInStoreMs = undefined
    expect(await lab.remove()).toBe(WIDTH + 1)
    lab.logInStoreMs = HOUR
    expect(await lab.remove()).toBe(2 * WIDTH + 1)
  })

  it('stay if they are the last: the next checkpoint and the next tiles continue after them', async () => {
    await lab.add(2 * WIDTH)
    await lab.publish()
    lab.now += HOUR
    expect(await lab.remove()).toBe(WIDTH + 1)
    await lab.add(1)
    await lab.publish()
    lab.now += HOUR
    expect(await lab.remove()).toBe(2 * WIDTH + 1)
    await lab.add(700)
    await lab.publish()
    expect(sizeIn((await readNote(lab.placeAt()))?.note ?? '')).toBe(2 * WIDTH + 701)
    lab.now += HOUR
    expect(await lab.remove()).toBe(4 * WIDTH + 1)
    expect(await wholeLog()).toHaveLength(2 * WIDTH + 701)
  })

  it('end the history of their tasks, except of one that was used meanwhile', async () => {
    const deps = await lab.on()
    const { store } = deps
    const at = lab.now
    const events = ['t1', 't2'].map((task_id) =>
      JSON.stringify({ actor: { kind: 'agent', id: 'bot' }, at: new Date(at).toISOString(), task_id }),
    )
    const used = (task: string, to: number) =>
      ({ op: 'index', index: `history/task/bot/${task}`, member: 't pay', to }) as const
    const writes = [used('t1', at), used('t2', at), { op: 'mark', index: 'rejected/bot/t1' } as const]
    await store.commit(TENANT, commitOf(store, { events, writes }))
    await lab.add(WIDTH)
    await lab.publish()
    lab.now += HOUR
    expect(await lab.remove()).toBe(WIDTH + 1)
    const planned = await store.range(TENANT, 'purge', { limit: 9 })
    expect(planned.map(({ member }) => member)).toEqual(['task bot/t1', 'task bot/t2'])
    const left = async () =>
      Promise.all(
        ['history/task/bot/t1', 'rejected/bot/t1', 'history/task/bot/t2', 'purge'].map((index) =>
          store.count(TENANT, index),
        ),
      )
    const forget = async () => {
      for (const id of ['bot/t1', 'bot/t2']) await transact(deps, TENANT, () => forgetTask(deps, TENANT, id))
    }
    lab.now = planned[0]?.score ?? 0
    lab.now -= HOUR
    await forget()
    expect(await left()).toEqual([1, 1, 1, 2])
    lab.now += HOUR
    // a call between the decision and the commit
    await transact(deps, TENANT, async () => {
      const plan = await forgetTask(deps, TENANT, 'bot/t2')
      await store.commit(TENANT, commitOf(store, { writes: [used('t2', lab.now)] }))
      return plan
    })
    await forget()
    expect(await left()).toEqual([0, 0, 1, 1])
    lab.now = (await store.range(TENANT, 'purge', { limit: 1 }))[0]?.score ?? 0
    await forget()
    expect(await left()).toEqual([0, 0, 0, 0])
  })

  it('leave one checkpoint a day after 30 days', async () => {
    const deps = await lab.on()
    for (let i = 0; i < 12; i++) {
      await lab.add(1)
      lab.now += 6 * HOUR
    }
    const thin = async (): Promise<number> => {
      await transact(deps, TENANT, async () => ({
        answer: undefined,
        writes: await thinCheckpoints(deps, TENANT),
      }))
      return deps.store.count(TENANT, 'checkpoints')
    }
    expect(await thin()).toBe(12)
    lab.now += 30 * 24 * HOUR
    const newest = await deps.store.range(TENANT, 'checkpoints', { reverse: true, limit: 1 })
    expect(await thin()).toBe(4)
    expect(await deps.store.range(TENANT, 'checkpoints', { reverse: true, limit: 1 })).toEqual(newest)
    expect(await thin()).toBe(4)
  })

  it('keep their disclosures', async () => {
    const { store } = await lab.on()
    const at = new Date(lab.now).toISOString()
    const first = commitOf(store, { events: [JSON.stringify({ at })], disclosures: ['{"of":"the first"}'] })
    await store.commit(TENANT, first)
    await lab.add(WIDTH)
    await lab.publish()
    lab.now += HOUR
    expect(await lab.remove()).toBe(WIDTH + 1)
    expect(await store.disclosures(TENANT, 0, 9)).toEqual([{ number: 1, text: '{"of":"the first"}' }])
  })

  it.each([
    ['is gone', undefined],
    ['has other records', gzipSync(encodeBundle(Array.from({ length: WIDTH }, () => Buffer.from('{}'))))],
    ['is no bundle', Buffer.from('garbage')],
  ])('stay when their bundle %s, and the tiles stop', async (_, bytes) => {
    await lab.add(WIDTH + 1)
    await lab.publish()
    lab.now += HOUR
    await lab.placeAt().remove('tile/entries/000')
    if (bytes !== undefined) await lab.placeAt().create('tile/entries/000', bytes)
    expect(await failing()).toBe('damaged')
    expect(await (await lab.on()).store.firstEvent(TENANT)).toBe(1)
  })

  it('stay when the tiles are at another address than that of the settings', async () => {
    await lab.add(WIDTH + 1)
    await lab.publish()
    lab.now += HOUR
    lab.address = 'elsewhere'
    expect(await lab.remove()).toBe(1)
  })

  it('stay when the tiles moved while they were compared', async () => {
    await lab.add(WIDTH + 1)
    await lab.publish()
    lab.now += HOUR
    const deps = await lab.on()
    const { store } = deps
    Object.assign(deps, {
      store: overriding(store, {
        commit: async (partition, commit) => {
          const known = await store.get(TENANT, 'tiles', 'head')
          const body = JSON.stringify({ ...JSON.parse(known?.body ?? '{}'), place: 'elsewhere' })
          const writes = [{ op: 'put', type: 'tiles', id: 'head', body }] as const
          await store.commit(TENANT, commitOf(store, { writes }))
          return store.commit(partition, commit)
        },
      }),
    })
    expect(await lab.remove()).toBe(1)
  })
})

describe('tiles of which the store has lost the beginning', () => {
  beforeEach(async () => {
    await lab.add(WIDTH + 1)
    await lab.publish()
    lab.now += HOUR
    await lab.remove()
  })

  it('move to another address with their files only', async () => {
    const before = lab.address
    await lab.add(1)
    lab.address = 'elsewhere'
    await expect(lab.publish()).rejects.toMatchObject({ stop: 'place_behind' })
    await expect(lab.publish()).rejects.toThrow('copy the files of the earlier place there first')
    await expect(wholeLog()).rejects.toThrow(`the tiles of ${TENANT} cannot be read (records 1 to ${WIDTH}, `)
    cpSync(join(lab.directory, before), join(lab.directory, lab.address), { recursive: true })
    await lab.publish()
    expect(await wholeLog()).toHaveLength(WIDTH + 2)
  })

  it('are missed by readers when their place is gone, or off', async () => {
    const { store } = await lab.on()
    const off = storeOfWholeLog(store, undefined)
    await expect(off.events(TENANT, 5, 1)).rejects.toThrow('COUNTERSIGN_TILES is off')
    expect(await off.events(TENANT, WIDTH, 1)).toHaveLength(1)
    rmSync(join(lab.directory, lab.address), { recursive: true })
    await expect(wholeLog()).rejects.toThrow(`cannot be read (records 1 to ${WIDTH}, `)
  })
})
