import type { Range } from '../record/field.ts'
import type { ReadEvent } from '../record/read-event.ts'
import { requireThat } from '../record/require.ts'
import type { Ledger } from './ledger.ts'

/** The laws of deletions (docs/evidence.md). */

/** Requires that the end moves forward only. */
export function disclosuresExpired(
  ledger: Ledger,
  { details: { up_to } }: ReadEvent<{ readonly up_to: number }>,
): void {
  requireThat(Number.isSafeInteger(up_to) && up_to > ledger.expired, 'those disclosures had expired before')
  ledger.expired = up_to
}

interface Erased {
  readonly members: number
  readonly records: readonly Range[]
}

/** Requires records in order, and a member of each at least. */
export function disclosuresErased(_: Ledger, { details: { members, records } }: ReadEvent<Erased>): void {
  let before = 0
  let count = 0
  for (const [first, last] of records) {
    requireThat(first > before && last >= first, 'its records are out of order')
    before = last
    count += last - first + 1
  }
  requireThat(members >= count, 'it erased fewer members than records')
}
