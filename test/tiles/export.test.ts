import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { leafHash } from '../../src/domain/digest.ts'
import { rootOfPath } from '../../src/domain/merkle-path.ts'
import { EMPTY_TREE, grown, rootOf } from '../../src/domain/merkle.ts'
import { readExportLine } from '../../src/evidence/export-line.ts'
import { exportLines, readProved } from '../../src/tiles/export.ts'
import { Lab, TENANT } from './lab.ts'

/** Tiles as an auditor reads them, without the rest of the log. */
let lab: Lab
let records: readonly string[]
const SIZE = 2_600

beforeEach(async () => {
  lab = new Lab()
  await lab.add(SIZE)
  await lab.publish()
  records = (await (await lab.on()).store.events(TENANT, 0, SIZE)).map(({ body }) => body)
})
afterEach(() => lab.dispose())

describe('the lines of an export', () => {
  it.each([0, 1, 255, 256, 257, 2_559, SIZE - 1, SIZE])(
    'begin after record %i, in order, with the hashes of the tiles',
    async (after) => {
      let text = ''
      for await (const chunk of exportLines(lab.placeAt(), SIZE, after)) text += String(chunk)
      const lines = text === '' ? [] : text.trimEnd().split('\n')
      const read = lines.map((line) => readExportLine(Buffer.from(line)))
      expect(read.map(({ text: record }) => record)).toEqual(records.slice(after))
      expect(read.map(({ number }) => number)).toEqual(records.slice(after).map((_, i) => after + i + 1))
      expect(read.flatMap(({ faults }) => faults)).toEqual([])
    },
  )

  it('end with the first file that is missing', async () => {
    await lab.placeAt().remove('tile/0/003')
    const read: number[] = []
    const all = async (): Promise<void> => {
      for await (const chunk of exportLines(lab.placeAt(), SIZE)) read.push(chunk.length)
    }
    await expect(all()).rejects.toThrow('`tile/0/003`')
    expect(read).toHaveLength(3)
  })
})

describe('the proof of a record', () => {
  it.each([1, 256, 257, 2_559, 2_560, 2_561, SIZE])('%i is read from few tiles', async (number) => {
    const note = String((await lab.placeAt().read('checkpoint'))?.bytes)
    const root = Buffer.from(note.split('\n')[2] ?? '', 'base64').toString('hex')
    let reads = 0
    const counting = { ...lab.placeAt(), read: (path: string) => (reads++, lab.placeAt().read(path)) }
    const place = { index: number - 1, size: SIZE }
    const { record, path } = await readProved(counting, place, SIZE)
    expect(record).toBe(records[number - 1])
    expect(rootOfPath(leafHash(record), place, path)).toBe(root)
    expect(reads).toBeLessThan(20)
  })

  it('is also read by an older checkpoint, whose partial tiles are gone', async () => {
    await lab.add(300)
    await lab.publish()
    const { record, path } = await readProved(lab.placeAt(), { index: 2_590, size: SIZE }, SIZE + 300)
    const root = rootOf(grown(EMPTY_TREE, records.map(leafHash)))
    expect(rootOfPath(leafHash(record), { index: 2_590, size: SIZE }, path)).toBe(root)
    expect(await lab.placeAt().read('tile/0/010.p/40')).toBeUndefined()
  })
  it.each([
    [2_590, 2_595],
    [0, 2_570],
    [2_565, 2_570],
    [2_560, 2_561],
    [2_555, 2_590],
    [300, 700],
  ])(
    '%i is read by a kept checkpoint of %i records, whose tiles were never published',
    async (index, size) => {
      const { record, path } = await readProved(lab.placeAt(), { index, size }, SIZE)
      expect(record).toBe(records[index])
      const root = rootOf(grown(EMPTY_TREE, records.slice(0, size).map(leafHash)))
      expect(rootOfPath(leafHash(record), { index, size }, path)).toBe(root)
    },
  )

  it('needs a place that has the records of the checkpoint', async () => {
    const read = readProved(lab.placeAt(), { index: 1, size: SIZE + 1 }, SIZE)
    await expect(read).rejects.toThrow(`has only ${SIZE} records, and the checkpoint covers ${SIZE + 1}`)
  })
})
