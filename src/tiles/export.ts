import { type Part, WIDTH } from './layout.ts'
import { hashOfRange, readHashes, readRecords } from './log.ts'
import { BadTile, type Place } from './place.ts'
import { type LeafPlace, pathRanges } from '../domain/merkle-path.ts'

/** Bundles that are read at the same time, because a bucket takes long for each of them. */
const AHEAD = 8

/**
 * Yields the records of a log from number `after` + 1 to `size` as lines of an export (docs/evidence.md), one bundle
 * after another. The hash of a line comes from the tile, so that a reader compares it with the record. Lines of a lost
 * bundle have the hash over it.
 *
 * @throws BadTile
 */
export async function* exportLines(place: Place, size: number, after = 0): AsyncGenerator<Uint8Array> {
  const waiting: Promise<Buffer>[] = []
  for (let index = Math.floor(after / WIDTH); ; index++) {
    if (index * WIDTH < size) {
      const lines = linesOf(place, size, { index, width: Math.min(WIDTH, size - index * WIDTH) }, after)
      // its turn reports a failure
      lines.catch(() => undefined)
      waiting.push(lines)
      if (waiting.length < AHEAD) continue
    }
    const next = waiting.shift()
    if (next === undefined) return
    yield await next
  }
}

async function linesOf(place: Place, size: number, part: Part, after: number): Promise<Buffer> {
  const before = part.index * WIDTH
  const records = await readRecords(place, part).catch((error: unknown) => {
    if (error instanceof BadTile && part.width === WIDTH) return undefined
    throw error
  })
  if (records === undefined) {
    const root = await hashOfRange(place, { start: before, end: before + WIDTH }, size)
    const lost = Array.from({ length: WIDTH }, (_, i) => `{"number":${before + i + 1},"lost":"${root}"}\n`)
    return Buffer.from(lost.slice(Math.max(0, after - before)).join(''))
  }
  const hashes = await readHashes(place, 0, part)
  const lines = records.map((record, i) => lineOf(before + i + 1, hashes[i] ?? '', record))
  return Buffer.concat(lines.slice(Math.max(0, after - before)))
}

function lineOf(number: number, hash: string, record: Buffer): Buffer {
  const head = `{"number":${number},"leaf_hash":"${hash}","record":`
  return Buffer.concat([Buffer.from(head), record, Buffer.from('}\n')])
}

/**
 * One record, and the hashes that prove it in the first `size` records, from the few tiles that hold them. The place
 * has partial files only of sizes that were published, so its own size says which files exist.
 *
 * @throws BadTile
 */
export async function readProved(
  place: Place,
  { index, size }: LeafPlace,
  placeSize: number,
): Promise<{ readonly record: string; readonly path: readonly string[] }> {
  if (placeSize < size)
    throw new BadTile(`${place.name} has only ${placeSize} records, and the checkpoint covers ${size}`)
  const bundle = Math.floor(index / WIDTH)
  const part: Part = { index: bundle, width: Math.min(WIDTH, placeSize - bundle * WIDTH) }
  const record = (await readRecords(place, part))[index - bundle * WIDTH]
  const path: string[] = []
  for (const range of pathRanges({ index, size })) path.push(await hashOfRange(place, range, placeSize))
  return { record: String(record), path }
}
