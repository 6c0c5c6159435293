/** Whether this is the soak (`npm run test:soak`): every property over all of its cases. */
export const IS_SOAK = process.env['COUNTERSIGN_SOAK'] !== undefined

/** The share of a property's cases that a run draws, the same cases in each: `COUNTERSIGN_QUICK` is for the loop of whoever changes the code. */
const SHARE = process.env['COUNTERSIGN_QUICK'] === undefined ? 1 / 20 : 1 / 100

/** Cases of a property: all in the soak, a share of them otherwise. */
export const runs = (count: number): number => (IS_SOAK ? count : Math.ceil(count * SHARE))
