import { describe, expect, it } from 'vitest'
import { sha256 } from '../../src/domain/digest.ts'
import { EMPTY_TREE, grown, rootOf } from '../../src/domain/merkle.ts'
import { decodeBundle, decodeHashes, encodeBundle, encodeHashes } from '../../src/tiles/bundle.ts'
import {
  bundlesOf,
  EMPTY_EDGE,
  grow,
  outgrownFolders,
  partialTiles,
  pathOf,
  type RightEdge,
  rootOfEdge,
  TILE_PATH,
} from '../../src/tiles/layout.ts'

const leaves = (count: number): string[] => Array.from({ length: count }, (_, i) => sha256(String(i)))

/** The paths of all tiles of a log that grew in these steps. */
function pathsAfter(...sizes: number[]): string[] {
  let edge: RightEdge = EMPTY_EDGE
  const paths: string[] = []
  for (const size of sizes) {
    const before = edge.size
    const grownBy = grow(edge, leaves(size).slice(before))
    edge = grownBy.edge
    paths.push(...[...grownBy.full, ...partialTiles(edge, before)].map(({ path }) => path))
  }
  return paths
}

describe('the layout of C2SP tlog-tiles', () => {
  it('paths follow the examples in the specification', () => {
    expect(pathOf(0, { index: 1_234_067, width: 256 })).toBe('tile/0/x001/x234/067')
    expect(pathOf('entries', { index: 1_234_067, width: 8 })).toBe('tile/entries/x001/x234/067.p/8')
    expect(pathOf(2, { index: 0, width: 1 })).toBe('tile/2/000.p/1')
    expect(pathOf(0, { index: 999, width: 256 })).toBe('tile/0/999')
    expect(pathOf(0, { index: 1_000, width: 256 })).toBe('tile/0/x001/000')
  })

  it('a server knows its own paths, and no others', () => {
    for (const path of ['tile/0/000', 'tile/entries/x001/000.p/255', 'tile/10/999.p/1'])
      expect(TILE_PATH.test(path), path).toBe(true)
    for (const path of [
      'tile/0/../x',
      'tile/0/1',
      'tile/0/x00/000',
      'tile/0/000.p/0',
      'tile/64/000',
      'tile/0/000.gz',
    ])
      expect(TILE_PATH.test(path), path).toBe(false)
  })

  it.each([0, 1, 255, 256, 257, 300, 2_252, 65_536, 70_000])(
    'the edge of %i records gives their root',
    (size) => {
      const all = leaves(size)
      const { edge } = grow(EMPTY_EDGE, all)
      expect(rootOfEdge(edge)).toBe(rootOf(grown(EMPTY_TREE, all)))
    },
  )

  it('tiles do not depend on the steps in which a log grew', () => {
    const full = (paths: string[]): string[] => paths.filter((path) => !path.includes('.p/')).sort()
    expect(full(pathsAfter(1, 255, 256, 700, 65_535, 70_000))).toEqual(full(pathsAfter(70_000)))
    expect(full(pathsAfter(70_000))).toHaveLength(273 + 1)
  })

  it('each tile follows those below it, and only changed tiles are written', () => {
    expect(pathsAfter(255, 257, 258)).toEqual([
      'tile/0/000.p/255',
      'tile/0/000',
      'tile/0/001.p/1',
      'tile/1/000.p/1',
      'tile/0/001.p/2',
    ])
    expect(pathsAfter(65_536).slice(-3)).toEqual(['tile/0/255', 'tile/1/000', 'tile/2/000.p/1'])
  })

  it('bundles cover the new records, and the last one may be partial', () => {
    expect(bundlesOf(0, 0)).toEqual([])
    expect(bundlesOf(300, 300)).toEqual([])
    expect(bundlesOf(0, 256)).toEqual([{ index: 0, width: 256 }])
    expect(bundlesOf(255, 257)).toEqual([
      { index: 0, width: 256 },
      { index: 1, width: 1 },
    ])
  })

  it('partial tiles go when their full tile exists, and never before', () => {
    expect(outgrownFolders(0, 255)).toEqual([])
    expect(outgrownFolders(300, 400)).toEqual([])
    expect(outgrownFolders(200, 256)).toEqual(['tile/entries/000.p', 'tile/0/000.p'])
    // an interrupted writer may have left some of them in each
    expect(outgrownFolders(300, 800)).toEqual([
      'tile/entries/001.p',
      'tile/0/001.p',
      'tile/entries/002.p',
      'tile/0/002.p',
    ])
    expect(outgrownFolders(65_500, 65_536)).toEqual(['tile/entries/255.p', 'tile/0/255.p', 'tile/1/000.p'])
  })

  it('bundles and tiles are read as they were written, and other bytes are refused', () => {
    const records = ['', 'a', 'é'.repeat(30_000)].map((text) => Buffer.from(text))
    expect(decodeBundle(encodeBundle(records))).toEqual(records)
    expect(decodeBundle(Buffer.of(0, 2, 65))).toBeUndefined()
    expect(decodeBundle(Buffer.of(0))).toBeUndefined()
    const full = encodeBundle(Array<Buffer>(256).fill(Buffer.of(1)))
    expect(decodeBundle(full)).toHaveLength(256)
    for (const more of [Buffer.of(0), Buffer.of(0, 1, 1)])
      expect(decodeBundle(Buffer.concat([full, more]))).toBeUndefined()
    expect(decodeHashes(encodeHashes(leaves(3)))).toEqual(leaves(3))
  })
})
