import type { StoredEvent } from '../../store/store.ts'

/** Records of the first page, when nobody knows yet how large they are. */
export const FIRST_PAGE = 16
/** Characters of a page: with fewer the next one has more records, with more it has fewer. */
const FEW_UNITS = 300_000
const MANY_UNITS = 1_000_000

/** How many records the page behind this one has: one may hold a few words or a whole request body, and whatever else is asked waits for a page. */
export function nextPageSize(page: number, events: readonly StoredEvent[], most: number): number {
  const units = events.reduce((sum, { body }) => sum + body.length, 0)
  if (units < FEW_UNITS) return Math.min(2 * page, most)
  return units > MANY_UNITS ? Math.max(1, Math.floor(page / 4)) : page
}
