/** The number of calls to draw when there are too many kinds of calls. */
const DRAWN = 10_000
/** A fixed seed, so that the same bundles always produce the same result. */
const SEED = 0x5eed

/**
 * Draws paths through the dimensions with equal probability, each at most once. A path is one class number per
 * dimension.
 */
export function samplePaths(sizes: readonly number[]): readonly (readonly number[])[] {
  const draw = createGenerator(SEED)
  const paths = Array.from({ length: DRAWN }, () => sizes.map((size) => Math.floor(draw() * size)))
  return [...new Map(paths.map((path) => [path.join(), path])).values()]
}

/** Creates a Mulberry32 generator, which is small and good enough to draw examples. */
function createGenerator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
