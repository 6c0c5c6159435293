import { nodeHash } from './merkle.ts'

/** The leaves from `start` (counted from 0) to before `end`. */
export interface LeafRange {
  readonly start: number
  readonly end: number
}

/** The position of a leaf, counted from 0, in a tree of `size` leaves. */
export interface LeafPlace {
  readonly index: number
  readonly size: number
}

/** The subtrees whose hashes prove that a leaf is in the tree (RFC 6962 section 2.1.1), from the leaf's sibling up. */
export function pathRanges({ index, size }: LeafPlace, start = 0): LeafRange[] {
  if (size <= 1) return []
  const left = leftSize(size)
  return index < left
    ? [...pathRanges({ index, size: left }, start), { start: start + left, end: start + size }]
    : [...pathRanges({ index: index - left, size: size - left }, start + left), { start, end: start + left }]
}

/**
 * Computes the root from a leaf and the hashes of its path, which are in the order of `pathRanges`. Returns undefined
 * for too many or too few hashes.
 */
export function rootOfPath(
  leaf: string,
  { index, size }: LeafPlace,
  path: readonly string[],
): string | undefined {
  if (size <= 1) return path.length === 0 && index === 0 && size === 1 ? leaf : undefined
  const last = path.at(-1)
  const rest = path.slice(0, -1)
  const left = leftSize(size)
  const isLeft = index < left
  const below = isLeft ? { index, size: left } : { index: index - left, size: size - left }
  const own = rootOfPath(leaf, below, rest)
  if (last === undefined || own === undefined) return undefined
  return isLeft ? nodeHash(own, last) : nodeHash(last, own)
}

/** The largest power of two below `size`. Does not use `Math.log2`, which rounds for large sizes. */
function leftSize(size: number): number {
  let left = 1
  while (left * 2 < size) left *= 2
  return left
}
