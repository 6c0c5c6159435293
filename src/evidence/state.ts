import { deserialize, serialize } from 'node:v8'
import { sha256 } from '../domain/digest.ts'
import type { MerkleTree } from '../domain/merkle.ts'
import { FORMAT } from '../domain/format.ts'
import type { Replayed } from './replay.ts'

/**
 * The result of a verification up to a record, with which the next one begins. It is as secret as the evidence, and its
 * keeper must protect it from changes.
 */
export interface VerifiedState {
  /** The log, by the name of its key. */
  readonly log: string
  readonly tree: MerkleTree
  /** The latest time of a record, ms since 1970. */
  readonly latest: number
  readonly replayed: Replayed
}

/** Changes with each change of what the laws of replay remember (src/events/laws/ledger.ts). */
const MARK = `${FORMAT} verified`

export function writeState(state: VerifiedState): Buffer {
  const content = serialize(state)
  return Buffer.concat([Buffer.from(`${MARK} ${sha256(content)}\n`), content])
}

/** The state in a file. Returns undefined for a file of another version, and for a damaged one. */
export function readState(file: Buffer): VerifiedState | undefined {
  const end = file.indexOf('\n')
  const content = file.subarray(end + 1)
  const isWhole = file.toString('latin1', 0, Math.max(end, 0)) === `${MARK} ${sha256(content)}`
  return isWhole ? (deserialize(content) as VerifiedState) : undefined
}
