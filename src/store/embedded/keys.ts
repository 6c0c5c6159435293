import { STORE_LIMITS } from '../store.ts'

/*
 * Keys of the embedded store. The byte order of the keys is the order of their parts:
 *
 * - 'd' partition number: the disclosures of an event (S21).
 * - 'e' partition number: an event.
 * - 'f' partition: the number of the first event, if earlier ones were deleted (S22).
 * - 'i' partition index score member: an index entry.
 * - 'l' partition limit: the charges of a limit (S18).
 * - 'm' partition index member: the score of a member (S15).
 * - 'n' partition: the number of the last event.
 * - 'r' partition type id: a record.
 * - 'z': the stamp, which has the last time, the store's id and the count of batches.
 *
 * Text takes one to three bytes per UTF-16 code unit and ends with 0. The byte order of every string is therefore its
 * code unit order (S05). UTF-8 would sort astral characters after U+E000..U+FFFF. Code units 0 and 1 are escaped.
 * Scores are doubles with the sign bit inverted, and numbers take six bytes. Both are big-endian.
 */
export const TAG = {
  disclosures: 0x64,
  event: 0x65,
  first: 0x66,
  entry: 0x69,
  limit: 0x6c,
  member: 0x6d,
  number: 0x6e,
  record: 0x72,
  stamp: 0x7a,
} as const
type Tag = (typeof TAG)[keyof typeof TAG]

const NUMBER_BYTES = 6
const SCORE_BYTES = 8
/** Greater than the first byte of every text. */
const AFTER_TEXT = 0xff
/** LMDB accepts 1,978 bytes. */
const LONGEST_KEY =
  1 + 3 * (STORE_LIMITS.partitionLength + STORE_LIMITS.nameLength + STORE_LIMITS.idLength) + SCORE_BYTES + 4

const scratch = Buffer.alloc(LONGEST_KEY)
const views: Buffer[] = []

/** The beginning of the shared buffer. A commit needs fifty, and each length exists once. */
const view = (length: number): Buffer => (views[length] ??= scratch.subarray(0, length))

/*
 * The functions below return a view of one shared buffer. Pass the view to LMDB immediately, or `keep` it. LMDB copies
 * a key before its call returns.
 */

export function stampKey(): Buffer {
  scratch[0] = TAG.stamp
  return view(1)
}

export function recordKey(partition: string, type: string, id: string): Buffer {
  return view(writeText(writeText(writePrefix(TAG.record, partition), type), id))
}

export function memberKey(partition: string, index: string, member: string): Buffer {
  return view(writeText(writeText(writePrefix(TAG.member, partition), index), member))
}

export function limitKey(partition: string, limit: string): Buffer {
  return view(writeText(writePrefix(TAG.limit, partition), limit))
}

export function numberKey(partition: string): Buffer {
  return view(writePrefix(TAG.number, partition))
}

export function firstKey(partition: string): Buffer {
  return view(writePrefix(TAG.first, partition))
}

export function eventKey(partition: string, number: number): Buffer {
  return view(scratch.writeUIntBE(number, writePrefix(TAG.event, partition), NUMBER_BYTES))
}

export function disclosuresKey(partition: string, number: number): Buffer {
  const start = writePrefix(TAG.disclosures, partition)
  return view(scratch.writeUIntBE(number, start, NUMBER_BYTES))
}

export function entryKey(partition: string, index: string, score: number, member: string): Buffer {
  return view(writeText(writeScore(partition, index, score), member))
}

/** The position before every entry of the index with this score or a higher score. */
export function scoreFloor(partition: string, index: string, score: number): Buffer {
  return view(writeScore(partition, index, score))
}

/** The position after every entry of the index with this score or a lower score. */
export function scoreCeiling(partition: string, index: string, score: number): Buffer {
  const end = writeScore(partition, index, score)
  scratch[end] = AFTER_TEXT
  return view(end + 1)
}

/** The position between this key and the next key. No key is a prefix of another key of its kind. */
export function justBehind(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.alloc(1)])
}

/** The position between the previous key and this key. Keys that end with a string end with 0. */
export function justBefore(key: Buffer): Buffer {
  return Buffer.from(key.subarray(0, key.length - 1))
}

export function keep(key: Buffer): Buffer {
  return Buffer.from(key)
}

