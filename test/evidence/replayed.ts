import type { JsonObject, JsonValue } from '../../src/contract/json.ts'
import { DisclosureCheck } from '../../src/evidence/disclosure-check.ts'
import { disclosedEvents } from '../../src/gateway/core/disclosures.ts'
import { Replay } from '../../src/evidence/replay.ts'
import type { Store } from '../../src/store/store.ts'

const PAGE = 1_000

/** Faults that a replay finds in consecutive records, each with its record. */
export function faultsOf(records: readonly object[], replay = new Replay()): string[] {
  return records.flatMap((record) => {
    const fault = replay.take(record as JsonValue)
    return fault === undefined ? [] : [`${fault}: ${JSON.stringify(record)}`]
  })
}

/** Faults that a replay finds in the evidence of a tenant, each with its record. */
export async function faultsIn(store: Store, tenant: string): Promise<string[]> {
  const replay = new Replay()
  const disclosures = new DisclosureCheck()
  const faults: string[] = []
  for (let after = 0; ;) {
    const events = await disclosedEvents(store, tenant, after, PAGE)
    faults.push(
      ...faultsOf(
        events.map(({ body }) => JSON.parse(body) as object),
        replay,
      ),
    )
    for (const { number, body, disclosures: text } of events) {
      const value = text === undefined ? undefined : (JSON.parse(text) as JsonValue)
      const fault = disclosures.take(number, JSON.parse(body) as JsonObject, value)
      if (fault !== undefined) faults.push(`record ${number} ${fault}: ${body}`)
    }
    if (events.length < PAGE) break
    after += events.length
  }
  const missing = replay.end()
  faults.push(...disclosures.end().faults)
  return missing === undefined ? faults : [...faults, missing]
}
