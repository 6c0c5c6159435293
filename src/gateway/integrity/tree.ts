import { leafHash } from '../../domain/digest.ts'
import { EMPTY_TREE, grown, grownBySubtree, type MerkleTree, rootOf } from '../../domain/merkle.ts'
import type { Fault } from '../../store/archive.ts'
import { WIDTH } from '../../tiles/layout.ts'
import { fault, type PartCheck } from './part.ts'
import type { CheckpointRecord } from '../core/records.ts'

/** Maximum number of the newest records that a tree may lack and still be checked. */
const RECENT = 10_000

/**
 * Checks that the tree covers the first records of evidence, and that the last checkpoint has its root (G13). Events
 * precede records.
 */
export function checkTree(): PartCheck {
  /** The tree over all events except the most recent. */
  let old: MerkleTree = EMPTY_TREE
  let recent: string[] = []
  let newest: CheckpointRecord | undefined
  let isThere = false

  /** The result is undefined for a size that is too old. */
  const treeAt = (size: number): MerkleTree | undefined =>
    size < old.size ? undefined : grown(old, recent.slice(0, size - old.size))

  const compare = ({ size, frontier }: MerkleTree): Fault[] => {
    const tree = treeAt(size)
    if (tree === undefined) return []
    if (tree.size < size)
      return [fault('G13', `the tree covers ${size} records, but only ${tree.size} exist`)]
    if (tree.frontier.join() === frontier.join()) return []
    return [fault('G13', `the tree is not that of the first ${size} records`)]
  }

  return {
    event({ body }) {
      recent.push(leafHash(body))
      if (recent.length < 2 * RECENT) return []
      old = grown(old, recent.slice(0, RECENT))
      recent = recent.slice(RECENT)
      return []
    },
    lost({ root }) {
      old = grownBySubtree(grown(old, recent), root, WIDTH)
      recent = []
    },
    record(type, _, value) {
      if (type === 'checkpoint') {
        const checkpoint = value as CheckpointRecord
        if (newest === undefined || checkpoint.size > newest.size) newest = checkpoint
      }
      if (type !== 'tree') return []
      isThere = true
      return [...compare(value as MerkleTree), ...compareRoot(newest, value as MerkleTree)]
    },
    end: () =>
      newest === undefined || isThere
        ? []
        : [fault('G13', `${newest.size} records were signed, but no tree covers them`)],
  }
}

function compareRoot(newest: CheckpointRecord | undefined, tree: MerkleTree): Fault[] {
  if (newest?.size === tree.size && newest.root === rootOf(tree)) return compareNote(newest)
  return [fault('G13', `no checkpoint has the root of the tree of ${tree.size} records`)]
}

/**
 * Compares the note with its record, because readers receive the note. The second line of the note is the size, and the
 * third is the root (C2SP tlog-checkpoint).
 */
function compareNote({ size, root, note }: CheckpointRecord): Fault[] {
  const [, noted, hash] = note.split('\n')
  if (noted === String(size) && hash === Buffer.from(root, 'hex').toString('base64')) return []
  return [fault('G13', `the note of the checkpoint of ${size} records differs from its record`)]
}
