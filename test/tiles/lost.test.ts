import { chmodSync, copyFileSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { storeOfWholeLog } from '../../src/app/whole-log.ts'
import { acceptLoss } from '../../src/gateway/admin/accept-loss.ts'
import { filesAfter } from '../../src/gateway/core/record-files.ts'
import { read, remove, SYSTEM } from '../../src/gateway/core/records.ts'
import type { Deps } from '../../src/gateway/core/deps.ts'
import { reportInstance } from '../../src/gateway/jobs/instances.ts'
import { HEAD, publishTiles } from '../../src/gateway/jobs/publish-tiles.ts'
import { WIDTH } from '../../src/tiles/layout.ts'
import { readNote, sizeIn } from '../../src/tiles/log.ts'
import { HOUR, overriding } from '../gateway-fixture.ts'
import { IS_SOAK } from '../runs.ts'
import { commitOf } from '../store/commit-of.ts'
import { execFileSync } from '../sync-child.ts'
import { Lab, TENANT } from './lab.ts'

/** Record files that left the store are lost at random; two gateways look for them. */
const FILES = 5
const ROUNDS = IS_SOAK ? 20 : 3
let lab: Lab
let deps: Deps
beforeEach(async () => {
  lab = new Lab()
  lab.logInStoreMs = HOUR
  await lab.add(FILES * WIDTH + 10)
  await lab.publish()
  lab.now += 2 * HOUR
  expect(await lab.remove()).toBe(FILES * WIDTH + 1)
  const own = await lab.on()
  deps = { ...own, store: storeOfWholeLog(own.store, lab.places()) }
})
afterEach(() => lab.dispose())

const before = FILES * WIDTH + 1
const request = { tenant: TENANT, before, reason: 'a fire' }
const bundle = (index: number): string => join(lab.directory, 'tiles', TENANT, `tile/entries/00${index}.gz`)

/** Two gateways answer the question of a loss, the second with what it could not read. */
async function answer(second?: readonly number[]): Promise<void> {
  const question = (await read(deps.store, SYSTEM, 'loss', 'all'))?.value
  const tiles = (deps.store as ReturnType<typeof storeOfWholeLog>).tiles
  const files = await tiles.unreadableOf(TENANT, before, question?.files ?? [])
  for (const [id, unread] of [
    ['one', files],
    ['two', second ?? files],
  ] as const) {
    const loss = { id: question?.id ?? '', files: unread }
    await reportInstance(deps, { id, host: id, version: '1', startedAt: lab.now, loss })
  }
}

async function typesOf(): Promise<string[]> {
  const events = await deps.store.events(TENANT, before - 1, 1_000)
  return events.map(({ body }) => (JSON.parse(body) as { type: string }).type)
}

async function accept(): Promise<readonly { from: number; to: number }[]> {
  await acceptLoss(deps, { ...request, preview: true })
  await answer()
  return (await acceptLoss(deps, request)).lost.map(({ from, to }) => ({ from, to }))
}

/** Publishes new records, and reads all that exists. */
async function goOn(log = 1): Promise<number[]> {
  await lab.add(WIDTH)
  // the first round only writes the note of the place again
  for (let i = 0; i < 2; i++) await publishTiles(deps, lab.tiles, TENANT, new AbortController().signal)
  const size = (FILES + 1) * WIDTH + 10
  expect(sizeIn((await readNote(lab.placeAt(log)))?.note ?? '')).toBeGreaterThanOrEqual(size)
  const numbers: number[] = []
  for (let at = 0; ;) {
    const page = await deps.store.events(TENANT, at, 100)
    numbers.push(...page.map(({ number }) => number))
    if (page.length === 0) return numbers
    at = numbers.at(-1) ?? at
  }
}

describe('record files that are lost', () => {
  it.each(Array.from({ length: ROUNDS }, (_, i) => i))('leave all others, round %i', async (round) => {
    const index = (round * 3 + 1) % FILES
    rmSync(bundle(index))
    expect(await accept()).toEqual([{ from: index * WIDTH + 1, to: (index + 1) * WIDTH }])
    const numbers = await goOn()
    const expected = Array.from({ length: numbers.at(-1) ?? 0 }, (_, i) => i + 1)
    expect(numbers).toEqual(expected.filter((number) => Math.floor((number - 1) / WIDTH) !== index))
    const files = await filesAfter(deps.store, TENANT, 0)
    expect(files.filter(({ isLost }) => isLost).map(({ last }) => last)).toEqual([(index + 1) * WIDTH])
  })

  it('are lost once, when two administrators accept at the same time', async () => {
    rmSync(bundle(1))
    await acceptLoss(deps, { ...request, preview: true })
    await answer()
    // no publication has looked at the place since an earlier loss
    await deps.store.commit(TENANT, commitOf(deps.store, { writes: [remove('tiles', HEAD)] }))
    await Promise.all([acceptLoss(deps, request), acceptLoss(deps, request)])
    const types = (await goOn()).length > 0 ? await typesOf() : []
    expect(types.filter((type) => type === 'log.lost')).toHaveLength(1)
  })

  it.each<readonly [string, (file: string) => void]>([
    ['cut off', (file) => truncateSync(file, 100)],
    ['a link', (file) => symlinkSync(bundle(3), file)],
    ['a pipe', (file) => execFileSync('mkfifo', [file])],
    ['a folder', (file) => mkdirSync(file)],
    ['the file of another tenant', (file) => writeFileSync(file, gzipSync('other records'))],
    ['another file of the log', (file) => copyFileSync(bundle(3), file)],
  ])('are only those that no gateway can read: one is %s', async (kind, replace) => {
    chmodSync(bundle(1), 0o600)
    if (kind !== 'cut off') rmSync(bundle(1))
    replace(bundle(1))
    expect(await accept()).toEqual([{ from: WIDTH + 1, to: 2 * WIDTH }])
    // another time, and one record too many
    await expect(accept()).rejects.toMatchObject({ code: 'not_lost' })
    for (const more of [1, WIDTH])
      await expect(acceptLoss(deps, { ...request, before: before + more })).rejects.toMatchObject({
        code: 'not_lost',
      })
    expect((await filesAfter(deps.store, TENANT, 0)).filter(({ isLost }) => isLost)).toHaveLength(1)
  })

  it.each([1, 2, 3])('are lost by a second run when the first ends before its commit %i', async (step) => {
    for (const index of [0, 2, 4]) rmSync(bundle(index))
    await acceptLoss(deps, { ...request, preview: true })
    await answer()
    const { store } = deps
    let commits = 0
    const dying = overriding(store, {
      commit: (partition, commit) =>
        partition === TENANT && ++commits === step
          ? Promise.reject(new Error('killed'))
          : store.commit(partition, commit),
    })
    await expect(acceptLoss({ ...deps, store: dying }, request)).rejects.toThrow('killed')
    expect(await accept()).toHaveLength(4 - step)
    const files = await filesAfter(deps.store, TENANT, 0)
    expect(files.flatMap(({ isLost }, i) => (isLost ? [i] : []))).toEqual([0, 2, 4])
    expect((await typesOf()).filter((type) => type === 'log.lost')).toHaveLength(3)
  })

  it('are published from their entries into an empty place, and no more is lost than no gateway can read', async () => {
    rmSync(join(lab.directory, 'tiles'), { recursive: true })
    await expect(acceptLoss(deps, request)).rejects.toMatchObject({ code: 'not_lost' })
    await acceptLoss(deps, { ...request, preview: true })
    // no gateway answered; then the second one sees the place
    await expect(acceptLoss(deps, request)).rejects.toMatchObject({ code: 'not_lost' })
    await answer([])
    await expect(acceptLoss(deps, request)).rejects.toMatchObject({ code: 'not_lost' })
    expect(await accept()).toEqual([{ from: 1, to: FILES * WIDTH }])
    const numbers = await goOn()
    expect(numbers[0]).toBe(before)
    expect(await lab.placeAt().list('tile/entries')).not.toContain('tile/entries/004')
    // a restored store finds the place as it left it
    lab.now += 2 * HOUR
    expect(await lab.remove()).toBe(before + WIDTH)
    const events = await deps.store.events(TENANT, 0, 1)
    expect(events[0]?.number).toBe(before)
  })
})
