import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { leafHash } from '../../src/domain/digest.ts'
import { EMPTY_TREE, grown, rootOf } from '../../src/domain/merkle.ts'

/** RFC 6962 section 2.1, against its own recursive definition and its published vectors. */

const hash = (...parts: readonly Uint8Array[]): Buffer => {
  const sum = createHash('sha256')
  for (const part of parts) sum.update(part)
  return sum.digest()
}

/** MTH, word for word. */
function mth(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return hash()
  if (leaves.length === 1) return hash(Buffer.of(0), leaves[0] as Buffer)
  let split = 1
  while (split * 2 < leaves.length) split *= 2
  return hash(Buffer.of(1), mth(leaves.slice(0, split)), mth(leaves.slice(split)))
}

describe('the tree', () => {
  it('has the root that RFC 6962 defines, for every size to 200', () => {
    const leaves = Array.from({ length: 200 }, (_, i) => `record ${i}`)
    let tree = EMPTY_TREE
    for (let size = 0; size <= leaves.length; size++) {
      expect(rootOf(tree)).toBe(mth(leaves.slice(0, size).map((text) => Buffer.from(text))).toString('hex'))
      expect(tree.frontier).toHaveLength(size.toString(2).replaceAll('0', '').length)
      tree = grown(tree, [leafHash(leaves[size] ?? '')])
    }
  })

  it('is the same for every way of growing the tree in steps', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.string(), { maxLength: 20 }), { maxLength: 20 }), (steps) => {
        const hashes = steps.map((step) => step.map(leafHash))
        const stepwise = hashes.reduce(grown, EMPTY_TREE)
        expect(stepwise).toEqual(grown(EMPTY_TREE, hashes.flat()))
      }),
    )
  })

  it('matches the test vectors of certificate-transparency', () => {
    const leaves = [
      '',
      '00',
      '10',
      '2021',
      '3031',
      '40414243',
      '5051525354555657',
      '606162636465666768696a6b6c6d6e6f',
    ]
    const hashes = leaves.map((hex) => hash(Buffer.of(0), Buffer.from(hex, 'hex')).toString('hex'))
    expect([1, 2, 3, 8].map((size) => rootOf(grown(EMPTY_TREE, hashes.slice(0, size))))).toEqual([
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
      'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
      'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
      '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
    ])
  })
})
