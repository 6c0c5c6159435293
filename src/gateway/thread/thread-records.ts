import { defined } from '../../contract/defined.ts'
import type { DecisionRequest, Revision } from '../../contract/agent.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { maxRisk, revisedRequirement, type ReviewRequirement } from '../../domain/decision.ts'
import { digestOf } from '../../domain/digest.ts'
import {
  type LimitCharge,
  nextDue,
  type Thread,
  type ThreadTrigger,
  transition,
} from '../../domain/thread.ts'
import { webhookOf } from '../../events/events.ts'
import type { History, Outcome } from '../../policy/language/snapshot.ts'
import type { Write } from '../../store/store.ts'
import { spendWaiting } from '../core/budgets.ts'
import type { Heading } from '../../domain/heading.ts'
import type { Deps } from '../core/deps.ts'
import { folded } from '../../domain/subject.ts'
import type { EvidenceRecord } from '../core/event-record.ts'
import { askedNoMore } from './equal-calls.ts'
import { moveIndexes } from './thread-indexes.ts'
import { reasonsOf } from './reasons.ts'
import { type MakeNotice, threadNotice } from '../core/notice.ts'
import { type Claims, put, read, type RevisionRecord, unlessBroken } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'

/** Turns threads into records and index entries, for every verb that writes one. */

const TITLE_CHARS = 200
/** Longer than an address of mail. */
const SUBJECT_CHARS = 400

export function claimsOf(request: DecisionRequest | Revision): Claims {
  const { subject, preview, summary, workflow_name, task_label, risk_level } = request
  const images = 'images' in request ? (request.images as readonly string[] | undefined) : undefined
  const claims = { images, preview, risk_level, subject, summary, task_label, workflow_name }
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined))
}

export interface Proposal {
  readonly thread_id: string
  readonly number: number
  readonly revision_id?: string
  readonly tool: string
  readonly payload: JsonObject
  readonly action_hash?: string
  readonly claims: Claims
  readonly heading: Heading
  readonly outcome: Outcome
  readonly requirement: ReviewRequirement
  readonly bundle: string
  readonly history?: History
  /**
   * A random value in the digest. Evidence contains the digest as plain text, so the nonce keeps readers from guessing
   * a sensitive value.
   */
  readonly nonce: string
  readonly at: number
}

const NONCE_BYTES = 16

export function nonceOf(deps: Deps): string {
  return Buffer.from(deps.random(NONCE_BYTES)).toString('base64url')
}

/**
 * The record of one revision. The digest covers everything that a reviewer sees, which binds a vote to the displayed
 * content.
 */
export function revisionRecord(proposal: Proposal): RevisionRecord {
  const { thread_id, number, tool, payload, action_hash, claims, heading, outcome, nonce } = proposal
  const payload_digest = digestOf(payload)
  // in RFC 8785 order, like claims and heading, which avoids sorting
  const shown = { action_hash, claims, heading, nonce, number, payload_digest, thread_id, tool }
  return {
    number,
    ...(proposal.revision_id === undefined ? {} : { revision_id: proposal.revision_id }),
    submitted_at: proposal.at,
    nonce,
    digest: digestOf(shown as unknown as JsonValue),
    payload,
    payload_digest,
    ...(action_hash === undefined ? {} : { action_hash }),
    claims,
    heading,
    risk: outcome.risk,
    policy_risk: outcome.policyRisk,
    message: outcome.message,
    by: outcome.by,
    fired: outcome.fired,
    requirement: proposal.requirement,
    policy_revision: proposal.bundle,
    ...(proposal.history && { history: proposal.history }),
  }
}

/** The members of a thread that its current revision determines. */
export function currentRevision(
  revision: RevisionRecord,
  charges: readonly LimitCharge[],
): Omit<
  Thread,
  | 'thread_id'
  | 'tenant'
  | 'agent'
  | 'task_id'
  | 'tool'
  | 'path'
  | 'created_at'
  | 'tag_key'
  | 'votes'
  | 'revision_ids'
  | 'status'
> {
  const { subject, workflow_name, task_label } = revision.claims
  return {
    revision: revision.number,
    submitted_at: revision.submitted_at,
    digest: revision.digest,
    payload_digest: revision.payload_digest,
    ...(revision.action_hash === undefined ? {} : { action_hash: revision.action_hash }),
    risk: revision.risk,
    policy_risk: revision.policy_risk,
    message: revision.message,
    heading: revision.heading,
    ...reasonsOf(revision.fired),
    requirement: revision.requirement,
    deadline: revision.submitted_at + revision.requirement.expires_ms,
    announced: [],
    ...(subject === undefined ? {} : { subjects: [folded(subject.slice(0, SUBJECT_CHARS))] }),
    ...(charges.length === 0 ? {} : { charges }),
    ...defined({ workflow: workflow_name, label: task_label }),
    ...(subject === undefined ? {} : { title: shorten(subject) }),
  }
}

