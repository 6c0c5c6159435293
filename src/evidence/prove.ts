import type { Checkpoint } from '../domain/checkpoint.ts'
import { leafHash } from '../domain/digest.ts'
import { readLogProof, writeLogProof } from '../domain/log-proof.ts'
import { type LeafPlace, pathRanges, rootOfPath } from '../domain/merkle-path.ts'
import { EMPTY_TREE, grown, grownBySubtree, type MerkleTree, rootOf } from '../domain/merkle.ts'
import { linesOf, LongLine } from '../system/lines.ts'
import { FILE_RECORDS, readExportLine, recordIn } from './export-line.ts'
import { openByAny } from './keys.ts'
import { LONGEST_LINE_BYTES } from './verify.ts'

/** The reason why a record cannot be proved, in words. */
export class NotProved extends Error {
  override readonly name = 'NotProved'
}

export interface Wanted {
  /** Number of the record, from 1. */
  readonly number: number
  /** A checkpoint that covers the record, as a signed note. */
  readonly note: string
  readonly verifierKeys: readonly string[]
}

/**
 * A proof of one record of an export (docs/evidence.md, inclusion): a C2SP tlog-proof with the record in it. The proof
 * is for readers who have the key of the log but must not see the other records.
 *
 * @throws NotProved when another key signed the checkpoint, or when the checkpoint does not cover the record or covers
 * other records
 */
export async function proveRecord(source: AsyncIterable<Uint8Array>, wanted: Wanted): Promise<string> {
  const { number, note } = wanted
  const checkpoint = opened(wanted)
  const { size, root, at } = checkpoint
  if (number < 1 || number > size) throw new NotProved(`the checkpoint covers the records 1 to ${size}`)
  const place = { index: number - 1, size }
  const { whole, record, path } = await read(source, place).catch(unreadable)
  if (whole.size < size)
    throw new NotProved(`${size} records were signed, but the export has only ${whole.size}`)
  if (record === undefined || rootOf(whole) !== root)
    throw new NotProved(`the first ${size} records are not the records that were signed at ${at}`)
  return writeLogProof({ record, index: place.index, path, note })
}

/**
 * A proof of one record by the hashes of its path, which `read` brings.
 *
 * @throws NotProved as `proveRecord`
 */
export async function proveByPath(
  read: (place: LeafPlace) => Promise<{ readonly record: string; readonly path: readonly string[] }>,
  wanted: Wanted,
): Promise<string> {
  const { number, note } = wanted
  const { size, root, at } = opened(wanted)
  if (number < 1 || number > size) throw new NotProved(`the checkpoint covers the records 1 to ${size}`)
  const place = { index: number - 1, size }
  const { record, path } = await read(place)
  if (rootOfPath(leafHash(record), place, path) !== root)
    throw new NotProved(`record ${number} is not in the log of ${size} records that was signed at ${at}`)
  return writeLogProof({ record, index: place.index, path, note })
}

interface Export {
  readonly whole: MerkleTree
  /** Returns the record at the given position. */
  readonly record: string | undefined
  readonly path: readonly string[]
}

/** Reads up to the end of the checkpoint. It keeps only frontiers, so the memory is constant. */
async function read(source: AsyncIterable<Uint8Array>, place: LeafPlace): Promise<Export> {
  const beside = pathRanges(place).map((range) => ({ ...range, tree: EMPTY_TREE }))
  let whole: MerkleTree = EMPTY_TREE
  let record: string | undefined
  for await (const { bytes } of linesOf(source, LONGEST_LINE_BYTES)) {
    const index = whole.size
    if (index === place.size) break
    if (bytes.length === 0) continue
    const { leaf, text, lost, number = 0 } = readExportLine(bytes)
    if (lost !== undefined) {
      if (number !== index + 1) continue
      const file = { start: index, end: index + FILE_RECORDS }
      whole = grownBySubtree(whole, lost, FILE_RECORDS)
      const part = beside.find(({ start, end }) => start <= file.start && file.end <= end)
      if (part) part.tree = grownBySubtree(part.tree, lost, FILE_RECORDS)
      continue
    }
    whole = grown(whole, [leaf])
    if (index === place.index) record = text
    const part = beside.find(({ start, end }) => start <= index && index < end)
    if (part) part.tree = grown(part.tree, [leaf])
  }
  return { whole, record, path: beside.map(({ tree }) => rootOf(tree)) }
}

function unreadable(error: unknown): never {
  if (error instanceof LongLine) throw new NotProved('this is not an export of evidence')
  throw error
}

function opened({ note, verifierKeys }: Pick<Wanted, 'note' | 'verifierKeys'>): Checkpoint {
  const checkpoint = openByAny(note, verifierKeys)
  if (checkpoint === undefined) throw new NotProved('the checkpoint is not signed by this key')
  return checkpoint
}

export interface Proved {
  readonly number: number
  /** The record, byte for byte. */
  readonly record: string
  /** The checkpoint that covers the record. */
  readonly checkpoint: Checkpoint
}

/** The content that a proof proves to a holder of the log's key. @throws NotProved */
export function openProof(text: string, verifierKeys: readonly string[]): Proved {
  const proof = readLogProof(text)
  if (proof === undefined) throw new NotProved('this is not a tlog-proof that contains a record')
  const { record, index, path, note } = proof
  const checkpoint = opened({ note, verifierKeys })
  const place = { index, size: checkpoint.size }
  if (index >= checkpoint.size || rootOfPath(leafHash(record), place, path) !== checkpoint.root)
    throw new NotProved('the record is not in the signed log')
  if (recordIn(record) === undefined)
    throw new NotProved('the log holds something other than a record in that place')
  return { number: index + 1, record, checkpoint }
}
