import { defined } from '../../contract/defined.ts'
import { GatewayError } from '../../contract/errors.ts'
import type { FreezeList, FreezeRequest, FreezeView, Frozen } from '../../contract/freeze.ts'
import { LIMITS } from '../../contract/limits.ts'
import {
  type Freeze,
  type Freezes,
  type FreezeScope,
  frozenNow,
  isReviewerFrozen,
  isScope,
  kindOf,
  NEVER_FROZEN,
  withFreeze,
  withoutFreeze,
} from '../../domain/freeze.ts'
import type { Write } from '../../store/store.ts'
import { type Administrator, adminGuards, isAdministrator } from '../auth/administrator.ts'
import { ifPossible } from '../auth/sessions.ts'
import { BY_FREEZE_ENDED, endAll } from '../auth/sign-out.ts'
import type { Deps } from '../core/deps.ts'
import { type Happened, isoTime, record } from '../core/event-record.ts'
import { FREEZES, freezesNow } from '../core/freezes.ts'
import { ALL, purgeAt } from '../core/expiry-index.ts'
import { put, read, unchanged } from '../core/records.ts'
import { registerTenant } from '../core/tenants.ts'
import { type Plan, storeCall, transact } from '../core/transact.ts'

/**
 * Freezes an agent, a tool, a reviewer or a whole tenant (docs/operations.md). The freeze applies on every instance
 * once durable. The gateway rejects new calls and permanently cancels calls in progress. A frozen thread ends when the
 * timer reaches it or a request reads it, whichever happens first. A frozen reviewer is refused everywhere, and the
 * reviewer's votes never count again. Unknown names can be frozen too, because a later bundle may contain them.
 *
 * @throws GatewayError `too_many_freezes`, `store_unavailable`, `outcome_unknown`; `not_permitted` when a reviewer
 * freezes the last other one with the admin role
 */
export async function freeze(deps: Deps, by: Administrator, request: FreezeRequest): Promise<Frozen> {
  const { tenant, reason } = request
  const { actor } = by
  const scope = scopeOf(request)
  await registerTenant(deps, tenant)
  const frozen = await change(deps, { tenant, by }, (before) => {
    refuseTooMany(before, scope)
    refuseLastAdministrator(deps, by, { tenant, scope, before })
    const now = deps.store.now()
    const after = withFreeze(before, { ...scope, reason, at: now, by: `${actor.kind}:${actor.id}` })
    return {
      answer: viewOf(tenant, after.freezes.at(-1) as Freeze),
      after,
      writes: [purgeAt('freeze', ALL, now)],
      event: { type: 'freeze.started', details: { ...scope, epoch: after.epoch }, disclosed: { reason } },
    }
  })
  const { reviewer: id } = scope
  // the timer repeats it after a failure
  if (id !== undefined) await ifPossible(() => endAll(deps, { tenant, id }, BY_FREEZE_ENDED))
  return { ...frozen, known: isKnown(deps, tenant, scope) }
}

/**
 * Unfreezes: policy judges new calls again. Calls that the freeze cancelled stay cancelled, and votes stay void.
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
    const proof = await adminGuards(deps, by)
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
  if (!isNew || kindOf(scope) === 'tenant' || freezes.length < LIMITS.FREEZES) return
  const detail = `a tenant has at most ${LIMITS.FREEZES} frozen names, including lifted ones; freeze the tenant`
  throw new GatewayError('too_many_freezes', detail)
}

/**
 * Keeps a reviewer from being left as the only one with the admin role. The admin key may freeze everyone.
 *
 * @throws GatewayError `not_permitted`
 */
function refuseLastAdministrator(
  { policies }: Deps,
  { caller }: Administrator,
  { tenant, scope, before }: { tenant: string; scope: FreezeScope; before: Freezes },
): void {
  if (caller === undefined || scope.reviewer === undefined || scope.reviewer === caller.id) return
  const people = [...(policies.current()?.directory.tenants.get(tenant)?.reviewers.values() ?? [])]
  const others = people.filter(
    (one) => isAdministrator(one) && one.id !== caller.id && !isReviewerFrozen(before, one.id),
  )
  if (others.length !== 1 || others[0]?.id !== scope.reviewer) return
  const detail = `\`${scope.reviewer}\` is the last other reviewer with the admin role: use the admin key`
  throw new GatewayError('not_permitted', detail)
}

const scopeOf = ({ agent, tool, reviewer }: FreezeRequest): FreezeScope => defined({ agent, tool, reviewer })

function isKnown({ policies }: Deps, tenant: string, { agent, tool, reviewer }: FreezeScope): boolean {
  const snapshot = policies.current()
  const known = snapshot?.directory.tenants.get(tenant)
  if (known === undefined) return false
  if (agent !== undefined) return known.agents.has(agent)
  if (reviewer !== undefined) return known.reviewers.has(reviewer)
  return tool === undefined || snapshot?.knows(tenant, tool) === true
}

export function viewOf(tenant: string, { agent, tool, reviewer, reason, at, by }: Freeze): FreezeView {
  return { tenant, ...defined({ agent, tool, reviewer }), reason, frozen_at: isoTime(at), by }
}
