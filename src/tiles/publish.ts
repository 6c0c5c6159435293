import type { Checkpoint } from '../domain/checkpoint.ts'
import { leafHash } from '../domain/digest.ts'
import { encodeBundle, encodeHashes, MOST_RECORD_BYTES } from './bundle.ts'
import {
  bundlesOf,
  CHECKPOINT,
  EMPTY_EDGE,
  grow,
  outgrownFolders,
  partialTiles,
  pathOf,
  type RightEdge,
  rootOfEdge,
  type Tile,
  WIDTH,
} from './layout.ts'
import { openNote, type PlacedNote, readEdge, readNote, readRecords } from './log.ts'
import { TilesStopped } from './stops.ts'
import { BadTile, createContent, type Place, PlaceUnavailable } from './place.ts'

/** Records, or the hash over a bundle whose loss was accepted. */
export type Chunk = readonly string[] | string

/** The records of a log in order, in chunks. */
export type ReadRecords = (after: number) => AsyncIterable<Chunk>

/** A log in the store, and its place. One caller has this log at a time. */
export interface Publication {
  readonly place: Place
  readonly verifier: string
  /** The note that the last publication here left; absent before the first. Another key may have signed it. */
  readonly published?: Published
  /** The size of the store's newest checkpoint, which is durable on its replicas. */
  readonly newest: number
  /** The number of records that left the store. Only the place has them. */
  readonly removed: number
  /** True when a part of them is lost for good. The log is then written again where the place lacks its end. */
  readonly isLossAccepted: boolean
  /** The checkpoint to publish next for a place of this size, with its note. It may be older than the newest. */
  next(size: number): Promise<Published & { readonly root: string }>
  readonly records: ReadRecords
  /**
   * Ends the work, with an error, when this caller has the log no longer. Called before each change, and with each
   * chunk of records.
   */
  readonly requireLease: () => Promise<void>
}

export interface Published {
  readonly note: string
  readonly size: number
}

/**
 * Publishes new records of a log, in the order of docs/decisions/0035-tiles.md. The checkpoint of the place names no
 * record before its files are durable and were read back.
 *
 * @returns the note in the place, and the number of records that the place had before
 * @throws TilesStopped; PlaceUnavailable, after which the next call continues
 */
export async function publish(publication: Publication): Promise<Published & { readonly found: number }> {
  const { place } = publication
  try {
    const { edge, found } = await readPlace(publication)
    requireRemoved(publication, edge)
    const next = await requireSameHistory(publication, edge)
    // a writer that was killed before its commit may have left the note without a sync
    const isLeft = found !== undefined && edge.size > (publication.published?.size ?? 0)
    const { note, size } = isLeft ? { note: found.note, size: edge.size } : next
    if (size > edge.size) await writeFiles(publication, edge, next)
    await publication.requireLease()
    if (!(await place.replace(CHECKPOINT, Buffer.from(note), found?.version)))
      throw new PlaceUnavailable(`another writer replaced \`${CHECKPOINT}\` in ${place.name}`)
    return { note, size, found: edge.size }
  } catch (error) {
    if (!(error instanceof BadTile)) throw error
    throw new TilesStopped('damaged', error.message, { cause: error })
  }
}

interface PlaceState {
  readonly edge: RightEdge
  readonly found?: PlacedNote
}

/** Reads the checkpoint of the place, and its right edge, which must give the signed root. */
async function readPlace({
  place,
  verifier,
  published,
  newest,
  isLossAccepted,
}: Publication): Promise<PlaceState> {
  const found = await readNote(place)
  requireKept(place, published, found?.note)
  if (found === undefined) return { edge: EMPTY_EDGE }
  const checkpoint =
    found.note === published?.note ? checkpointIn(found.note) : openNote(place, found.note, verifier)
  const { size } = checkpoint
  if (newest < size)
    throw new TilesStopped(
      'store_behind',
      `${place.name} has ${size} records, but the store has signed only ${newest}`,
    )
  const edge = await readEdge(place, checkpoint).catch((error: unknown) => {
    if (isLossAccepted && published === undefined && error instanceof BadTile) return EMPTY_EDGE
    throw error
  })
  return { edge, found }
}

/** Requires the records that the store has no longer: the address of the settings may be another one now. */
function requireRemoved({ place, removed, isLossAccepted }: Publication, { size }: RightEdge): void {
  if (size >= removed || isLossAccepted) return
  const what = `${place.name} has ${size} records, and the store has only those after ${removed}`
  throw new TilesStopped('place_behind', `${what}: copy the files of the earlier place there first`)
}

function requireKept(place: Place, published: Published | undefined, note: string | undefined): void {
  const size = note === undefined ? 0 : (checkpointIn(note)?.size ?? 0)
  if (published !== undefined && size < published.size)
    throw new TilesStopped(
      'place_behind',
      `${place.name} has ${size} records, but ${published.size} were published there`,
    )
}

/** The size and root in a note whose signature was checked when it was published. */
function checkpointIn(note: string): Pick<Checkpoint, 'size' | 'root'> {
  const [, size = '', root = ''] = note.split('\n')
  return { size: Number(size), root: Buffer.from(root, 'base64').toString('hex') }
}

