import { leafHash } from '../../domain/digest.ts'
import { EMPTY_TREE, grown, rootOf } from '../../domain/merkle.ts'
import type { IndexEntry, Store, Write } from '../../store/store.ts'
import { INDEX } from './indexes.ts'

/**
 * A record file that left the store: a full bundle of the tiles. The commit of its removal writes one entry, so that
 * expiry, the start and every reader know the file without its place.
 */
export interface RecordFile {
  /** The number of its last record. */
  readonly last: number
  /** The time of its last record, ms since 1970. */
  readonly time: number
  /** The Merkle tree hash of its records, lowercase hex. */
  readonly root: string
}

/** The Merkle tree hash of the records of a file. */
export const rootOfRecords = (records: readonly (string | Buffer)[]): string =>
  rootOf(grown(EMPTY_TREE, records.map(String).map(leafHash)))

export const fileEntry = ({ last, time, root }: RecordFile): Write => ({
  op: 'index',
  index: INDEX.files,
  member: `${time.toString(36)} ${Buffer.from(root, 'hex').toString('base64url')}`,
  to: last,
})

export function readFileEntry({ score, member }: IndexEntry): RecordFile {
  const [time = '', root = ''] = member.split(' ')
  return { last: score, time: parseInt(time, 36), root: Buffer.from(root, 'base64url').toString('hex') }
}

/** The files whose last record has a number above `after`, in order, at most `limit`. */
export async function filesAfter(
  store: Store,
  tenant: string,
  after: number,
  limit = 500,
): Promise<RecordFile[]> {
  return (await store.range(tenant, INDEX.files, { min: after + 1, limit })).map(readFileEntry)
}
