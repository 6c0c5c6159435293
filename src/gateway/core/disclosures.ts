import type { Store, StoredEvent } from '../../store/store.ts'
import { INDEX } from './indexes.ts'
import { read } from './records.ts'

/** An event with its disclosures, if it still has any. */
export interface DisclosedEvent extends StoredEvent {
  readonly disclosures?: string
}

/** Events like `Store.events`, with their disclosures, also with those that an erasure left of a record. */
export async function disclosedEvents(
  store: Store,
  tenant: string,
  after: number,
  limit: number,
): Promise<DisclosedEvent[]> {
  const events = await store.events(tenant, after, limit)
  const last = events.at(-1)?.number
  if (last === undefined) return events
  // the disclosures are read after their events, so that only deleted ones are missing
  const [beside, rewritten] = await Promise.all([
    store.disclosures(tenant, after, last),
    store.range(tenant, INDEX.erased, { min: after + 1, max: last, limit }),
  ])
  const left = await Promise.all(rewritten.map(({ member }) => read(store, tenant, 'erased', member)))
  const texts = new Map(beside.map(({ number, text }) => [number, text]))
  for (const [i, { score }] of rewritten.entries())
    if (left[i] !== undefined) texts.set(score, JSON.stringify(left[i].value))
  return events.map((event) => {
    const disclosures = texts.get(event.number)
    return disclosures === undefined ? event : { ...event, disclosures }
  })
}
