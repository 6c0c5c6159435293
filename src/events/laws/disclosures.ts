import type { Range } from '../record/field.ts'
import type { ReadEvent } from '../record/read-event.ts'
import { requireThat } from '../record/require.ts'
import type { Ledger } from './ledger.ts'

/** The laws of deletions (docs/evidence.md). A record explains deletions of earlier records only. */

/** Requires that the end moves forward only, and stays before the record itself. */
export function disclosuresExpired(
  ledger: Ledger,
  { details: { up_to } }: ReadEvent<{ readonly up_to: number }>,
): void {
  requireThat(Number.isSafeInteger(up_to) && up_to > ledger.expired, 'those disclosures had expired before')
  requireThat(up_to < ledger.records, 'those disclosures did not exist yet')
  ledger.expired = up_to
}

interface Erased {
  readonly members: number
  readonly records: readonly Range[]
}

/** Requires earlier records, in order, and a member of each at least. */
export function disclosuresErased(
  ledger: Ledger,
  { details: { members, records } }: ReadEvent<Erased>,
): void {
  let before = 0
  let count = 0
  for (const [first, last] of records) {
    requireThat(first > before && last >= first, 'its records are out of order')
    before = last
    count += last - first + 1
  }
  requireThat(before < ledger.records, 'its records did not exist yet')
  requireThat(members >= count, 'it erased fewer members than records')
}

interface Lost {
  readonly from: number
  readonly to: number
  readonly roots: readonly string[]
}

/** Requires whole record files of earlier records, each lost once, with a hash of each. */
export function logLost(ledger: Ledger, { details: { from, to, roots } }: ReadEvent<Lost>): void {
  requireThat(
    from % FILE === 1 && to === from - 1 + roots.length * FILE,
    'its hashes are not of its record files',
  )
  requireThat(to < ledger.records, 'its records did not exist yet')
  requireThat(
    !ledger.lost.some(([first, last]) => from <= last && first <= to),
    'a part of it was lost before',
  )
  ledger.lost.push([from, to])
}

/** Records of a record file: a full bundle of the tiles. */
const FILE = 256
