import { defined } from '../../contract/defined.ts'
import { GatewayError } from '../../contract/errors.ts'
import type { LegalHoldAdded, LegalHoldList, LegalHoldRequest } from '../../contract/legal-hold.ts'
import { LIMITS } from '../../contract/limits.ts'
import {
  legalHoldKind,
  legalHoldOf,
  type LegalHolds,
  type LegalHoldScope,
  NO_LEGAL_HOLDS,
  scopeOf,
  withLegalHold,
  withoutLegalHold,
} from '../../domain/legal-hold.ts'
import type { Deps } from '../core/deps.ts'
import { type Happened, record } from '../core/event-record.ts'
import { ALL, purgeAt } from '../core/expiry-index.ts'
import { INDEX } from '../core/indexes.ts'
import { legalHoldsNow, legalHoldView } from '../core/legal-holds.ts'
import { put, read, unchanged } from '../core/records.ts'
import { registerTenant } from '../core/tenants.ts'
import { type Plan, storeCall, transact } from '../core/transact.ts'

/** Only the admin key adds and removes legal holds. */
const ADMIN = { kind: 'admin', id: 'admin' } as const

/**
 * Keeps what the request names from deletion (docs/data.md). A legal hold of the same scope is replaced. Unknown names
 * can be held too, because their threads may be opened later.
 *
 * @throws GatewayError `too_many_legal_holds`, `store_unavailable`, `outcome_unknown`
 */
export async function addLegalHold(deps: Deps, request: LegalHoldRequest): Promise<LegalHoldAdded> {
  const { tenant, reason } = request
  const scope = scopeOf(request)
  await registerTenant(deps, tenant)
  const added = await change(deps, tenant, (before) => {
    refuseTooMany(before, scope)
    const hold = { ...scope, reason, at: deps.store.now(), by: `${ADMIN.kind}:${ADMIN.id}` }
    return {
      answer: {
        ...legalHoldView(tenant, hold),
        ...defined({ replaced: legalHoldOf(before, scope)?.reason }),
      },
      after: withLegalHold(before, hold),
      event: { type: 'legal_hold.started', details: scope, disclosed: { reason } },
    }
  })
  return { ...added, known: await storeCall(() => isKnown(deps, tenant, scope)) }
}

/**
 * Ends a legal hold: retention applies again, from the next round of deletions.
 *
 * @throws GatewayError `not_found` when this scope is under no legal hold of its own
 */
export async function removeLegalHold(deps: Deps, request: LegalHoldRequest): Promise<void> {
  const { tenant, reason } = request
  const scope = scopeOf(request)
  await change(deps, tenant, (before) => {
    const after = withoutLegalHold(before, scope)
    if (after === undefined) throw new GatewayError('not_found', 'this scope is under no legal hold')
    return {
      answer: undefined,
      after,
      freed: true,
      event: { type: 'legal_hold.ended', details: scope, disclosed: { reason } },
    }
  })
}

export async function listLegalHolds(deps: Deps, tenant: string): Promise<LegalHoldList> {
  const { all } = await storeCall(() => legalHoldsNow(deps, tenant))
  return { legal_holds: all.holds.map((one) => legalHoldView(tenant, one)) }
}

interface Changed<T> {
  readonly answer: T
  readonly after: LegalHolds
  /** True when data may be deleted now that an earlier round of deletions kept. */
  readonly freed?: true
  readonly event: Happened<'legal_hold.started' | 'legal_hold.ended'>
}

async function change<T>(deps: Deps, tenant: string, decide: (before: LegalHolds) => Changed<T>): Promise<T> {
  const { answer } = await transact(deps, tenant, async (): Promise<Plan<T>> => {
    const known = await read(deps.store, tenant, 'legal_holds', ALL)
    const { after, event, freed = false, answer: given } = decide(known?.value ?? NO_LEGAL_HOLDS)
    const disclosed = freed ? await read(deps.store, tenant, 'disclosed', ALL) : undefined
    return {
      answer: given,
      guards: [
        unchanged('legal_holds', ALL, known),
        ...(freed ? [unchanged('disclosed', ALL, disclosed)] : []),
      ],
      writes: [
        put('legal_holds', ALL, after),
        ...(disclosed
          ? [
              put('disclosed', ALL, { ...disclosed.value, done: 0 }),
              purgeAt('disclosures', ALL, deps.store.now()),
            ]
          : []),
      ],
      evidence: [record(deps.store.now(), ADMIN, { tenant }, event)],
    }
  })
  return answer
}

/** Refuses legal holds beyond the limit. A whole tenant can always be held. */
function refuseTooMany(before: LegalHolds, scope: LegalHoldScope): void {
  const isNew = legalHoldOf(before, scope) === undefined
  if (!isNew || legalHoldKind(scope) === 'tenant' || before.holds.length < LIMITS.LEGAL_HOLDS) return
  const detail = `a tenant has at most ${LIMITS.LEGAL_HOLDS} legal holds in force; hold an agent or the tenant`
  throw new GatewayError('too_many_legal_holds', detail)
}

async function isKnown(
  deps: Deps,
  tenant: string,
  { thread_id, task_id, agent }: LegalHoldScope,
): Promise<boolean> {
  if (thread_id !== undefined) return (await deps.store.get(tenant, 'thread', thread_id)) !== undefined
  const known = deps.policies.current()?.directory.tenants.get(tenant)
  if (known === undefined) return false
  if (agent !== undefined) return known.agents.has(agent)
  if (task_id === undefined) return true
  const tasks = [...known.agents.keys()].map((id) => INDEX.task(id, task_id))
  const counts = await Promise.all(tasks.map((index) => deps.store.count(tenant, index)))
  return counts.some((count) => count > 0)
}
