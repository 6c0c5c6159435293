import { describe, expect, it } from 'vitest'
import { leafHash, sha256 } from '../../src/domain/digest.ts'
import { pathRanges, rootOfPath } from '../../src/domain/merkle-path.ts'
import { EMPTY_TREE, grown, rootOf } from '../../src/domain/merkle.ts'

/** MTH and PATH over all leaves, as RFC 6962 section 2.1 writes them. Our results must equal theirs. */
const leaves = Array.from({ length: 130 }, (_, i) => leafHash(`leaf ${i}`))
const node = (left: string, right: string): string => sha256(Buffer.from(`01${left}${right}`, 'hex'))

function split(list: readonly string[]): [readonly string[], readonly string[]] {
  let k = 1
  while (k * 2 < list.length) k *= 2
  return [list.slice(0, k), list.slice(k)]
}

function mth(list: readonly string[]): string {
  if (list.length < 2) return list[0] ?? ''
  const [left, right] = split(list)
  return node(mth(left), mth(right))
}

function path(m: number, list: readonly string[]): string[] {
  if (list.length < 2) return []
  const [left, right] = split(list)
  return m < left.length ? [...path(m, left), mth(right)] : [...path(m - left.length, right), mth(left)]
}

const ownPath = (index: number, size: number): string[] =>
  pathRanges({ index, size }).map(({ start, end }) => rootOf(grown(EMPTY_TREE, leaves.slice(start, end))))

describe('an inclusion proof', () => {
  it('equals that of RFC 6962 for each leaf of each tree, and leads to the root', () => {
    for (let size = 1; size <= leaves.length; size++) {
      const root = mth(leaves.slice(0, size))
      for (let index = 0; index < size; index++) {
        const proof = ownPath(index, size)
        expect(proof).toEqual(path(index, leaves.slice(0, size)))
        expect(rootOfPath(leaves[index] ?? '', { index, size }, proof)).toBe(root)
      }
    }
  })

  it('leads to no root for another leaf, index or size, or after a change', () => {
    for (const size of [1, 2, 3, 7, 8, 9, 64, 100]) {
      const root = mth(leaves.slice(0, size))
      for (let index = 0; index < size; index++) {
        const leaf = leaves[index] ?? ''
        const proof = ownPath(index, size)
        const forged: [string, { index: number; size: number }, string[]][] = [
          [leaves[(index + 1) % 130] ?? '', { index, size }, proof],
          [leaf, { index, size }, [...proof, leaf]],
          ...proof.map((_, i): (typeof forged)[number] => [leaf, { index, size }, proof.toSpliced(i, 1)]),
          ...proof.map((_, i): (typeof forged)[number] => [leaf, { index, size }, proof.with(i, leaf)]),
          ...Array.from({ length: size }, (_, other): (typeof forged)[number] => [
            leaf,
            { index: other, size },
            proof,
          ]).toSpliced(index, 1),
        ]
        for (const [one, place, under] of forged) expect(rootOfPath(one, place, under)).not.toBe(root)
      }
    }
  })

  it('leads to no root with a hash too few or too many', () => {
    for (const size of [1, 2, 3, 7, 8, 9, 64, 100])
      for (let index = 0; index < size; index++) {
        const proof = ownPath(index, size)
        const wrong = [[...proof, 'ab'.repeat(32)], ...proof.map((_, i) => proof.toSpliced(i, 1))]
        for (const one of wrong) expect(rootOfPath(leaves[index] ?? '', { index, size }, one)).toBeUndefined()
      }
  })

  it('exists in trees of any size', () => {
    const size = 2 ** 53 - 1
    const ranges = pathRanges({ index: size - 1, size })
    expect(ranges.reduce((sum, { start, end }) => sum + end - start, 0)).toBe(size - 1)
    expect(rootOfPath('00', { index: 0, size: 0 }, [])).toBeUndefined()
    expect(rootOfPath('00', { index: 1, size: 1 }, [])).toBeUndefined()
  })
})
