import type { Decision, DecisionRequest } from '../../contract/agent.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Heading } from '../../domain/heading.ts'
import type { History, Outcome, Snapshot } from '../../policy/evaluate/snapshot.ts'
import type { Guard } from '../../store/store.ts'
import type { KnownFreezes } from '../core/caches.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { type EvidenceRecord, isoTime } from '../core/event-record.ts'
import { makeHeading } from '../review/heading.ts'
import type { Doer } from './call-history.ts'
import { type Decided, decisionDetails } from './decision-record.ts'

export interface Submission {
  readonly taskId: string
  readonly request: DecisionRequest
  readonly idempotencyKey?: string
}

/** A call with its outcome, and the other data for the records about the call. */
export interface Evaluation {
  readonly deps: Deps
  readonly caller: Caller
  readonly submission: Submission
  readonly doer: Doer
  readonly snapshot: Snapshot | undefined
  readonly freezes: KnownFreezes
  readonly epoch: string
  readonly outcome: Outcome
  readonly history: History | undefined
  readonly at: number
  readonly bundle: string
  readonly sensitive: boolean
  /** Guards of the facts that the outcome depends on. */
  readonly guards: readonly Guard[]
}

export function payloadOf(request: DecisionRequest): JsonObject {
  return (request.payload ?? {}) as JsonObject
}

/** The line that identifies the call to people. `scope` salts its sensitive values. */
export function headingFor(
  { deps, snapshot, submission, caller, outcome }: Evaluation,
  scope: string,
): Heading {
  const { request } = submission
  const { tenant } = caller
  const call = { tenant, tool: request.tool_name, payload: payloadOf(request), by: outcome.by }
  return makeHeading(deps, snapshot, call, scope)
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

/** The record of the outcome. */
export function evidenceOf(
  evaluation: Evaluation,
  type: 'decision.allowed' | 'decision.rejected' | 'review.pending',
  { heading, payloadDigest }: Pick<Decided, 'heading' | 'payloadDigest'>,
): EvidenceRecord<'decision.allowed' | 'decision.rejected' | 'review.pending'> {
  const { deps, caller, submission, outcome, at, bundle, sensitive } = evaluation
  const { action_hash, risk_level } = submission.request
  const details = decisionDetails(deps, {
    outcome,
    bundle,
    sensitive,
    heading,
    payload: payloadOf(submission.request),
    payloadDigest,
    actionHash: action_hash,
    claimedRisk: risk_level,
    traceparent: deps.origin?.span.received?.traceparent,
    requirement: outcome.requirement,
  })
  return {
    type,
    tenant: caller.tenant,
    at: isoTime(at),
    actor: { kind: 'agent', id: caller.id },
    task_id: submission.taskId,
    tool: submission.request.tool_name,
    details,
  }
}
