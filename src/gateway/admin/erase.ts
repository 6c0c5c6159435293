import { GatewayError } from '../../contract/errors.ts'
import type { Selection } from '../../domain/erasure.ts'
import { ADMIN } from '../../domain/evidence.ts'
import { Ranges } from '../../domain/ranges.ts'
import type { Deps } from '../core/deps.ts'
import { record } from '../core/event-record.ts'
import { ALL, purgeAt } from '../core/expiry-index.ts'
import { type KnownLegalHolds, legalHoldsNow } from '../core/legal-holds.ts'
import { TilesUnavailable } from '../../store/store.ts'
import { put, read, type Records, unchanged } from '../core/records.ts'
import { type Plan, storeCall, transact } from '../core/transact.ts'
import { type Found, findErasable, startOf, targetOf } from './find-erasable.ts'

/*
 * Erases what a selection names (docs/how-to/erase-data.md), in parts. A record of evidence comes before each part, as
 * an intention that any later run finishes. The log keeps its commitments, and each erased member leaves its hash.
 */

export interface Erasure {
  /** Records of evidence with erased members. */
  readonly records: number
  readonly members: number
  /** Deleted threads; those that still wait are withdrawn first. */
  readonly threads: number
  readonly waiting: number
  /** Times of the first and the last of these records, RFC 3339. */
  readonly since?: string
  readonly until?: string
}

/** Records or threads of one part, whose record of evidence stays far below the limit of an entry in the log. */
const PART = 1_000

/** Counts the data that `erase` would delete now. @throws GatewayError `invalid_request` for a name that is no field */
export async function previewErasure(
  deps: Deps,
  { tenant, selection, inStore }: ErasureScope,
): Promise<Erasure> {
  const target = targetOf(selection)
  return countsOf(await search(deps, tenant, { target, inStore, from: startOf() }))
}

export interface ErasureScope {
  readonly tenant: string
  readonly selection: Selection
  /** True to leave out records that are only in tiles. */
  readonly inStore: boolean
}

export interface ErasureOrder extends ErasureScope {
  readonly reason: string
  /** Finishes the part that has begun. */
  readonly finish: () => Promise<void>
}

/**
 * Erases, part by part. Records come from the last to the first, then threads. After a run that was cut off between two
 * parts, a second run therefore still finds the rest.
 *
 * @throws GatewayError `invalid_request` for a name that is no field
 * @throws GatewayError `not_found` without data, `under_legal_hold` when a legal hold covers a part of the selection
 */
export async function erase(deps: Deps, order: ErasureOrder): Promise<Erasure> {
  const { tenant, selection, inStore, finish } = order
  const target = targetOf(selection)
  const until = deps.store.now()
  await finish()
  let from = startOf()
  let erasure: Erasure | undefined
  for (;;) {
    const found = await search(deps, tenant, { target, inStore, from, until })
    if (found.records.length + found.existing.size === 0) break
    erasure ??= countsOf(found)
    for (const part of partsOf(found)) {
      await begin(deps, order, { found, part })
      await finish()
    }
    // records that were written meanwhile: the end of a thread, or a comment
    from = found.next
  }
  const owner = inStore ? 'store' : 'gateway'
  if (erasure === undefined) throw new GatewayError('not_found', `the ${owner} has no data of this selection`)
  return erasure
}

/** Names the way on while tiles are away. */
const search = (...args: Parameters<typeof findErasable>): Promise<Found> =>
  storeCall(() =>
    findErasable(...args).catch((error: unknown) => {
      if (!(error instanceof TilesUnavailable)) throw error
      throw new TilesUnavailable(`${error.message}; --in-store (\`in_store\`) leaves these records out`)
    }),
  )

const countsOf = ({ records, existing, waiting, times }: Found): Erasure => ({
  records: records.length,
  members: membersOf(records),
  threads: existing.size,
  waiting,
  ...times,
})

const membersOf = (records: Found['records']): number =>
  records.reduce((sum, { members }) => sum + members, 0)

type Part = Pick<Found, 'records' | 'threads'>

function partsOf({ records, threads }: Found): Part[] {
  if (records.length <= PART && threads.length <= PART) return [{ records, threads }]
  return [
    ...chunks(records)
      .toReversed()
      .map((chunk) => ({ records: chunk, threads: [] })),
    ...chunks(threads).map((chunk) => ({ records: [], threads: chunk })),
  ]
}

/** One chunk at least. */
const chunks = <T>(all: readonly T[]): T[][] =>
  Array.from({ length: Math.max(1, Math.ceil(all.length / PART)) }, (_, i) =>
    all.slice(i * PART, (i + 1) * PART),
  )

/** Records the part and what it has to do. An earlier part must be finished. */
async function begin(
  deps: Deps,
  { tenant, selection, reason }: ErasureOrder,
  { found, part: { records, threads } }: { readonly found: Found; readonly part: Part },
): Promise<void> {
  const ranges = new Ranges()
  for (const { number } of records) ranges.add(number)
  const pairs = ranges.pairs()
  const details = {
    members: membersOf(records),
    reason,
    records: pairs,
    threads: threads.filter((id) => found.existing.has(id)).length,
  }
  await transact(deps, tenant, async (): Promise<Plan<void>> => {
    const [holds, destinations] = await Promise.all([
      legalHoldsNow(deps, tenant),
      read(deps.store, tenant, 'destinations', ALL),
    ])
    refuseHeld(holds, found)
    const list = destinations?.value.destinations ?? []
    const now = deps.store.now()
    const { times } = found
    const state: Records['erasure'] = {
      selection,
      begun_at: now,
      threads,
      deleted: threads,
      calls: records.flatMap(({ call }) => call ?? []),
      ...(times && { times: [Date.parse(times.since), Date.parse(times.until)] }),
      deliveries: { destinations: list.map(({ id }) => id) },
      records: pairs,
    }
    return {
      answer: undefined,
      guards: [unchanged('erasure', ALL, undefined), holds.guard],
      writes: [put('erasure', ALL, state), purgeAt('erasure', ALL, now)],
      evidence: [record(now, ADMIN, { tenant }, { type: 'disclosures.erased', details })],
    }
  })
}

function refuseHeld(holds: KnownLegalHolds, { subjects }: Found): void {
  if (holds.all.holds.length === 0) return
  for (const subject of subjects) {
    const hold = holds.over(subject)
    if (hold === undefined) continue
    const detail = `a legal hold keeps a part of this selection: ${hold.reason}`
    throw new GatewayError('under_legal_hold', detail)
  }
}