/** The bounds of all keys of one kind. */
export function allOf(tag: Tag): { start: Buffer; end: Buffer } {
  return { start: Buffer.from([tag]), end: Buffer.from([tag + 1]) }
}

export function readEventNumber(key: Buffer): number {
  return key.readUIntBE(key.length - NUMBER_BYTES, NUMBER_BYTES)
}

/** Reads the score and the member of an entry's key. `start` is the length of `scoreFloor` without its score. */
export function readEntry(key: Buffer, start: number): { score: number; member: string } {
  return { score: readScore(key, start), member: readText(key, start + SCORE_BYTES) }
}

export function entryPrefixLength(partition: string, index: string): number {
  return writeText(writePrefix(TAG.entry, partition), index)
}

export function readPartition(key: Buffer): string {
  return readText(key, 1)
}

function writePrefix(tag: Tag, partition: string): number {
  scratch[0] = tag
  return writeText(1, partition)
}

function writeScore(partition: string, index: string, score: number): number {
  const start = writeText(writePrefix(TAG.entry, partition), index)
  scratch.writeDoubleBE(score === 0 ? 0 : score, start)
  turnSign(scratch, start)
  return start + SCORE_BYTES
}

function readScore(key: Buffer, start: number): number {
  const bytes = Buffer.from(key.subarray(start, start + SCORE_BYTES))
  if (((bytes[0] as number) & 0x80) === 0)
    for (let i = 0; i < SCORE_BYTES; i++) bytes[i] = ~(bytes[i] as number)
  else bytes[0] = (bytes[0] as number) ^ 0x80
  return bytes.readDoubleBE(0)
}

/** Inverts negative doubles, and the sign bit of positive doubles, so that they sort as unsigned bytes. */
function turnSign(bytes: Buffer, start: number): void {
  if (((bytes[start] as number) & 0x80) === 0) bytes[start] = (bytes[start] as number) | 0x80
  else for (let i = start; i < start + SCORE_BYTES; i++) bytes[i] = ~(bytes[i] as number)
}

/** Writes `text` and its end into the shared buffer, and returns the position after the end. */
function writeText(start: number, text: string): number {
  let at = start
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 1 && unit < 0x80) scratch[at++] = unit
    else at = writeRareUnit(at, unit)
  }
  scratch[at] = 0
  return at + 1
}

function writeRareUnit(start: number, unit: number): number {
  let at = start
  if (unit <= 1) {
    scratch[at++] = 1
    scratch[at++] = unit + 1
  } else if (unit < 0x800) {
    scratch[at++] = 0xc0 | (unit >> 6)
    scratch[at++] = 0x80 | (unit & 0x3f)
  } else {
    scratch[at++] = 0xe0 | (unit >> 12)
    scratch[at++] = 0x80 | ((unit >> 6) & 0x3f)
    scratch[at++] = 0x80 | (unit & 0x3f)
  }
  return at
}

function readText(key: Buffer, start: number): string {
  let text = ''
  let at = start
  while (key[at] !== 0 && at < key.length) {
    const [unit, length] = readUnit(key, at)
    text += String.fromCharCode(unit)
    at += length
  }
  return text
}

function readUnit(key: Buffer, at: number): [unit: number, length: number] {
  const first = key[at] as number
  const second = key[at + 1] as number
  if (first === 1) return [second - 1, 2]
  if (first < 0x80) return [first, 1]
  if (first < 0xe0) return [((first & 0x1f) << 6) | (second & 0x3f), 2]
  return [((first & 0x0f) << 12) | ((second & 0x3f) << 6) | ((key[at + 2] as number) & 0x3f), 3]
}

/** The bounds of all keys of one kind in one partition. */
export function allIn(tag: Tag, partition: string): { start: Buffer; end: Buffer } {
  const length = writePrefix(tag, partition)
  const start = keep(view(length))
  scratch[length] = AFTER_TEXT
  return { start, end: keep(view(length + 1)) }
}

/** The names in the key of a record, member, limit or number, the partition first. */
export function readNames(key: Buffer): string[] {
  const names: string[] = []
  for (let at = 1; at < key.length; at = key.indexOf(0, at) + 1) names.push(readText(key, at))
  return names
}

/** Index, score and member in an entry's key. */
export function readWholeEntry(key: Buffer): { index: string; score: number; member: string } {
  const index = key.indexOf(0, 1) + 1
  return { index: readText(key, index), ...readEntry(key, key.indexOf(0, index) + 1) }
}
