import type { StoredEvent } from '../../store/store.ts'

/** The number of records in the first page, before the size of records is known. */
export const FIRST_PAGE = 16
/**
 * Bounds of a page in characters. After a page below the first bound, the next page has more records. After a page
 * above the second bound, the next page has fewer records.
 */
const FEW_UNITS = 300_000
const MANY_UNITS = 1_000_000

/**
 * The number of records for the next page. A record may hold a few words or a whole request body, and all other
 * requests wait while a page is read.
 */
export function nextPageSize(page: number, events: readonly StoredEvent[], most: number): number {
  const units = events.reduce((sum, { body }) => sum + body.length, 0)
  if (units < FEW_UNITS) return Math.min(2 * page, most)
  return units > MANY_UNITS ? Math.max(1, Math.floor(page / 4)) : page
}
