import { agentNamed } from '../../domain/evidence.ts'
import { record } from '../core/event-record.ts'
import type { Decision } from '../../contract/agent.ts'
import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import type { Approval, Thread } from '../../domain/thread.ts'
import type { ApprovalToken } from '../../domain/token.ts'
import type { KnownFreezes } from '../core/caches.ts'
import { freezeGuard, freezesNow } from '../core/freezes.ts'
import { standingOf } from '../auth/standing.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { neverPurge } from '../core/expiry-index.ts'
import { read, remove, unchanged, type Versioned } from '../core/records.ts'
import { moved, writeThread } from '../thread/thread-records.ts'
import { traceOf } from '../core/trace-context.ts'
import { type Committed, type Plan, transact } from '../core/transact.ts'
import { settleThread } from '../thread/settle-thread.ts'
import { asRead, decisionOn, ownThread } from './own-thread.ts'
import { drawProof, judgeAgain } from './proof.ts'

/**
 * Replaces a proof that was handed out but did not arrive (docs/agent-api.md, POST proofs). One commit voids the
 * earlier proof and draws another one for the same revision, with the same expiry. A thread that is not approved
 * answers as a poll.
 *
 * @throws GatewayError `not_found`, `proof_used`, `too_many_proofs`, `not_pending` when there is no proof to replace,
 * `not_ready`, `unauthenticated`, `store_unavailable`, `outcome_unknown`
 */
export async function reissue(deps: Deps, caller: Caller, thread_id: string): Promise<Committed<Decision>> {
  standingOf(deps, caller)
  return transact(deps, caller.tenant, async () => {
    const [thread, freezes] = await Promise.all([
      ownThread(deps, caller, { thread_id }),
      freezesNow(deps, caller.tenant),
    ])
    deps.origin?.span?.goesOn(traceOf(thread.value))
    const become = await settleThread(deps, thread, freezes)
    if (become) return { ...become, answer: decisionOn(become.answer, deps.store.now()) }
    if (thread.value.status !== 'approved') return asRead(deps, thread)
    const plan = await replaceProof(deps, caller, { thread, freezes })
    return { ...plan, guards: [...(plan.guards ?? []), freezeGuard(freezes)] }
  })
}

async function replaceProof(
  deps: Deps,
  caller: Caller,
  found: { readonly thread: Versioned<Thread>; readonly freezes: KnownFreezes },
): Promise<Plan<Decision>> {
  const { value } = found.thread
  const approval = value.approval ?? { at: value.submitted_at, epoch: '' }
  const lost = await lostProof(deps, caller, value, approval)
  const { guards, epoch, ended } = await judgeAgain(deps, caller, found)
  if (ended) return ended
  const { hash, token } = lost
  const { expires_at } = token.value
  const { answer, known, ...drawn } = drawProof(deps, caller, value, { expires_at, epoch })
  const evidence = [
    record(deps.store.now(), agentNamed(value.agent), value, {
      type: 'token.reissued',
      details: { token_hash: known.token_hash, replaced: hash, expires_at: answer.token_expires_at ?? '' },
    }),
  ]
  const after = moved(value, 'reissue', {
    approval: { ...approval, ...known, reissued: (approval.reissued ?? 0) + 1 },
  })
  const written = writeThread(value, after, { at: deps.store.now(), evidence })
  return {
    answer: { ...answer, ...decisionOn(value, deps.store.now()) },
    guards: [...guards, unchanged('token', hash, token), ...drawn.guards],
    writes: [...written.writes, ...drawn.writes, remove('token', hash), neverPurge('token', hash)],
    evidence,
    before: expires_at,
  }
}

interface Lost {
  readonly hash: string
  readonly token: Versioned<ApprovalToken>
}

/** The proof in force, which the caller did not get. @throws GatewayError when no proof can be replaced */
async function lostProof(
  deps: Deps,
  caller: Caller,
  thread: Thread,
  { redeemed_at, collected_at, token_hash, reissued = 0 }: Approval,
): Promise<Lost> {
  if (redeemed_at !== undefined)
    throw new GatewayError('proof_used', 'the proof of this thread was redeemed: the call may have run')
  if (collected_at === undefined) throw nothingLost('its proof was not handed out yet: read the decision')
  if (token_hash === undefined) throw nothingLost('this agent uses approvals without a proof')
  const token = await read(deps.store, thread.tenant, 'token', token_hash)
  if (token === undefined || deps.store.now() >= token.value.expires_at)
    throw nothingLost('its proof has expired')
  if (token.value.key_hash !== caller.keyHash)
    throw nothingLost('its proof belongs to another key of this agent, which this key cannot replace')
  if (reissued >= LIMITS.PROOF_REISSUES)
    throw new GatewayError(
      'too_many_proofs',
      `a lost proof is replaced at most ${LIMITS.PROOF_REISSUES} times for one thread`,
    )
  return { hash: token_hash, token }
}

const nothingLost = (why: string): GatewayError =>
  new GatewayError('not_pending', `there is no proof to replace: ${why}`)
