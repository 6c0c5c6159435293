import type { Deps } from '../core/deps.ts'
import { ALL } from '../core/expiry-index.ts'
import { put, read, type StoreSizes, SYSTEM, unchanged } from '../core/records.ts'
import { transact } from '../core/transact.ts'
import { DAY_MS, type KindSize, type LiveReader, sizeNow } from './size.ts'

/*
 * Measures the store once a day, for metrics and the forecast. One instance reads the store and records the result,
 * which every instance shows.
 */

type Kind = StoreSizes['kinds'][string]

const EVERY_MS = DAY_MS
/** Longest time of one measurement. After it, another instance may try. */
const CLAIM_MS = 6 * 3_600_000
/** Time from the first look to the first measurement, ms. The store keeps it, so that a restart does not begin anew. */
const FIRST_MS = 55_000

/** Measures the store if the last measurement is a day old and no instance measures. */
export async function measureStore(deps: Deps, reader: LiveReader): Promise<void> {
  const claimed = await change(deps, (before) => {
    const now = deps.store.now()
    if (before === undefined) return { at: 0, claimed_until: now + FIRST_MS, kinds: {} }
    if (now < before.at + EVERY_MS || now < before.claimed_until) return undefined
    return { ...before, claimed_until: now + CLAIM_MS }
  })
  if (claimed === undefined || claimed.claimed_until <= deps.store.now() + FIRST_MS) return
  const measured = await sizeNow(reader)
  await change(deps, (before) => ({
    at: deps.store.now(),
    claimed_until: 0,
    kinds: kindsOf(measured, before ?? claimed, deps.store.now()),
  }))
}

async function change(
  deps: Deps,
  next: (before: StoreSizes | undefined) => StoreSizes | undefined,
): Promise<StoreSizes | undefined> {
  const { answer } = await transact(deps, SYSTEM, async () => {
    const known = await read(deps.store, SYSTEM, 'sizes', ALL)
    const after = next(known?.value)
    if (after === undefined) return { answer: undefined }
    const guards = [unchanged('sizes', ALL, known)]
    return { answer: after, guards, writes: [put('sizes', ALL, after)] }
  })
  return answer
}

/** The sizes of all tenants by kind. All indexes are one kind, so that metrics have few series. */
function kindsOf(sizes: readonly KindSize[], before: StoreSizes, now: number): StoreSizes['kinds'] {
  const kinds: Record<string, Kind> = {}
  for (const { kind, count, bytes, dayBytes, leaves, dayCount } of sizes) {
    const name = kind.replace(/^index .*/, 'index')
    const sum = kinds[name] ?? { count: 0, bytes: 0 }
    kinds[name] = {
      count: sum.count + count,
      bytes: sum.bytes + bytes,
      ...added('growth', sum.growth, leaves ? 0 : dayBytes),
      ...added('last_day', sum.last_day, dayCount),
    }
  }
  if (before.at === 0) return kinds
  const days = (now - before.at) / DAY_MS
  return Object.fromEntries(
    Object.entries(kinds).map(([name, one]) => {
      const growth = Math.round((one.bytes - (before.kinds[name]?.bytes ?? 0)) / days)
      return [name, { ...one, growth }]
    }),
  )
}

const added = (name: 'growth' | 'last_day', sum: number | undefined, more: number | undefined): object =>
  sum === undefined && more === undefined ? {} : { [name]: (sum ?? 0) + (more ?? 0) }