/** The next publication: a signed size, and the tiles from the place's size up to it. */
interface Next extends Published {
  readonly root: string
  readonly after: RightEdge
  readonly full: readonly FullTile[]
  /** The records, if they fit in memory: each is then read once. */
  readonly chunks: readonly Chunk[] | undefined
  /** The hashes of lost bundles, by their index. */
  readonly lost: ReadonlyMap<number, string>
}

/** A tile to write. Its bytes take a third of the memory of hashes as text. */
interface FullTile {
  readonly path: string
  readonly content: Buffer
}

const contentOf = ({ path, hashes }: Tile): FullTile => ({ path, content: encodeHashes(hashes) })

/** Requires the records of the store to continue the log of the place. Nothing is written before that. */
async function requireSameHistory(publication: Publication, edge: RightEdge): Promise<Next> {
  const { place } = publication
  const next = await publication.next(edge.size)
  const full: FullTile[] = []
  const lost = new Map<number, string>()
  const chunks: Chunk[] = []
  let kept = 0
  let after = edge
  for await (const records of readUpTo(publication, edge.size, next.size)) {
    if (typeof records === 'string') lost.set(after.size / WIDTH, records)
    else for (const [i, record] of records.entries()) kept += shortLength(record, after.size + i + 1)
    if (kept <= MOST_KEPT_BYTES) chunks.push(records)
    const grownBy = grownByChunk(after, records)
    full.push(...grownBy.full.map(contentOf))
    after = grownBy.edge
  }
  if (rootOfEdge(after) === next.root)
    return { ...next, after, full, lost, chunks: kept <= MOST_KEPT_BYTES ? chunks : undefined }
  const what = `the store has other records than ${place.name}, which has ${edge.size}`
  throw new TilesStopped('forked', `${what}: together they do not give the signed root of ${next.size}`)
}

/** Bytes of records that a publication keeps in memory. */
const MOST_KEPT_BYTES = 4 * 1024 * 1024

const grownByChunk = (edge: RightEdge, chunk: Chunk): ReturnType<typeof grow> =>
  typeof chunk === 'string' ? grow(edge, [chunk], 1) : grow(edge, chunk.map(leafHash))

/** The bytes of a record. @throws TilesStopped when no bundle can have it */
function shortLength(record: string, number: number): number {
  const length = Buffer.byteLength(record)
  if (length <= MOST_RECORD_BYTES) return length
  const what = `record ${number} has ${length} bytes, and an entry of a bundle at most ${MOST_RECORD_BYTES}`
  throw new TilesStopped('long_record', what)
}

async function* readUpTo(
  { records, requireLease }: Publication,
  after: number,
  size: number,
): AsyncGenerator<Chunk> {
  let at = after
  if (at === size) return
  for await (const chunk of records(after)) {
    await requireLease()
    yield typeof chunk === 'string' ? chunk : chunk.slice(0, size - at)
    at += typeof chunk === 'string' ? WIDTH : chunk.length
    if (at >= size) return
  }
  throw new PlaceUnavailable(`the store has ${at} of ${size} records now`)
}

/** Writes bundles, then tiles from level 0 upwards. Each is read back. */
async function writeFiles(publication: Publication, edge: RightEdge, next: Next): Promise<void> {
  const { place } = publication
  const tiles = [...next.full, ...partialTiles(next.after, edge.size).map(contentOf)]
  await writeBundles(publication, edge, { ...next, tiles })
  for (const { path, content } of tiles) {
    await publication.requireLease()
    await createContent(place, path, content)
  }
}

/** Writes bundles, whose records must have the hashes of the tiles: they may be read again, from place or store. */
async function writeBundles(
  publication: Publication,
  edge: RightEdge,
  { chunks, size, tiles }: Next & { readonly tiles: readonly FullTile[] },
): Promise<void> {
  const { place } = publication
  const hashes = new Map(tiles.map(({ path, content }) => [path, content]))
  const parts = bundlesOf(edge.size, size).values()
  let waiting = await partialBundle(place, edge.size)
  const write = async (count: number): Promise<void> => {
    const part = parts.next().value
    if (part?.width !== count) throw new TypeError('a bundle of the wrong width')
    const records = waiting.slice(0, count)
    if (hashes.get(pathOf(0, part))?.equals(encodeHashes(records.map(leafHash))) !== true)
      throw new BadTile(`a bundle in ${place.name} has other records than its tile of hashes`)
    await publication.requireLease()
    await createContent(
      place,
      pathOf('entries', part),
      encodeBundle(records.map((text) => Buffer.from(text))),
    )
    waiting = waiting.slice(count)
  }
  for await (const records of chunks ?? readUpTo(publication, edge.size, size)) {
    if (typeof records === 'string') parts.next()
    else waiting.push(...records)
    while (waiting.length >= WIDTH) await write(WIDTH)
  }
  if (waiting.length > 0) await write(waiting.length)
}

/** The records of the partial bundle of a place. */
async function partialBundle(place: Place, size: number): Promise<string[]> {
  const width = size % WIDTH
  if (width === 0) return []
  return (await readRecords(place, { index: Math.floor(size / WIDTH), width })).map(String)
}

/** Deletes partial files of the log since it had `before` records, if their full files are published. */
export async function removeOutgrown(place: Place, before: number, size: number): Promise<void> {
  for (const folder of outgrownFolders(before, size))
    for (const path of await place.list(folder)) await place.remove(path)
}
