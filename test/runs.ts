/** Whether this is the soak (`npm run test:soak`): every property over all of its cases. */
export const IS_SOAK = process.env['COUNTERSIGN_SOAK'] !== undefined

/** So much of the cases of a property the daily run draws; they are the same in each. */
const DAILY_SHARE = 1 / 5

/** Cases of a property: all in the soak, a share of them in the daily run. */
export const runs = (count: number): number => (IS_SOAK ? count : Math.ceil(count * DAILY_SHARE))
