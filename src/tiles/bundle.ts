import { HASH_BYTES, WIDTH } from './layout.ts'

/** The most bytes of a record in a bundle. The format ends at 65,535. */
export const MOST_RECORD_BYTES = 60_000
const LENGTH_BYTES = 2
/** The most bytes of a bundle that is not compressed. */
export const MOST_BUNDLE_BYTES = WIDTH * (LENGTH_BYTES + 65_535)

/** Records as a bundle: each after its length, as two bytes. */
export function encodeBundle(records: readonly Buffer[]): Buffer {
  const bytes = Buffer.alloc(records.reduce((sum, { length }) => sum + LENGTH_BYTES + length, 0))
  let at = 0
  for (const record of records) {
    at = bytes.writeUInt16BE(record.length, at)
    at += record.copy(bytes, at)
  }
  return bytes
}

/** The records of a bundle, at most 256. Returns undefined for other bytes. */
export function decodeBundle(bytes: Buffer): Buffer[] | undefined {
  const records: Buffer[] = []
  for (let at = 0; at < bytes.length;) {
    if (records.length === WIDTH || at + LENGTH_BYTES > bytes.length) return undefined
    const start = at + LENGTH_BYTES
    at = start + bytes.readUInt16BE(at)
    if (at > bytes.length) return undefined
    records.push(bytes.subarray(start, at))
  }
  return records
}

/** Hashes as a tile. */
export const encodeHashes = (hashes: readonly string[]): Buffer => Buffer.from(hashes.join(''), 'hex')

/** The hashes of a tile, lowercase hex. */
export function decodeHashes(bytes: Buffer): string[] {
  const count = Math.floor(bytes.length / HASH_BYTES)
  return Array.from({ length: count }, (_, i) => bytes.toString('hex', i * HASH_BYTES, (i + 1) * HASH_BYTES))
}
