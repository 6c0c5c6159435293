import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../contract/json.ts'
import { asksOf, raisedRequirement, type ReviewRequirement } from '../../domain/decision.ts'
import { quorum } from '../../domain/quorum.ts'
import type { Thread } from '../../domain/thread.ts'
import type { Call, Outcome, Snapshot } from '../../policy/language/snapshot.ts'
import type { Deps } from '../core/deps.ts'
import type { KnownFreezes } from '../core/caches.ts'
import type { LapseCode } from '../core/closing-codes.ts'
import { historyFor } from './call-history.ts'
import { notReady } from '../core/readiness.ts'
import type { RevisionRecord } from '../core/records.ts'
import { callOf, decide } from './judge-call.ts'
import { approversOf } from './approvers.ts'

/** The reason why an approval is no longer valid. The stable code is at the start of the message. */
export interface Lapse {
  readonly code: LapseCode
  readonly sentence: string
}

/** An approval of an earlier epoch may have been used, although the store has lost the record of its use. */
export const STORE_CHANGED: Lapse = {
  code: 'store_changed',
  sentence: 'the store was restarted, restored or taken over since the approval; ask for a new one',
}

/**
 * Judges an approval again before use (docs/agent-api.md). The approval ends when the snapshot now rejects
 * the action, or when a counted voter has lost the seat.
 *
 * @throws GatewayError `not_ready` while the approval cannot be judged (no bundle, a fault of the engine). The approval
 * stays valid and unused.
 */
export async function lapseOf(
  deps: Deps,
  thread: Thread,
  { revision, freezes }: { readonly revision: RevisionRecord; readonly freezes: KnownFreezes },
): Promise<Lapse | undefined> {
  const snapshot = requirePolicy(deps)
  const under = async (one: Snapshot): Promise<Lapse | undefined> =>
    seatsLost(one, thread, freezes) ??
    (await policyRefuses(deps, one, thread, revision)) ??
    proofShort(deps, one, thread, { revision, freezes })
  const lapse = await under(snapshot)
  const { withdrawal } = snapshot
  if (lapse === undefined || withdrawal === undefined || thread.approval?.collected_at !== undefined)
    return lapse
  // a withdrawal ends only approvals that were handed out; others rest until the next bundle decides
  if ((await under(withdrawal.whole)) !== undefined) return lapse
  throw notReady('the newest directory takes away what this approval needs; ask again later')
}

/**
 * The snapshot in force.
 *
 * @throws GatewayError `not_ready` without a bundle, because a missing bundle must not end a decision of reviewers
 */
export function requirePolicy(deps: Deps): Snapshot {
  const snapshot = deps.policies.current()
  if (snapshot) return snapshot
  throw notReady('no policy is in force that could judge this thread; ask again later')
}

/**
 * Runs `decide` for a thread under review. A fault of the engine is not a verdict and ends no thread.
 *
 * @throws GatewayError `not_ready`
 */
export async function judge(deps: Deps, snapshot: Snapshot, call: Call): Promise<Outcome> {
  const outcome = await decide(deps, snapshot, call)
  if (outcome.fault === undefined) return outcome
  throw notReady('policy could not judge this thread; ask again later')
}

function seatsLost(snapshot: Snapshot, thread: Thread, freezes: KnownFreezes): Lapse | undefined {
  if (supports(snapshot, thread, { requirement: thread.requirement, freezes })) return undefined
  return { code: 'reviewer_removed', sentence: 'a person who approved no longer holds the seat' }
}

async function policyRefuses(
  deps: Deps,
  snapshot: Snapshot,
  thread: Thread,
  revision: RevisionRecord,
): Promise<Lapse | undefined> {
  const { verdict } = await outcomeAt(deps, snapshot, thread, { revision, at: deps.store.now() })
  const byRule = thread.approval?.rules !== undefined
  if (verdict === 'reject')
    return { code: 'policy_changed', sentence: 'the policy in force now rejects this action' }
  if (byRule && verdict === 'review')
    return { code: 'policy_changed', sentence: 'the policy in force now asks reviewers about this action' }
  return undefined
}

/** The outcome of the snapshot for the action. An action that no longer fits its contract is rejected. */
async function outcomeAt(
  deps: Deps,
  snapshot: Snapshot,
  thread: Thread,
  { revision, at }: { readonly revision: RevisionRecord; readonly at: number },
): Promise<Pick<Outcome, 'verdict' | 'requirement'>> {
  if (snapshot.checkPayload(thread.tool, revision.payload).length > 0) return { verdict: 'reject' }
  const claims = { tool_name: thread.tool, ...revision.claims }
  const caller = { tenant: thread.tenant, id: thread.agent }
  const { tenant, agent, task_id: task, tool } = thread
  const use = snapshot.useOf(tenant, snapshot.agentOf(tenant, agent), tool)
  // judges the facts at the time of the decision, because the history and the limits now include the approval itself
  const history =
    revision.history ?? (await historyFor(deps, { snapshot, use }, { tenant, agent, task, tool }))
  const facts = { payload: revision.payload as JsonObject, at, task, use, history }
  return judge(deps, snapshot, callOf(caller, claims, facts))
}

/**
 * The stricter requirement of a thread, when the snapshot asks for more than the thread's own. It is computed with the
 * facts and the time of the submission. Undefined when the snapshot asks for nothing more, allows or rejects.
 *
 * @throws GatewayError `not_ready` for a fault of the engine
 */
export async function demandOf(
  deps: Deps,
  snapshot: Snapshot,
  thread: Thread,
  revision: RevisionRecord,
): Promise<ReviewRequirement | undefined> {
  const { requirement: before, raised, approval } = thread
  const isKnown = snapshot.revision === revision.policy_revision || snapshot.revision === raised?.policy
  if (isKnown || approval?.rules !== undefined) return undefined
  const outcome = await outcomeAt(deps, snapshot, thread, { revision, at: revision.submitted_at })
  if (outcome.verdict !== 'review' || outcome.requirement === undefined) return undefined
  const after = raisedRequirement(before, outcome.requirement)
  return isDeepStrictEqual(after, raisedRequirement(before, before)) ? undefined : after
}

/** True when the votes of an approval fill every seat of the requirement. */
export function supports(
  snapshot: Snapshot,
  thread: Thread,
  { requirement, freezes }: { readonly requirement: ReviewRequirement; readonly freezes: KnownFreezes },
): boolean {
  const tenant = snapshot.directory.tenants.get(thread.tenant)
  const approvers = approversOf(tenant, { ...thread, requirement }, freezes.freezes)
  const elapsed = (thread.approval?.at ?? thread.submitted_at) - thread.submitted_at
  return quorum(requirement, approvers, elapsed).met
}

/** A proof that was handed out ends when policy asks for more than its votes. An unsigned approval was used. */
async function proofShort(
  deps: Deps,
  snapshot: Snapshot,
  thread: Thread,
  { revision, freezes }: { readonly revision: RevisionRecord; readonly freezes: KnownFreezes },
): Promise<Lapse | undefined> {
  if (thread.approval?.token_hash === undefined) return undefined
  const requirement = await demandOf(deps, snapshot, thread, revision)
  if (requirement === undefined || supports(snapshot, thread, { requirement, freezes })) return undefined
  const asks = asksOf(thread.requirement, requirement)
  return { code: 'policy_changed', sentence: `the policy in force now asks for ${asks}` }
}
