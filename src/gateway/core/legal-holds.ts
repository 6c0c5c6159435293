import type { LegalHoldView } from '../../contract/legal-hold.ts'
import {
  type Holdable,
  type LegalHold,
  type LegalHolds,
  legalHoldOver,
  NO_LEGAL_HOLDS,
  scopeOf,
} from '../../domain/legal-hold.ts'
import type { Guard } from '../../store/store.ts'
import type { Deps } from './deps.ts'
import { isoTime } from './event-record.ts'
import { ALL } from './expiry-index.ts'
import { readAgain, unchanged } from './records.ts'

/** The legal holds of a tenant, as they were read. */
export interface KnownLegalHolds {
  readonly all: LegalHolds
  /** The legal hold that keeps the data; undefined when the data may be deleted, in a commit with `guard`. */
  over(data: Holdable): LegalHold | undefined
  /** Guards that the legal holds are unchanged since the read. Every commit that deletes data has it. */
  readonly guard: Guard
}

/**
 * Reads the legal holds (docs/data.md). A legal hold is one record of the tenant. A commit that deletes data guards
 * that record, so no data of a legal hold is deleted once the legal hold is durable.
 */
export async function legalHoldsNow(deps: Deps, tenant: string): Promise<KnownLegalHolds> {
  const record = await readAgain(deps.store, tenant, ['legal_holds', ALL], deps.legalHolds.get(tenant))
  if (record === undefined) deps.legalHolds.delete(tenant)
  else deps.legalHolds.set(tenant, record)
  const all = record?.value ?? NO_LEGAL_HOLDS
  return {
    all,
    over: (data) => legalHoldOver(all, data),
    guard: unchanged('legal_holds', ALL, record),
  }
}

export function legalHoldView(tenant: string, hold: LegalHold): LegalHoldView {
  const { reason, at, by } = hold
  return { tenant, ...scopeOf(hold), reason, started_at: isoTime(at), by }
}
