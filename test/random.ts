/** Numbers in [0, 1) that a seed determines (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Choices that a seed determines. */
export interface Dice {
  /** A whole number from 0 to below `count`. */
  readonly below: (count: number) => number
  /** True once in `count` times. */
  readonly once: (count: number) => boolean
  readonly one: <T>(list: readonly T[]) => T | undefined
}

export function diceOf(seed: number): Dice {
  const random = seeded(seed)
  const below = (count: number): number => Math.floor(random() * count)
  return { below, once: (count) => below(count) === 0, one: (list) => list[below(list.length)] }
}
