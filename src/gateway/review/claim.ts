import { reviewerNamed } from '../../domain/evidence.ts'
import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import { claimOf, type Thread } from '../../domain/thread.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { type Happened, record } from '../core/event-record.ts'
import { freezesNow } from '../core/freezes.ts'
import { reviewerInForce } from '../auth/identify.ts'
import { reviewerEntry, reviewerGuards } from '../auth/standing.ts'
import { unchanged, type Versioned } from '../core/records.ts'
import { writeThread } from '../thread/thread-records.ts'
import { type Committed, type Plan, transact } from '../core/transact.ts'
import { findThread, refuseObstacle } from './obstacles.ts'

/**
 * Claims a thread, which shows other reviewers who is reviewing it. A claim is only a signal: every reviewer can still
 * vote, and the claim expires. Anyone who may vote may claim.
 *
 * @throws GatewayError `not_found`, `not_pending`, `not_eligible`, `self_review`, `already_voted`, `sign_in_required`,
 * `already_claimed`, `unauthenticated`, `not_ready`, `store_unavailable`, `outcome_unknown`
 */
export async function claim(
  deps: Deps,
  caller: Caller,
  { thread_id, takeOver }: { readonly thread_id: string; readonly takeOver: boolean },
): Promise<Committed<void>> {
  return transact(deps, caller.tenant, async () => {
    reviewerEntry(deps.policies.current(), caller)
    const thread = await findThread(deps, caller.tenant, thread_id)
    const guards = await reviewerGuards(deps, caller)
    const freezes = await freezesNow(deps, caller.tenant)
    refuseObstacle(deps, caller, thread.value, { freezes })
    const now = deps.store.now()
    const held = claimOf(thread.value, now)
    if (held !== undefined && held.reviewer !== caller.id && !takeOver)
      throw new GatewayError('already_claimed', `\`${held.reviewer}\` is looking at this thread`)
    const claimed = { ...thread.value, claim: { reviewer: caller.id, expires_at: now + LIMITS.CLAIM_MS } }
    const from = held === undefined || held.reviewer === caller.id ? {} : { from: held.reviewer }
    const plan = claiming(deps, caller, thread, {
      after: claimed,
      event: { type: 'thread.claimed', details: { ...from, via: caller.via } },
    })
    return { ...plan, guards: [...(plan.guards ?? []), ...guards] }
  })
}

/**
 * Ends the caller's own claim.
 *
 * @throws GatewayError `not_found`, `unauthenticated`, `not_ready`, `store_unavailable`, `outcome_unknown`
 */
export async function release(deps: Deps, caller: Caller, thread_id: string): Promise<Committed<void>> {
  return transact(deps, caller.tenant, async () => {
    reviewerEntry(deps.policies.current(), caller)
    const thread = await findThread(deps, caller.tenant, thread_id)
    if (claimOf(thread.value, deps.store.now())?.reviewer !== caller.id) {
      // checks the key here, because no later commit guards it
      await reviewerInForce(deps, caller)
      return { answer: undefined }
    }
    const { claim: _, ...released } = thread.value
    const plan = claiming(deps, caller, thread, {
      after: released,
      event: { type: 'thread.released', details: { via: caller.via } },
    })
    return { ...plan, guards: [...(plan.guards ?? []), ...(await reviewerGuards(deps, caller))] }
  })
}

function claiming(
  deps: Deps,
  caller: Caller,
  thread: Versioned<Thread>,
  change: {
    readonly after: Thread
    readonly event: Happened<'thread.claimed' | 'thread.released'>
  },
): Plan<void> {
  const evidence = [record(deps.store.now(), reviewerNamed(caller.id), change.after, change.event)]
  return {
    answer: undefined,
    counted: true,
    guards: [unchanged('thread', thread.value.thread_id, thread)],
    writes: writeThread(thread.value, change.after, { at: deps.store.now(), evidence }).writes,
    evidence,
  }
}
