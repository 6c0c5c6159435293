import { sha256 } from './digest.ts'

/**
 * An append-only Merkle tree (RFC 6962 section 2.1) as its frontier: the hashes of its perfect subtrees, largest first.
 * The frontier has one hash for each 1 in the binary form of the tree's size. Hashes are lowercase hex.
 */
export interface MerkleTree {
  readonly size: number
  readonly frontier: readonly string[]
}

export const EMPTY_TREE: MerkleTree = { size: 0, frontier: [] }

/** The tree with more leaves, given as their hashes (`leafHash`). */
export function grown({ size, frontier }: MerkleTree, leaves: readonly string[]): MerkleTree {
  const subtrees = [...frontier]
  let count = size
  for (const leaf of leaves) {
    let hash = leaf
    for (let rest = count; rest % 2 === 1; rest = Math.floor(rest / 2))
      hash = nodeHash(subtrees.pop() ?? '', hash)
    subtrees.push(hash)
    count += 1
  }
  return { size: count, frontier: subtrees }
}

/** The tree with one more subtree of `width` leaves, given as its hash. The size is a multiple of the width. */
export function grownBySubtree({ size, frontier }: MerkleTree, root: string, width: number): MerkleTree {
  return { size: size + width, frontier: grown({ size: size / width, frontier }, [root]).frontier }
}

/** The Merkle tree hash of all leaves; for an empty tree, the hash of the empty string. */
export function rootOf({ frontier }: MerkleTree): string {
  if (frontier.length === 0) return sha256('')
  return frontier.reduceRight((right, left) => nodeHash(left, right))
}

/** The hash of a node over two subtrees. */
export function nodeHash(left: string, right: string): string {
  return sha256(Buffer.from(`01${left}${right}`, 'hex'))
}
