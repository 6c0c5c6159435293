import { EMPTY_TREE, grown, rootOf } from '../domain/merkle.ts'

/*
 * The layout of C2SP tlog-tiles. A bundle has 256 records, and a tile of level 0 has their hashes. A tile of a higher
 * level has one hash for each full tile below it. The last bundle, and the last tile of each level, may be partial.
 */

/** Records of a full bundle, and hashes of a full tile. */
export const WIDTH = 256
export const HASH_BYTES = 32
/** The file with the newest signed note. */
export const CHECKPOINT = 'checkpoint'

/** A bundle of records, or the level of a tile of hashes. */
export type Kind = 'entries' | number

/** A bundle or tile, counted from 0, and how much of it is filled. */
export interface Part {
  readonly index: number
  readonly width: number
}

/** The path of a bundle or tile: 1234067 is `x001/x234/067`. */
export function pathOf(kind: Kind, { index, width }: Part): string {
  const digits = String(index)
  const parts = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/.{3}/g) ?? []
  const name = parts.map((part, i) => (i < parts.length - 1 ? `x${part}` : part)).join('/')
  return `tile/${kind}/${name}${width === WIDTH ? '' : `.p/${width}`}`
}

/** A path of this layout. A server answers no other. */
export const TILE_PATH =
  /^tile\/(?:entries|[0-9]|[1-5][0-9])\/(?:x[0-9]{3}\/)*[0-9]{3}(?:\.p\/[1-9][0-9]{0,2})?$/

/** The number of records below one hash of a level. */
const spanOf = (level: number): number => WIDTH ** level

/** The number of hashes of a level in a log of `size` records. */
export const hashesOf = (level: number, size: number): number => Math.floor(size / spanOf(level))

/** The bundles that hold the records from `from` (counted from 0) to before `to`. The last may be partial. */
export function bundlesOf(from: number, to: number): Part[] {
  const first = Math.floor(from / WIDTH)
  const count = to <= from ? 0 : Math.ceil(to / WIDTH) - first
  return Array.from({ length: count }, (_, i) => partAt(first + i, to))
}

/** The part at an index, in a level of `count` hashes. */
const partAt = (index: number, count: number): Part => ({
  index,
  width: Math.min(WIDTH, count - index * WIDTH),
})

export interface Tile {
  readonly path: string
  /** Lowercase hex. */
  readonly hashes: readonly string[]
}

/** The hashes of the partial tile of each level, from level 0 up. A full level has none. */
export interface RightEdge {
  readonly size: number
  readonly levels: readonly (readonly string[])[]
}

export const EMPTY_EDGE: RightEdge = { size: 0, levels: [] }

/** The partial tiles of a log of `size` records, from level 0 up. A level without a partial tile has width 0. */
export function partialParts(size: number): Part[] {
  const parts: Part[] = []
  for (let level = 0; hashesOf(level, size) > 0; level++) {
    const index = Math.floor(hashesOf(level, size) / WIDTH)
    parts.push({ index, width: hashesOf(level, size) - index * WIDTH })
  }
  return parts
}

/** The Merkle tree hash of the whole log (RFC 6962), lowercase hex. */
export function rootOfEdge({ size, levels }: RightEdge): string {
  const frontier = levels.toReversed().flatMap((hashes) => grown(EMPTY_TREE, hashes).frontier)
  return rootOf({ size, frontier })
}

/**
 * Adds hashes of a level: leaves, or full tiles below it whose files are lost. Returns the new edge, and the tiles that
 * became full, each after those below it.
 */
export function grow(
  edge: RightEdge,
  hashes: readonly string[],
  level = 0,
): { readonly edge: RightEdge; readonly full: readonly Tile[] } {
  const levels = edge.levels.map((hashes) => [...hashes])
  const full: Tile[] = []
  let { size } = edge
  for (const added of hashes) {
    size += spanOf(level)
    let hash = added
    for (let at = level; ; at++) {
      while (levels.length <= at) levels.push([])
      const hashes = (levels[at] ??= [])
      hashes.push(hash)
      if (hashes.length < WIDTH) break
      full.push({
        path: pathOf(at, { index: hashesOf(at + 1, size) - 1, width: WIDTH }),
        hashes: [...hashes],
      })
      hash = rootOf(grown(EMPTY_TREE, hashes))
      levels[at] = []
    }
  }
  return { edge: { size, levels }, full }
}

/** The partial tiles that differ from those of the log when it had `before` records, from level 0 up. */
export function partialTiles({ size, levels }: RightEdge, before: number): Tile[] {
  return partialParts(size).flatMap((part, level) =>
    part.width === 0 || hashesOf(level, before) === hashesOf(level, size)
      ? []
      : [{ path: pathOf(level, part), hashes: levels[level] ?? [] }],
  )
}

/** The folders of partial files that a log may have left on its way from `before` to `size`: full files exist now. */
export function outgrownFolders(before: number, size: number): string[] {
  const folders: string[] = []
  for (let level = 0; hashesOf(level, size) >= WIDTH; level++)
    for (let index = hashesOf(level + 1, before); index < hashesOf(level + 1, size); index++)
      for (const kind of level === 0 ? (['entries', 0] as const) : [level])
        folders.push(`${pathOf(kind, { index, width: WIDTH })}.p`)
  return folders
}
