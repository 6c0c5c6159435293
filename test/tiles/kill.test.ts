import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { verifierKey } from '../../src/domain/checkpoint.ts'
import { originOf } from '../../src/gateway/jobs/checkpoints.ts'
import { openEmbeddedStore } from '../../src/store/embedded/store.ts'
import { directoryPlace } from '../../src/tiles/directory/directory-place.ts'
import { WIDTH } from '../../src/tiles/layout.ts'
import { readEdge, readNote, readRecords, openNote } from '../../src/tiles/log.ts'
import { startProcess } from '../crash.ts'
import { diceOf } from '../random.ts'
import { IS_LONG, rounds } from '../runs.ts'
import { fsck, FSCK } from './fsck.ts'
import { IDENTITY, TENANT } from './lab.ts'

const KILLS = rounds({ check: 12, short: 30, long: 300 })
const WRITER = fileURLToPath(new URL('writer.mjs', import.meta.url))
/** Most new records of a round: one or two bundles, sometimes none that is full. */
const MOST_RECORDS = 400
/** A round changes about so many files, and is watched before and after each. */
const MOST_CHANGES = 16
const KEY = verifierKey(originOf(IDENTITY, TENANT, 1), IDENTITY.key.public)

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'countersign-tiles-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** Records of the place, which must be those of the checkpoint. */
async function readAll(): Promise<string[]> {
  const place = directoryPlace(join(directory, 'tiles', TENANT))
  const { note = '' } = (await readNote(place)) ?? {}
  if (note === '') return []
  const checkpoint = openNote(place, note, KEY)
  await readEdge(place, checkpoint)
  const { size } = checkpoint
  const records: string[] = []
  for (let index = 0; index * WIDTH < size; index++)
    records.push(
      ...(await readRecords(place, { index, width: Math.min(WIDTH, size - index * WIDTH) })).map(String),
    )
  return records
}

it(`a writer that is killed ${KILLS} times loses no record, and readers always see a whole log`, async () => {
  const seed = Number(process.env['COUNTERSIGN_TEST_SEED'] ?? (IS_LONG ? Date.now() % 2 ** 31 : 20_261_128))
  console.log(`seed ${seed} (COUNTERSIGN_TEST_SEED repeats the moments of the kills)`)
  const dice = diceOf(seed)
  let seen = 0
  let kills = 0
  for (let round = 1; kills < KILLS; round++) {
    const last = 1 + dice.below(MOST_CHANGES)
    const child = startProcess(WRITER, [
      directory,
      String(round),
      String(dice.below(MOST_RECORDS)),
      String(last),
    ])
    const line = await child.lineWhere(
      (text) => text.startsWith(`change ${last} `) || text.startsWith('published'),
    )
    if (line.startsWith('change')) kills += 1
    await child.kill()
    const records = await readAll()
    // published records stay
    expect(records.length).toBeGreaterThanOrEqual(seen)
    seen = records.length
  }
  // the first of them commits what a killed writer published, if there is any
  for (const round of [10_001, 10_002, 10_003]) {
    const { code, errors } = await startProcess(WRITER, [directory, String(round), '300', '0']).ended
    expect([code, errors]).toEqual([0, ''])
  }
  const store = await openEmbeddedStore({ path: join(directory, 'data'), minFreeBytes: 0 })
  const records = await readAll()
  const first = await store.firstEvent(TENANT)
  const stored = await store.events(TENANT, 0, 1_000_000)
  await store.close()
  expect(first).toBe(Math.floor((records.length - 1) / WIDTH) * WIDTH + 1)
  expect(records.slice(first - 1)).toEqual(stored.map(({ body }) => body))
  const place = directoryPlace(join(directory, 'tiles', TENANT))
  const files = await place.list('tile')
  // partial files are gone once their full ones are published
  expect(
    files.filter((path) => files.includes(path.replace(/\.p\/\d+$/, '')) && path.includes('.p/')),
  ).toEqual([])
  if (FSCK !== undefined)
    expect(await fsck(FSCK, place, { key: KEY, keyFile: join(directory, 'key') })).toBe(records.length)
})
