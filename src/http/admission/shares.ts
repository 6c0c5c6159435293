import { TIMES_WHAT_IS_LEFT } from '../../domain/limit-window.ts'

/** A limited amount (places, bytes, polls), of which a part always remains for names that have none. */
export type Shares = ReturnType<typeof createShares>

export function createShares(most: number) {
  const taken = new Map<string, number>()
  let sum = 0
  return {
    /**
     * Reserves `amount` for `name`. Returns false and reserves nothing when the name would then have more than three
     * times the rest.
     */
    take(name: string, amount: number): boolean {
      const own = (taken.get(name) ?? 0) + amount
      if (own > TIMES_WHAT_IS_LEFT * (most - sum - amount)) return false
      taken.set(name, own)
      sum += amount
      return true
    },
    /** Releases a reserved amount. */
    free(name: string, amount: number): void {
      const own = (taken.get(name) ?? 0) - amount
      if (own > 0) taken.set(name, own)
      else taken.delete(name)
      sum -= amount
    },
    /** The sum of all reserved amounts. */
    held: () => sum,
  }
}

/** Shares of tenants, and within each tenant shares of its holders by the same rule. */
export type SharesOfTenants = ReturnType<typeof createSharesOfTenants>

/** A single tenant gets at most three quarters of the amount, and a single holder three quarters of that. */
export function createSharesOfTenants(most: number) {
  const tenants = createShares(most)
  const within = new Map<string, Shares>()
  const mostOfTenant = (most * TIMES_WHAT_IS_LEFT) / (TIMES_WHAT_IS_LEFT + 1)
  return {
    /** Returns false and reserves nothing when the tenant or its holder would then have more than its share. */
    take(tenant: string, holder: string, amount: number): boolean {
      const holders = within.get(tenant) ?? createShares(mostOfTenant)
      if (!holders.take(holder, amount)) return false
      if (tenants.take(tenant, amount)) {
        within.set(tenant, holders)
        return true
      }
      holders.free(holder, amount)
      return false
    },
    free(tenant: string, holder: string, amount: number): void {
      const holders = within.get(tenant)
      holders?.free(holder, amount)
      if (holders?.held() === 0) within.delete(tenant)
      tenants.free(tenant, amount)
    },
    held: () => tenants.held(),
  }
}
