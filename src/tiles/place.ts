import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { MOST_BUNDLE_BYTES } from './bundle.ts'

/**
 * A place for the files of one log: a directory, or a prefix of a bucket. Paths follow C2SP tlog-tiles. The place
 * keeps bundles of records compressed (`isPacked`).
 *
 * Laws (tested on each driver by test/tiles/conformance.ts):
 * - A file that `create` or `replace` confirmed survives a crash.
 * - `create` never changes a file that exists. One of several concurrent creators gets true.
 * - `replace` changes only the version that was read. One of several concurrent writers gets true.
 * - A reader sees a whole file or none.
 * - A call that fails with `PlaceUnavailable` may have been executed.
 */
export interface Place {
  /** The address, for messages. */
  readonly name: string
  /** The file as stored; undefined when it does not exist. */
  read(path: string): Promise<StoredFile | undefined>
  /** Creates a file. Returns false when it exists, which is then durable as well. */
  create(path: string, stored: Uint8Array): Promise<boolean>
  /** Replaces a file of this version; undefined creates it. Returns false when it has another version. */
  replace(path: string, stored: Uint8Array, version: string | undefined): Promise<boolean>
  /** The paths of the files below a folder. */
  list(folder: string): Promise<string[]>
  /** Deletes a file. A missing file is no error. */
  remove(path: string): Promise<void>
}

export interface StoredFile {
  readonly bytes: Buffer
  /** Opaque text, which differs after each replacement. */
  readonly version: string
}

/** The error when the place does not answer, or refuses. */
export class PlaceUnavailable extends Error {
  override readonly name = 'PlaceUnavailable'
}

/** The error for a file that is missing, damaged, or other than expected. */
export class BadTile extends Error {
  override readonly name = 'BadTile'
}

/** True for a file that the place stores with gzip. */
export const isPacked = (path: string): boolean => path.startsWith('tile/entries/')

const packed = promisify(gzip)
const unpacked = promisify(gunzip)

/** The content of a file, unpacked; undefined when it does not exist. @throws BadTile */
export async function readContent(place: Place, path: string): Promise<Buffer | undefined> {
  const file = await place.read(path)
  if (file === undefined || !isPacked(path)) return file?.bytes
  return unpacked(file.bytes, { maxOutputLength: MOST_BUNDLE_BYTES }).catch((cause: unknown) => {
    throw new BadTile(`\`${path}\` in ${place.name} is no gzip file of a bundle`, { cause })
  })
}

/**
 * Creates a file that never changes, and reads it back. An existing file must have the same content. Compressed bytes
 * may differ, because another version of zlib may have written them.
 *
 * @throws BadTile
 */
export async function createContent(place: Place, path: string, content: Buffer): Promise<void> {
  const stored = isPacked(path) ? await packed(content, { level: GZIP_LEVEL }) : content
  const isNew = await place.create(path, stored)
  if (isNew && (await place.read(path))?.bytes.equals(stored)) return
  const found = await readContent(place, path)
  if (found?.equals(content) !== true)
    throw new BadTile(
      `\`${path}\` in ${place.name} ${found === undefined ? 'is missing' : 'has other content'}`,
    )
}

/** Takes half the time of the default. A bundle of 256 records takes 2 % more bytes. */
const GZIP_LEVEL = 3
