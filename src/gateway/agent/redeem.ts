import { agentNamed } from '../../domain/evidence.ts'
import type { ApprovalValidationRequest, ApprovalValidationResult } from '../../contract/agent.ts'
import { GatewayError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { hashCredential, parseCredential } from '../../domain/credential.ts'
import { digestOf } from '../../domain/digest.ts'
import type { Thread } from '../../domain/thread.ts'
import { type ApprovalToken, type Redemption, type RefusalReason, refusalOf } from '../../domain/token.ts'
import { lapseOf, STORE_CHANGED, type Lapse } from '../thread/approval.ts'
import type { Deps } from '../core/deps.ts'
import { type EvidenceRecord, type Happened, record } from '../core/event-record.ts'
import { type Caller, keyGuard } from '../core/caller.ts'
import type { KnownFreezes } from '../core/caches.ts'
import { freezeGuard, freezesOf, frozenMessage } from '../core/freezes.ts'
import { keyInForce } from '../auth/identify.ts'
import { standingOf } from '../auth/standing.ts'
import { traceOf } from '../core/trace-context.ts'
import { put, read, type RevisionRecord, revisionId, unchanged, type Versioned } from '../core/records.ts'
import { expectingThread } from './expected.ts'
import { moved, writeThread } from '../thread/thread-records.ts'
import { type Committed, type Plan, transact } from '../core/transact.ts'
import { revoked } from '../thread/close-thread.ts'

const INVALID: ApprovalValidationResult = { valid: false, reason: 'invalid' }

/**
 * A malformed body of a redemption. The refusal of such a body becomes evidence when the body contains a real proof.
 */
export interface Misfit {
  readonly signature: string | undefined
}

/**
 * Redeems a proof exactly once (docs/agent-api.md, POST approvals/validate). A malformed body is `invalid`, like every
 * other mismatch, and leaves the proof unused.
 *
 * @throws GatewayError only `unauthenticated`, `store_unavailable`, `outcome_unknown`
 */
export async function redeem(
  deps: Deps,
  caller: Caller,
  request: ApprovalValidationRequest | Misfit,
): Promise<Committed<ApprovalValidationResult>> {
  standingOf(deps, caller)
  if (request.signature === undefined || !parseCredential('approval', request.signature)) {
    await keyInForce(deps, caller)
    return noted(deps, { answer: INVALID })
  }
  const token_hash = hashCredential(request.signature)
  const redemption = 'request_payload' in request ? redemptionOf(caller, request) : undefined
  const committed = await transact(deps, caller.tenant, async () => {
    const token = await read(deps.store, caller.tenant, 'token', token_hash)
    const refusal = redemption ? refusalOf(token?.value, redemption, deps.store.now()) : 'invalid'
    if (token === undefined || refusal)
      return refuse(deps, caller, { token_hash, token, reason: refusal ?? 'invalid' })
    return redemptionPlan(deps, caller, token_hash, token)
  })
  return noted(deps, committed)
}

function noted(
  deps: Deps,
  committed: Committed<ApprovalValidationResult>,
): Committed<ApprovalValidationResult> {
  deps.observe({
    kind: 'validated',
    result: committed.answer.valid ? 'valid' : (committed.answer.reason ?? 'invalid'),
  })
  return committed
}

function redemptionOf(caller: Caller, request: ApprovalValidationRequest): Redemption {
  return {
    tenant: caller.tenant,
    agent: caller.id,
    key_hash: caller.keyHash,
    task_id: request.task_id,
    payload_digest: digestOf(request.request_payload as JsonObject),
    ...(request.thread_id === undefined ? {} : { thread_id: request.thread_id }),
    ...(request.action_hash === undefined ? {} : { action_hash: request.action_hash }),
  }
}

async function redemptionPlan(
  deps: Deps,
  caller: Caller,
  token_hash: string,
  token: Versioned<ApprovalToken>,
): Promise<Plan<ApprovalValidationResult>> {
  const { thread_id, revision, expires_at, task_id, action_hash } = token.value
  const thread = await read(deps.store, caller.tenant, 'thread', thread_id)
  const approved = await read(deps.store, caller.tenant, 'revision', revisionId(thread_id, revision))
  const refused = { token_hash, token, reason: 'invalid' } as const
  goOn(deps, caller, thread?.value)
  if (thread?.value.status !== 'approved' || thread.value.revision !== revision || approved === undefined) {
    return refuse(deps, caller, refused)
  }
  const freezes = await freezesOf(deps, caller.tenant)
  const epoch = await deps.store.epoch(caller.tenant)
  const judged = { thread, approved: approved.value, freezes, epoch }
  const objection = await objectionTo(deps, judged, token.value)
  if (objection !== undefined)
    return endedBy(deps, judged, {
      objection,
      refusal: await refuse(deps, caller, { ...refused, because: objection.code }),
    })
  const used_at = deps.store.now()
  const approval = {
    ...thread.value.approval,
    at: thread.value.approval?.at ?? used_at,
    epoch,
    redeemed_at: used_at,
  }
  const evidence = [recordOf(deps, caller, token, { type: 'token.redeemed', details: { token_hash } })]
  const redeemed = moved(thread.value, 'redeem', { approval })
  const written = writeThread(thread.value, redeemed, { at: used_at, evidence })
  return {
    answer: { valid: true, ...(action_hash === undefined ? {} : { task_id, thread_id, action_hash }) },
    guards: [
      unchanged('token', token_hash, token),
      unchanged('thread', thread_id, thread),
      keyGuard(caller),
      freezeGuard(freezes),
      { epoch },
    ],
    writes: [
      ...written.writes,
      put('token', token_hash, { ...token.value, used_at }),
      ...expectingThread(deps, redeemed, used_at),
    ],
    notices: written.notices,
    evidence,
    before: expires_at,
  }
}

/** Continues the trace of the agent's own thread only. */
function goOn({ origin }: Deps, caller: Caller, thread: Thread | undefined): void {
  if (thread?.agent === caller.id) origin?.span?.goesOn(traceOf(thread))
}

interface Judged {
  readonly thread: Versioned<Thread>
  readonly approved: RevisionRecord
  readonly freezes: KnownFreezes
  /** The current epoch of the store. */
  readonly epoch: string
}

/** The reason why an approval cannot be used now. A `Lapse` is a permanent reason. */
type Objection = Lapse | { readonly code: 'frozen' | 'no_policy' | 'policy_fault' }

/** The reason why the approval must not be used now, although its proof is valid. */
async function objectionTo(
  deps: Deps,
  { thread: { value: thread }, approved, freezes, epoch }: Judged,
  token: ApprovalToken,
): Promise<Objection | undefined> {
  if (frozenMessage(freezes, thread) !== undefined) return { code: 'frozen' }
  if (deps.policies.current() === undefined) return { code: 'no_policy' }
  const lapse = await lapseOf(deps, thread, { revision: approved, freezes }).catch(notJudged)
  return lapse ?? (token.epoch === epoch ? undefined : STORE_CHANGED)
}

/** Refuses an approval that cannot be judged now. The approval remains valid. */
function notJudged(error: unknown): { readonly code: 'policy_fault' } {
  if (error instanceof GatewayError && error.code === 'not_ready') return { code: 'policy_fault' }
  throw error
}

interface Refused {
  readonly token_hash: string
  readonly token: Versioned<ApprovalToken> | undefined
  readonly reason?: RefusalReason
  readonly because?: string
}

/** Refuses the redemption and leaves the proof unused. The refusal is recorded as evidence, too. */
async function refuse(deps: Deps, caller: Caller, refused: Refused): Promise<Plan<ApprovalValidationResult>> {
  const { token_hash, token, reason = 'invalid', because } = refused
  const details = { token_hash, because, reason: refused.reason }
  return {
    answer: { valid: false, reason },
    counted: true,
    // a proof that another one replaces meanwhile is unknown, and evidence must not name its thread
    guards: [keyGuard(caller), ...(token === undefined ? [] : [unchanged('token', token_hash, token)])],
    evidence: [recordOf(deps, caller, token, { type: 'token.refused', details })],
  }
}

interface Refusing {
  readonly objection: Objection
  readonly refusal: Plan<ApprovalValidationResult>
}

/** Plans the refusal. When the approval is no longer valid, the same commit ends its thread. */
function endedBy(
  deps: Deps,
  { thread, freezes, epoch }: Judged,
  { objection, refusal }: Refusing,
): Plan<ApprovalValidationResult> {
  if (!('sentence' in objection)) return refusal
  const { thread_id } = thread.value
  const { guards = [], evidence = [], answer } = refusal
  const end = revoked(thread.value, objection, deps.store.now())
  return {
    ...end,
    answer,
    guards: [...guards, unchanged('thread', thread_id, thread), freezeGuard(freezes), { epoch }],
    evidence: [...evidence, ...(end.evidence ?? [])],
  }
}

/** The evidence record. The refusal names the thread only when the proof belongs to the calling agent. */
function recordOf(
  deps: Deps,
  caller: Caller,
  token: Versioned<ApprovalToken> | undefined,
  event: Happened<'token.redeemed' | 'token.refused'>,
): EvidenceRecord {
  const about = token?.value.agent === caller.id ? token.value : { tenant: caller.tenant }
  return record(deps.store.now(), agentNamed(caller.id), about, event)
}
