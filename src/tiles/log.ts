import { type Checkpoint, openCheckpoint } from '../domain/checkpoint.ts'
import { EMPTY_TREE, grown, rootOf } from '../domain/merkle.ts'
import type { LeafRange } from '../domain/merkle-path.ts'
import { decodeBundle, decodeHashes } from './bundle.ts'
import {
  CHECKPOINT,
  EMPTY_EDGE,
  HASH_BYTES,
  hashesOf,
  type Part,
  partialParts,
  pathOf,
  type RightEdge,
  rootOfEdge,
  WIDTH,
} from './layout.ts'
import { BadTile, type Place, readContent } from './place.ts'

/** Reads a log from its tiles. */

/** The newest checkpoint of a place, as it is there. */
export interface PlacedNote {
  readonly note: string
  readonly version: string
}

/** The signed note of the place; undefined when the place has no log. */
export async function readNote(place: Place): Promise<PlacedNote | undefined> {
  const file = await place.read(CHECKPOINT)
  return file && { note: file.bytes.toString('utf8'), version: file.version }
}

/** The size that a note names, signed or not. */
export const sizeIn = (note: string): number => Number(/^[^\n]*\n(\d{1,15})\n/.exec(note)?.[1] ?? Number.NaN)

/** The checkpoint in a note, by the key of the log. @throws BadTile */
export function openNote(place: Place, note: string, verifier: string): Checkpoint {
  const checkpoint = openCheckpoint(note, verifier)
  if (checkpoint === undefined)
    throw new BadTile(`\`${CHECKPOINT}\` in ${place.name} is not signed by the key of this log`)
  return checkpoint
}

/**
 * The hashes of a tile of a log with `size` records. A partial tile may have been deleted since its full tile exists.
 *
 * @throws BadTile
 */
export async function readHashes(place: Place, level: number, part: Part): Promise<string[]> {
  const bytes = await readPart(place, level, part)
  if (![part.width, WIDTH].some((width) => bytes.length === width * HASH_BYTES))
    throw new BadTile(`\`${pathOf(level, part)}\` in ${place.name} has ${bytes.length} bytes`)
  return decodeHashes(bytes).slice(0, part.width)
}

/** The records of a bundle, each the exact text that was hashed. @throws BadTile */
export async function readRecords(place: Place, part: Part): Promise<Buffer[]> {
  const records = decodeBundle(await readPart(place, 'entries', part))
  if (records === undefined || records.length < part.width)
    throw new BadTile(`\`${pathOf('entries', part)}\` in ${place.name} is no bundle of ${part.width} records`)
  return records.slice(0, part.width)
}

async function readPart(place: Place, kind: number | 'entries', part: Part): Promise<Buffer> {
  const content =
    (await readContent(place, pathOf(kind, part))) ??
    (part.width < WIDTH ? await readContent(place, pathOf(kind, { ...part, width: WIDTH })) : undefined)
  if (content === undefined) throw new BadTile(`\`${pathOf(kind, part)}\` in ${place.name} is missing`)
  return content
}

/** The right edge of the log of this checkpoint. Requires the edge to give its root. @throws BadTile */
export async function readEdge(
  place: Place,
  { size, root }: Pick<Checkpoint, 'size' | 'root'>,
): Promise<RightEdge> {
  const levels: string[][] = []
  for (const [level, part] of partialParts(size).entries())
    levels.push(part.width === 0 ? [] : await readHashes(place, level, part))
  const edge = size === 0 ? EMPTY_EDGE : { size, levels }
  if (rootOfEdge(edge) !== root)
    throw new BadTile(`the tiles in ${place.name} do not give the root of ${size} records that was signed`)
  return edge
}

/**
 * The hash over a range of a log (RFC 6962) whose place has `size` records. The range comes from `pathRanges`, so one
 * tile has the hashes of each level.
 */
export async function hashOfRange(place: Place, { start, end }: LeafRange, size: number): Promise<string> {
  const frontier: string[] = []
  let at = start
  for (let level = partialParts(end - start).length - 1; level >= 0; level--) {
    const span = WIDTH ** level
    const count = Math.floor((end - at) / span)
    if (count === 0) continue
    const first = at / span
    const index = Math.floor(first / WIDTH)
    const width = Math.min(WIDTH, hashesOf(level, size) - index * WIDTH)
    const hashes = await readHashes(place, level, { index, width })
    const own = hashes.slice(first - index * WIDTH, first - index * WIDTH + count)
    frontier.push(...grown(EMPTY_TREE, own).frontier)
    at += count * span
  }
  return rootOf({ size: end - start, frontier })
}
