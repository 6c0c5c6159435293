import { agentNamed } from '../../domain/evidence.ts'
import type { Decision, DecisionRequest } from '../../contract/agent.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Heading } from '../../domain/heading.ts'
import type { History, Outcome, ToolUse } from '../../policy/language/snapshot.ts'
import type { Guard } from '../../store/store.ts'
import { freezesNow } from '../core/freezes.ts'
import { standingOf } from '../auth/standing.ts'
import type { KnownFreezes } from '../core/caches.ts'
import type { Caller, Standing } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { type EvidenceRecord, type Happened, isoTime, record } from '../core/event-record.ts'
import { makeHeading } from '../thread/heading.ts'
import { epochNow } from '../thread/call-history.ts'
import { basisOfDecision, type Kept, keptBy } from './decision-record.ts'

export interface Submission {
  readonly taskId: string
  readonly request: DecisionRequest
  readonly idempotencyKey?: string | undefined
}

/** The state on which an attempt decides a call. Each attempt looks it up once. */
export interface Basis extends Standing {
  /** Undefined without a bundle. */
  readonly use: ToolUse | undefined
  readonly freezes: KnownFreezes
  /** The epoch of the store. */
  readonly epoch: string
  /** Limits without room. */
  readonly exceeded: ReadonlySet<string>
}

/** A call with its outcome: the contents of its answer and of the records about it. */
export interface Evaluation {
  readonly caller: Caller
  readonly submission: Submission
  readonly basis: Basis
  readonly outcome: Outcome
  readonly history: History | undefined
  readonly at: number
  /** Revision of the bundle that decided. */
  readonly bundle: string
  /** Guards of the facts that the outcome depends on. */
  readonly guards: readonly Guard[]
}

/** @throws GatewayError `unauthenticated`, `store_unavailable` */
export async function basisOf(
  deps: Deps,
  caller: Caller,
  tool: string,
  exceeded: ReadonlySet<string>,
): Promise<Basis> {
  const { tenant } = caller
  const { snapshot, entry } = standingOf(deps, caller)
  return {
    snapshot,
    entry,
    use: snapshot?.useOf(tenant, entry, tool),
    freezes: deps.freezes.get(tenant) ?? (await freezesNow(deps, tenant)),
    epoch: deps.epochs.get(tenant) ?? (await epochNow(deps, tenant)),
    exceeded,
  }
}

export function payloadOf(request: DecisionRequest): JsonObject {
  return (request.payload ?? {}) as JsonObject
}

/** The line that identifies the call to people. @param key of the tags in place of sensitive values */
export function headingFor(
  { basis: { snapshot }, submission: { request }, caller, outcome }: Evaluation,
  key: string,
): Heading {
  const { tool_name: tool } = request
  const call = { tenant: caller.tenant, tool, payload: payloadOf(request), outcome }
  return makeHeading(snapshot, call, key)
}

export function decisionOf(
  submission: Submission,
  status: Decision['status'],
  message: string,
): Omit<Decision, 'thread_id' | 'recommended_poll_after_seconds'> {
  const { action_hash } = submission.request
  return {
    status,
    task_id: submission.taskId,
    ...(message === '' ? {} : { message }),
    ...(action_hash === undefined ? {} : { action_hash }),
  }
}

/** The records of a decision. */
type Decided = 'decision.allowed' | 'decision.approved' | 'decision.rejected' | 'review.pending'

/** Parts of the record of a held call that its revision already contains. */
interface Held {
  readonly thread_id: string
  readonly revision: number
  readonly heading: Heading
  readonly payloadDigest: string
  readonly nonce: string
}

/** The values that evidence must not keep. Without a bundle, the tool is unknown and counts as sensitive. */
const keptOf = ({ snapshot, use }: Basis): Kept =>
  snapshot === undefined ? { sensitive: true, lowered: false } : keptBy(use?.contract)

const templateOf = ({ snapshot, use }: Basis, tool: string): string | undefined =>
  use?.contract && snapshot?.templateOf(tool)

const outcomeBy = ({ use }: Basis, at: number): string | undefined =>
  use?.contract?.outcomeMs === undefined ? undefined : isoTime(at + use.contract.outcomeMs)

/** The record of the outcome. */
export function evidenceOf(
  deps: Deps,
  evaluation: Evaluation,
  type: Decided,
  held?: Held,
): EvidenceRecord<Decided> {
  const { caller, submission, outcome, at, bundle, basis } = evaluation
  const { action_hash, risk_level, tool_name } = submission.request
  const { details, disclosed } = basisOfDecision({
    outcome,
    bundle,
    ...keptOf(basis),
    line: held?.heading.line,
    template: held ? held.heading.template : templateOf(basis, tool_name),
    payload: payloadOf(submission.request),
    payloadDigest: held?.payloadDigest,
    nonce: held?.nonce,
    actionHash: action_hash,
    claimedRisk: risk_level,
    traceparent: deps.origin?.span?.received?.traceparent,
    requirement: outcome.requirement,
    outcomeBy: type === 'decision.allowed' ? outcomeBy(basis, at) : undefined,
  })
  const { thread_id, revision } = held ?? {}
  const about = { tenant: caller.tenant, task_id: submission.taskId, thread_id, revision, tool: tool_name }
  return record(at, agentNamed(caller.id), about, { type, details, disclosed } as Happened<Decided>)
}

/** True for a tool whose allowed calls need a proof, unless the agent uses approvals without one. */
export const needsProof = ({ use, entry }: Basis): boolean =>
  use?.contract?.proof === 'always' && entry?.signedApprovals !== false
