import type { JsonValue } from '../../src/contract/json.ts'
import { Replay } from '../../src/evidence/replay.ts'
import type { Store } from '../../src/store/store.ts'

const PAGE = 1_000

/** What a replay finds wrong in the evidence of a tenant, with the record. */
export async function faultsIn(store: Store, tenant: string): Promise<string[]> {
  const replay = new Replay()
  const faults: (string | undefined)[] = []
  for (let after = 0; ;) {
    const events = await store.events(tenant, after, PAGE)
    for (const { number, body } of events) {
      const fault = replay.take(JSON.parse(body) as JsonValue)
      faults.push(fault && `${tenant} ${number}: ${fault}: ${body}`)
    }
    if (events.length < PAGE) break
    after += events.length
  }
  return [...faults, replay.end()].filter((fault) => fault !== undefined)
}
