/** A bounded amount (places, bytes, polls) of which something is always left for a name that has nothing yet. */
export interface Shares {
  /** Takes `amount` for `name`. False, and nothing has changed, when the name would then have more than three times what is left. */
  take(name: string, amount: number): boolean
  /** Gives back what was taken. */
  free(name: string, amount: number): void
  /** The sum of all that is taken. */
  held(): number
}

/** A name that is alone gets three quarters of the amount; with every other name that takes part its share shrinks. */
const TIMES_WHAT_IS_LEFT = 3

export function createShares(most: number): Shares {
  const taken = new Map<string, number>()
  let sum = 0
  return {
    take(name, amount) {
      const own = (taken.get(name) ?? 0) + amount
      if (own > TIMES_WHAT_IS_LEFT * (most - sum - amount)) return false
      taken.set(name, own)
      sum += amount
      return true
    },
    free(name, amount) {
      const own = (taken.get(name) ?? 0) - amount
      if (own > 0) taken.set(name, own)
      else taken.delete(name)
      sum -= amount
    },
    held: () => sum,
  }
}
