import type { Store, StoredEvent } from '../../store/store.ts'
import { INDEX } from './indexes.ts'
import { read } from './records.ts'

/** Events like `Store.events`, also with the disclosures that an erasure left of a record. */
export async function disclosedEvents(
  store: Store,
  tenant: string,
  after: number,
  limit: number,
): Promise<StoredEvent[]> {
  const events = await store.events(tenant, after, limit)
  const last = events.at(-1)?.number
  if (last === undefined) return events
  const rewritten = await store.range(tenant, INDEX.erased, { min: after + 1, max: last, limit })
  if (rewritten.length === 0) return events
  const left = await Promise.all(rewritten.map(({ member }) => read(store, tenant, 'erased', member)))
  const texts = new Map(rewritten.map(({ score }, i) => [score, left[i]?.value]))
  return events.map((event) => {
    const text = texts.get(event.number)
    return text === undefined ? event : { ...event, disclosures: JSON.stringify(text) }
  })
}
