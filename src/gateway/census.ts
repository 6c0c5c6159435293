import { RISKS } from '../domain/decision.ts'
import type { IndexEntry } from '../store/store.ts'
import type { Deps } from './deps.ts'
import { INDEX, SYSTEM, TENANTS_INDEX } from './records.ts'

/** Waiting threads of all tenants, by risk, and the age of the oldest in ms. */
export interface Census {
  readonly pending: ReadonlyMap<string, number>
  readonly oldestAgeMs: number
}

const PAGE = 1_000
const MAX_TENANTS = 10_000

/** Counts index entries a page at a time: no record is read, nothing is held, and others get their turn between pages. */
export async function census(deps: Deps): Promise<Census> {
  const pending = new Map<string, number>(RISKS.map((risk) => [risk, 0]))
  let oldest = Infinity
  const tenants = await deps.store.range(SYSTEM, TENANTS_INDEX, { limit: MAX_TENANTS })
  for (const { member: tenant } of tenants) {
    for (const risk of RISKS) {
      for await (const page of pages(deps, tenant, INDEX.pending(risk))) {
        oldest = Math.min(oldest, page[0]?.score ?? Infinity)
        pending.set(risk, (pending.get(risk) ?? 0) + page.length)
      }
    }
  }
  return { pending, oldestAgeMs: oldest === Infinity ? 0 : Math.max(0, deps.store.now() - oldest) }
}

async function* pages(deps: Deps, tenant: string, index: string): AsyncGenerator<IndexEntry[]> {
  let after: IndexEntry | undefined
  for (;;) {
    const page = await deps.store.range(tenant, index, {
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    })
    if (page.length > 0) yield page
    after = page.at(-1)
    if (page.length < PAGE) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}