/** Tightens the requirement. A revision may add reviewers and shorten the time, but never the opposite. */
export function tightened(thread: Thread, outcome: Outcome): ReviewRequirement {
  return outcome.requirement
    ? revisedRequirement(thread.requirement, outcome.requirement)
    : thread.requirement
}

export function tightenedRisk(thread: Thread, outcome: Outcome): Outcome {
  return {
    ...outcome,
    risk: maxRisk(thread.risk, outcome.risk),
    policyRisk: maxRisk(thread.policy_risk, outcome.policyRisk),
  }
}

export interface WrittenThread {
  readonly thread: Thread
  readonly writes: readonly Write[]
  readonly evidence: readonly EvidenceRecord[]
  /** The events of the evidence that webhooks receive. */
  readonly notices: readonly MakeNotice[]
}

export interface ThreadChanged {
  readonly at: number
  /** The records of the change, in order. */
  readonly evidence: readonly EvidenceRecord[]
  /** The payload of a new revision. */
  readonly payload?: JsonObject
}

/**
 * The writes for a changed thread: its record, status index, timer entry, evidence and notices. `before` is the thread
 * as read, undefined for a new one.
 */
export function writeThread(
  before: Thread | undefined,
  after: Thread,
  { at, evidence, payload }: ThreadChanged,
): WrittenThread {
  const due = nextDue(after)
  const { status, due_at: _, ...rest } = after
  const last = before?.sequence ?? 0
  const events = evidence.flatMap((record) => webhookOf(record) ?? [])
  const thread: Thread = {
    status,
    ...rest,
    ...(due === undefined ? {} : { due_at: due }),
    ...(events.length === 0 ? {} : { sequence: last + events.length }),
  }
  // a vote that decides nothing yet
  const isQuiet = events.length === 0 && evidence.some(({ type }) => type === 'vote.cast')
  return {
    thread,
    writes: [
      put('thread', thread.thread_id, thread),
      ...moveIndexes(before, thread),
      ...moveDue(before, thread),
      ...spendWaiting(before, thread),
      ...askedNoMore(before, thread),
      { op: 'mark', index: INDEX.evidence(thread.thread_id) },
    ],
    evidence,
    notices: [
      ...events.map(
        (type, i) => () =>
          threadNotice(type, thread, { at, sequence: last + i + 1, ...(payload && { payload }) }),
      ),
      ...(isQuiet
        ? [
            () => ({
              ...threadNotice('review.pending', thread, { at, sequence: last }),
              quiet: true as const,
            }),
          ]
        : []),
    ],
  }
}

/** The writes for a thread whose next check by the timer has changed, and nothing that evidence contains. */
export function rescheduled(before: Thread, after: Thread): Write[] {
  const { due_at: _, ...rest } = after
  const due = nextDue(after)
  const thread: Thread = { ...rest, ...(due === undefined ? {} : { due_at: due }) }
  return [put('thread', thread.thread_id, thread), ...moveDue(before, thread)]
}

/** The threads that exist and can be parsed. A broken record is reported in lists. */
export async function readableThreads(deps: Deps, tenant: string, ids: readonly string[]): Promise<Thread[]> {
  const reading = ids.map((id) => unlessBroken(read(deps.store, tenant, 'thread', id)))
  return (await Promise.all(reading)).flatMap((one) =>
    one === 'broken' || one === undefined ? [] : [one.value],
  )
}

function moveDue(before: Thread | undefined, after: Thread): Write[] {
  if (before?.due_at === after.due_at) return []
  const to = after.due_at === undefined ? {} : { to: after.due_at }
  return [{ op: 'index', index: INDEX.due, member: after.thread_id, ...to }]
}

/**
 * The thread after the transition.
 *
 * @throws TypeError for an impossible transition, which the verb must rule out before the call
 */
export function moved(thread: Thread, trigger: ThreadTrigger, change: Partial<Thread> = {}): Thread {
  const status = transition(thread.status, trigger)
  if (status === undefined) throw new TypeError(`no ${trigger} in ${thread.status}`)
  return { ...thread, ...change, status }
}

function shorten(text: string): string {
  const characters = Array.from(text)
  return characters.length <= TITLE_CHARS ? text : `${characters.slice(0, TITLE_CHARS - 1).join('')}…`
}

/**
 * The part of a plan that prevents a commit after the thread's deadline, because expiry always rejects
 * (docs/agent-api.md).
 */
export function beforeDeadline({ deadline }: Thread): { readonly before?: number } {
  return deadline === undefined ? {} : { before: deadline }
}
