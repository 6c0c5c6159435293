/**
 * C2SP tlog-proof: a string that proves that one record is in a log. For verification, a reader needs only the text and
 * the log's key. The record is in the `extra` line. The path from the record's hash to the signed root proves that the
 * log contains the record.
 */
export interface LogProof {
  /** The record, byte for byte. */
  readonly record: string
  /** Index in the log, from 0. */
  readonly index: number
  /** Hashes of RFC 6962 section 2.1.1 in lowercase hex, from the record's sibling up. */
  readonly path: readonly string[]
  /** The checkpoint's signed note, exactly as signed. */
  readonly note: string
}

const FIRST_LINE = 'c2sp.org/tlog-proof@v1'
const INDEX = /^index (0|[1-9][0-9]{0,14})$/
const HASH = /^[A-Za-z0-9+/]{43}=$/
const EXTRA = 'extra '

export function writeLogProof({ record, index, path, note }: LogProof): string {
  const extra = Buffer.from(record).toString('base64')
  const hashes = path.map((hash) => Buffer.from(hash, 'hex').toString('base64'))
  return [FIRST_LINE, `${EXTRA}${extra}`, `index ${index}`, ...hashes, '', note].join('\n')
}

/** Parses a proof. Returns undefined for malformed text, and for a proof without its record. */
export function readLogProof(text: string): LogProof | undefined {
  const end = text.indexOf('\n\n')
  const [first, extra = '', place = '', ...hashes] = text.slice(0, Math.max(end, 0)).split('\n')
  const index = INDEX.exec(place)?.[1]
  const record = extra.startsWith(EXTRA) ? decoded(extra.slice(EXTRA.length)) : undefined
  const path = hashes.map((hash) => (HASH.test(hash) ? decoded(hash) : undefined))
  if (first !== FIRST_LINE || record === undefined || index === undefined) return undefined
  if (!path.every((hash) => hash !== undefined)) return undefined
  return {
    record: record.toString('utf8'),
    index: Number(index),
    path: path.map((hash) => hash.toString('hex')),
    note: text.slice(end + 2),
  }
}

/** Base64 has several spellings of the same bytes, but only one is accepted. */
function decoded(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}
