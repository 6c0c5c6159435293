import { leafHash } from '../../domain/digest.ts'
import { EMPTY_TREE, grown, rootOf } from '../../domain/merkle.ts'
import type { IndexEntry, Store, Write } from '../../store/store.ts'
import { WIDTH } from '../../tiles/layout.ts'
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
  /** True once an administrator accepted its loss (src/gateway/admin/accept-loss.ts). */
  readonly isLost?: true
}

/** The Merkle tree hash of the records of a file. */
export const rootOfRecords = (records: readonly (string | Buffer)[]): string =>
  rootOf(grown(EMPTY_TREE, records.map(String).map(leafHash)))

const memberOf = ({ time, root, isLost }: RecordFile): string =>
  `${time.toString(36)} ${Buffer.from(root, 'hex').toString('base64url')}${isLost ? ' lost' : ''}`

export const fileEntry = (file: RecordFile): Write => ({
  op: 'index',
  index: INDEX.files,
  member: memberOf(file),
  to: file.last,
})

/** The writes that mark a file as lost. */
export const lostFile = (file: RecordFile): Write[] => [
  { op: 'index', index: INDEX.files, member: memberOf(file) },
  fileEntry({ ...file, isLost: true }),
]

export function readFileEntry({ score, member }: IndexEntry): RecordFile {
  const [time = '', root = '', lost] = member.split(' ')
  const hash = Buffer.from(root, 'base64url').toString('hex')
  return { last: score, time: parseInt(time, 36), root: hash, ...(lost && { isLost: true }) }
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

/** The files with records from `from` to `to` whose loss was accepted. */
export async function lostFiles(
  store: Store,
  tenant: string,
  from: number,
  to: number,
): Promise<RecordFile[]> {
  const lost: RecordFile[] = []
  for (let after = from - 1; ;) {
    const page = await filesAfter(store, tenant, after)
    lost.push(...page.filter(({ last, isLost }) => isLost && last - WIDTH < to))
    after = page.at(-1)?.last ?? Infinity
    if (after >= to) return lost
  }
}
