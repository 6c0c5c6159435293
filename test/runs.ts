/**
 * How much a run proves. The check has one fault of each kind and a few random cases, the same in each run. With
 * COUNTERSIGN_TEST_SOAK=short it has some of each: CI runs that when something changed (test/soak.mjs). With
 * COUNTERSIGN_TEST_SOAK=1 it has hundreds, and other random cases each time.
 */
const SOAK = process.env['COUNTERSIGN_TEST_SOAK']
/** Whether the run has what only a soak has: measurements of growth, of memory, and of all that is rarely new. */
export const IS_SOAK = SOAK !== undefined
/** Whether the run draws other random cases each time. */
export const IS_LONG = IS_SOAK && SOAK !== 'short'

/** A number of rounds for each length of a run. */
export function rounds({ check, short, long }: { check: number; short: number; long: number }): number {
  if (!IS_SOAK) return check
  return IS_LONG ? long : short
}

/**
 * The share of a property's cases that a run draws: `COUNTERSIGN_TEST_QUICK` is for the loop of a developer who changes
 * the code.
 */
const SHARE = process.env['COUNTERSIGN_TEST_QUICK'] === undefined ? 1 / 20 : 1 / 100

/** Cases of a property: all in the soak, a share of them otherwise. */
export const runs = (count: number): number => (IS_LONG ? count : Math.ceil(count * SHARE))
