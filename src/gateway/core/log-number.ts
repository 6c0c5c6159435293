import type { Store } from '../../store/store.ts'
import { ALL } from './expiry-index.ts'
import { type Records, read, type Versioned } from './records.ts'

/**
 * A log of a tenant, which its checkpoints and its tiles name. The first has number 1. An operator starts another one
 * when the tiles of the last contradict the store (docs/runbooks/CountersignTilesStopped.md). It continues the same
 * records, with the same numbers.
 */
export interface TenantLog extends Readonly<Records['log']> {
  readonly version: Versioned<Records['log']> | undefined
}

export async function logOf(store: Store, tenant: string): Promise<TenantLog> {
  const version = await read(store, tenant, 'log', ALL)
  return { ...(version?.value ?? { number: 1, signed: 0 }), version }
}
