import { defined } from '../../contract/defined.ts'
import { GatewayError } from '../../contract/errors.ts'
import type { FreezeList, FreezeRequest, FreezeView, Frozen } from '../../contract/freeze.ts'
import { LIMITS } from '../../contract/limits.ts'
import {
  type Freeze,
  type Freezes,
  type FreezeScope,
  frozenNow,
  isScope,
  NEVER_FROZEN,
  withFreeze,
  withoutFreeze,
} from '../../domain/freeze.ts'
import type { Write } from '../../store/store.ts'
import { type Administrator, adminGuards } from '../auth/administrator.ts'
import type { Deps } from '../core/deps.ts'
import { type Happened, isoTime, record } from '../core/event-record.ts'
import { FREEZES, freezesNow } from '../core/freezes.ts'
import { ALL, purgeAt } from '../core/expiry-index.ts'
import { put, read, unchanged } from '../core/records.ts'
import { registerTenant } from '../core/tenants.ts'
import { type Plan, storeCall, transact } from '../core/transact.ts'

/**
 * Freezes an agent, a tool or a whole tenant (docs/operations.md). The freeze applies on every instance once durable.
 * The gateway rejects new calls and permanently cancels calls in progress. A frozen thread ends when the timer reaches
 * it or a request reads it, whichever happens first. Unknown names can be frozen too, because a later bundle may
 * contain them.
 *
 * @throws GatewayError `too_many_freezes`, `store_unavailable`, `outcome_unknown`
 */
export async function freeze(deps: Deps, by: Administrator, request: FreezeRequest): Promise<Frozen> {
  const { tenant, reason } = request
  const { actor } = by
  const scope = scopeOf(request)
  await registerTenant(deps, tenant)
  const frozen = await change(deps, { tenant, by }, (before) => {
    refuseTooMany(before, scope)
    const now = deps.store.now()
    const after = withFreeze(before, { ...scope, reason, at: now, by: `${actor.kind}:${actor.id}` })
    return {
      answer: viewOf(tenant, after.freezes.at(-1) as Freeze),
      after,
      writes: [purgeAt('freeze', ALL, now)],
      event: { type: 'freeze.started', details: { ...scope, epoch: after.epoch }, disclosed: { reason } },
    }
  })
  return { ...frozen, known: isKnown(deps, tenant, scope) }
}

/**
 * Unfreezes: policy judges new calls again. Calls that the freeze cancelled stay cancelled.
 *
 * @throws GatewayError `not_found` when the scope is not frozen
 */
export async function unfreeze(deps: Deps, by: Administrator, request: FreezeRequest): Promise<void> {
  const { tenant, reason } = request
  const scope = scopeOf(request)
  await change(deps, { tenant, by }, (before) => {
    const after = withoutFreeze(before, scope, deps.store.now())
    if (after === undefined) throw new GatewayError('not_found', 'this scope is not frozen')
    const details = { ...scope, epoch: after.epoch }
    const event = { type: 'freeze.ended', details, disclosed: { reason } } as const
    return { answer: undefined, after, writes: [], event }
  })
}

export async function listFreezes(deps: Deps, tenant: string): Promise<FreezeList> {
  const { freezes } = await storeCall(() => freezesNow(deps, tenant))
  return { freezes: frozenNow(freezes).map((one) => viewOf(tenant, one)) }
}

interface Changed<T> {
  readonly answer: T
  readonly after: Freezes
  readonly writes: readonly Write[]
  readonly event: Happened<'freeze.started' | 'freeze.ended'>
}

async function change<T>(
  deps: Deps,
  { tenant, by }: { readonly tenant: string; readonly by: Administrator },
  decide: (before: Freezes) => Changed<T>,
): Promise<T> {
  const { answer } = await transact(deps, tenant, async (): Promise<Plan<T>> => {
    const proof = adminGuards(deps, by)
    const known = await read(deps.store, tenant, 'freezes', FREEZES)
    const { after, writes, event, ...decided } = decide(known?.value ?? NEVER_FROZEN)
    return {
      ...decided,
      guards: [unchanged('freezes', FREEZES, known), ...proof],
      writes: [put('freezes', FREEZES, after), ...writes],
      evidence: [record(deps.store.now(), by.actor, { tenant }, event)],
      landed: () => void deps.freezes.delete(tenant),
    }
  })
  return answer
}

/** Refuses freezes beyond the limit. A whole tenant can always be frozen. */
function refuseTooMany({ freezes }: Freezes, scope: FreezeScope): void {
  const isNew = !freezes.some((one) => isScope(one, scope))
  const isTenant = scope.agent === undefined && scope.tool === undefined
  if (!isNew || isTenant || freezes.length < LIMITS.FREEZES) return
  const detail = `a tenant has at most ${LIMITS.FREEZES} frozen names, including lifted ones; freeze the tenant`
  throw new GatewayError('too_many_freezes', detail)
}

const scopeOf = ({ agent, tool }: FreezeRequest): FreezeScope => defined({ agent, tool })

function isKnown({ policies }: Deps, tenant: string, { agent, tool }: FreezeScope): boolean {
  const snapshot = policies.current()
  const known = snapshot?.directory.tenants.get(tenant)
  if (known === undefined) return false
  if (agent !== undefined) return known.agents.has(agent)
  return tool === undefined || snapshot?.knows(tenant, tool) === true
}

export function viewOf(tenant: string, { agent, tool, reason, at, by }: Freeze): FreezeView {
  return { tenant, ...defined({ agent, tool }), reason, frozen_at: isoTime(at), by }
}
