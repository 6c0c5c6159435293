import { setImmediate as nextTurn } from 'node:timers/promises'
import { defined } from '../../contract/defined.ts'
import { GatewayError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Displayed } from '../../contract/review-requests.ts'
import type { ThreadView } from '../../contract/reviewer.ts'
import type { Quorum } from '../../domain/quorum.ts'
import { isVoidVote } from '../../domain/freeze.ts'
import { currentVotes, type Thread, type Vote } from '../../domain/thread.ts'
import type { Snapshot, Tenant, ToolContract } from '../../policy/language/snapshot.ts'
import { noteShown } from './view-time.ts'
import type { IndexEntry, StoredEvent } from '../../store/store.ts'
import { sayingOf } from '../../events/events.ts'
import type { Deps } from '../core/deps.ts'
import { type EvidenceRecord, isoTime } from '../core/event-record.ts'
import type { Caller } from '../core/caller.ts'
import { freezesNow, freezesOf } from '../core/freezes.ts'
import { legalHoldsNow } from '../core/legal-holds.ts'
import { reviewerEntry } from '../auth/standing.ts'
import { settleThread } from '../thread/settle-thread.ts'
import { raise } from '../thread/wait-again.ts'
import { read, type RevisionRecord, revisionId } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import { shownHeading } from '../thread/heading.ts'
import { shownReason } from '../thread/reasons.ts'
import { displayOf } from './display.ts'
import { picturesOf, shownPayload } from './show-payload.ts'
import { warningsIn } from './text-warnings.ts'
import { earlierCalls, limitStates, logHead, upcomingOf } from './thread-context.ts'
import { nameOf, quorumOf, type Summarised, summaryOf } from './thread-summary.ts'
import { storeCall, transact } from '../core/transact.ts'
import { findThread, type Obstacle, obstacleFor, obstacleTo } from './obstacles.ts'

/**
 * All information that a reviewer needs for a decision. The view separates the agent's claims from policy's assessment.
 * The view has all revisions, votes and seats, the reviewers who can still vote, the caller's obstacle, and the
 * evidence of the thread. The ETag is the digest of the current revision.
 *
 * @throws GatewayError `not_found`
 */
export async function showThread(deps: Deps, caller: Caller, thread_id: string): Promise<ThreadView> {
  reviewerEntry(deps.policies.current(), caller)
  const { answer: thread } = await transact(deps, caller.tenant, async () => {
    const found = await findThread(deps, caller.tenant, thread_id)
    const freezes = await freezesNow(deps, caller.tenant)
    const become = await settleThread(deps, found, freezes)
    return become ?? (await raise(deps, found, freezes).catch(notJudged)) ?? { answer: found.value }
  })
  noteShown(deps, caller, thread)
  return storeCall(() => viewOf(deps, caller, thread))
}

/** A fault of the engine raises nothing, and keeps no reviewer from reading. */
function notJudged(error: unknown): undefined {
  if (error instanceof GatewayError && error.code === 'not_ready') return undefined
  throw error
}

async function viewOf(deps: Deps, caller: Caller, thread: Thread): Promise<ThreadView> {
  const snapshot = deps.policies.current()
  const tenant = snapshot?.directory.tenants.get(thread.tenant)
  const [freezes, holds, revisions, comments, earlier, limits, evidence, log] = await Promise.all([
    freezesOf(deps, thread.tenant),
    legalHoldsNow(deps, thread.tenant),
    revisionsOf(deps, caller, thread),
    commentsOf(deps, thread, tenant),
    earlierCalls(deps, snapshot, thread),
    limitStates(deps, snapshot, thread),
    evidenceOf(deps, thread),
    logHead(deps, thread.tenant),
  ])
  const current = revisions.at(-1)
  if (current === undefined) throw new TypeError('a thread without its revision')
  const tool = snapshot?.tools.get(thread.tool)
  const { record, shown } = current
  return {
    ...summaryOf(deps, snapshot, { caller, thread, freezes, holds }),
    ...(record.claims as object),
    ...defined({ action_hash: digestsOf(record, shown).action_hash }),
    ...shown,
    warnings: warningsIn(record, shown),
    digest: record.digest,
    rules: rulesOf(snapshot, thread, record),
    policy_revision: record.policy_revision,
    policy_risk: thread.policy_risk,
    ...(tool === undefined ? {} : { tool_description: tool.description }),
    ...sourceOf(tool),
    ...(tool?.reversibility === undefined ? {} : { reversibility: tool.reversibility }),
    labels: [...(tool?.labels ?? [])],
    sensitive: [...(tool?.sensitive ?? [])],
    fields: fieldsOf(tool),
    revisions: revisions.map(({ record: one, shown: theirs }) => ({
      ...revisionView(one, theirs),
      rules: rulesOf(snapshot, thread, one),
      heading: shownHeading(snapshot, thread.tool, one.heading),
    })),
    votes: thread.votes.map((one) => voteView(tenant, { thread, freezes, vote: one })),
    seats: quorumOf(deps, tenant, { thread, freezes }).seats.map(seatView),
    ...votersOf(deps, tenant, { caller, thread, freezes }),
    ...tokenOf(thread),
    interactive: thread.requirement.interactive === true,
    review: reviewOf(snapshot, thread),
    display: displayOf(caller, thread, { record, previous: revisions.at(-2)?.record, shown }),
    comments,
    earlier,
    limits,
    upcoming: upcomingOf(thread),
    evidence,
    ...defined({ log }),
  }
}

const fieldsOf = (tool: ToolContract | undefined): string[] =>
  Object.keys((tool?.inputSchema['properties'] ?? {}) as JsonObject)

function sourceOf(tool: ToolContract | undefined): Pick<ThreadView, 'tool_source'> {
  if (tool?.source === undefined) return {}
  const { server, name } = tool.source
  return { tool_source: { server, name } }
}

interface ShownRevision {
  readonly record: RevisionRecord
  readonly shown: ReturnType<typeof payloadFor>
}

/** Revisions read at the same time. Each may contain a whole request body, and other requests wait during the read. */
const TOGETHER = 2

async function revisionsOf(deps: Deps, caller: Caller, thread: Thread): Promise<ShownRevision[]> {
  const { tenant, thread_id, revision: last } = thread
  const found: ShownRevision[] = []
  for (let first = 1; first <= last; first += TOGETHER) {
    if (first > 1) await nextTurn()
    const ids = Array.from({ length: Math.min(TOGETHER, last - first + 1) }, (_, i) =>
      revisionId(thread_id, first + i),
    )
    const records = await Promise.all(ids.map((id) => read(deps.store, tenant, 'revision', id)))
    for (const one of records)
      if (one) found.push({ record: one.value, shown: payloadFor(deps, caller, thread, one.value) })
  }
  return found
}

/** The action and its display form, as the caller may see them. */
function payloadFor(
  deps: Deps,
  caller: Caller,
  thread: Thread,
  revision: RevisionRecord,
): Pick<ThreadView, 'payload' | 'masked' | 'pictures'> {
  return { ...shownPayload(deps, caller, thread, revision), pictures: picturesOf(revision) }
}

async function commentsOf(
  deps: Deps,
  { tenant: partition, thread_id }: Thread,
  tenant: Tenant | undefined,
): Promise<ThreadView['comments']> {
  const record = await read(deps.store, partition, 'comments', thread_id)
  return (record?.value.comments ?? []).map((one) => ({
    ...one,
    at: isoTime(one.at),
    ...nameOf(tenant, one.reviewer),
  }))
}

/**
 * Digests of the whole payload, omitted while values are masked. With a digest, a reader could test guesses of a value.
 */
function digestsOf(
  { payload_digest, action_hash }: RevisionRecord,
  { masked }: Pick<ThreadView, 'masked'>,
): Pick<ThreadView['revisions'][number], 'payload_digest' | 'action_hash'> {
  return masked.length > 0 ? {} : { payload_digest, ...defined({ action_hash }) }
}

function revisionView(
  record: RevisionRecord,
  shown: Pick<ThreadView, 'payload' | 'masked' | 'pictures'>,
): Omit<ThreadView['revisions'][number], 'heading' | 'rules'> {
  const { claims, fired: _______, heading: ______, requirement: _, nonce: __, history: ___, ...more } = record
  const { payload_digest: ____, action_hash: _____, ...rest } = more
  return {
    ...rest,
    ...digestsOf(record, shown),
    ...(claims as object),
    by: [...rest.by],
    submitted_at: isoTime(rest.submitted_at),
    ...shown,
  }
}

/** How the thread's level is reviewed. Without a bundle, the stricter way applies. */
function reviewOf(snapshot: Snapshot | undefined, { requirement, risk }: Thread): ThreadView['review'] {
  const { comments = [], reveal = 'required' } = snapshot?.views[risk] ?? {}
  const { require_comment = false, require_displayed = false } = requirement
  return { comments: [...comments], require_comment, reveal, require_displayed }
}

/** The rules that fired, each with the values that made it fire. */
function rulesOf(
  snapshot: Snapshot | undefined,
  { tool }: Thread,
  { fired }: RevisionRecord,
): ThreadView['rules'] {
  return fired.map(({ because, ...rule }) => ({
    ...rule,
    ...(because && { because: because.map((one) => shownReason(snapshot, tool, one)) }),
  }))
}

function voteView(
  tenant: Tenant | undefined,
  { thread, freezes, vote }: Pick<Summarised, 'thread' | 'freezes'> & { readonly vote: Vote },
): ThreadView['votes'][number] {
  const { groups: _, epoch: __, freeze_epoch: ___, displayed: ____, ...shown } = vote
  return {
    ...shown,
    at: isoTime(vote.at),
    void: !currentVotes(thread).includes(vote) || isVoidVote(freezes.freezes, vote),
    ...nameOf(tenant, vote.reviewer),
  }
}

function seatView(seat: Quorum['seats'][number]): ThreadView['seats'][number] {
  const { group, approvals, filledBy, escalatedTo } = seat
  return { group, approvals, filled_by: [...filledBy], escalated_to: [...escalatedTo] }
}

function votersOf(
  deps: Deps,
  tenant: Tenant | undefined,
  { caller, thread, freezes }: Omit<Summarised, 'holds'>,
): Pick<ThreadView, 'who_can_vote' | 'can_vote' | 'can_reject'> {
  const circumstances = { now: deps.store.now(), freezes }
  const reviewers = [...(tenant?.reviewers.values() ?? [])]
  const able = reviewers.filter(
    (reviewer) => obstacleTo(thread, reviewer, tenant, circumstances) === undefined,
  )
  const obstacleIf = (rejects: boolean): Obstacle | undefined =>
    obstacleFor(deps.policies.current(), caller, thread, { ...circumstances, rejects })
  const obstacle = obstacleIf(false)
  return {
    who_can_vote: able.map(({ id, name, groups }) => ({ reviewer: id, name, groups: [...groups] })),
    can_vote: obstacle ? { allowed: false, ...obstacle } : { allowed: true },
    can_reject: obstacleIf(true) === undefined,
  }
}

function tokenOf(thread: Thread): Pick<ThreadView, 'token'> {
  const { approval } = thread
  if (approval === undefined || thread.status !== 'approved') return {}
  const expires = approval.token_expires_at
  const state = stateOf(approval)
  return { token: { state, ...(expires === undefined ? {} : { expires_at: isoTime(expires) }) } }
}

function stateOf(approval: NonNullable<Thread['approval']>): NonNullable<ThreadView['token']>['state'] {
  if (approval.redeemed_at !== undefined) return 'redeemed'
  if (approval.collected_at === undefined) return 'not_collected'
  return approval.token_hash === undefined ? 'unsigned' : 'collected'
}

/**
 * Maximum number of commits that a thread's page lists. The page lists the latest, which always include the end of the
 * thread.
 */
const EVIDENCE_COMMITS = 200
/**
 * Records read at a time. Most commits have one or two. The record after the commit marks the commit's end, but may
 * belong to another caller and contain a whole request body.
 */
const RECORDS_PER_COMMIT = 2
/** Commits read in one turn of the event loop, because other requests wait during the read. */
const COMMITS_TOGETHER = 10

async function evidenceOf(deps: Deps, thread: Thread): Promise<ThreadView['evidence']> {
  const { tenant, thread_id } = thread
  const latest = { reverse: true, limit: EVIDENCE_COMMITS }
  const marks = (await deps.store.range(tenant, INDEX.evidence(thread_id), latest)).reverse()
  const found: ThreadView['evidence'][number][] = []
  for (let first = 0; first < marks.length; first += COMMITS_TOGETHER) {
    if (first > 0) await nextTurn()
    const some = marks.slice(first, first + COMMITS_TOGETHER)
    const commits = await Promise.all(
      some.map((mark, i) => {
        const next = marks[first + i + 1]?.score ?? Infinity
        return recordsOf(deps, thread, { ...mark, next })
      }),
    )
    found.push(...commits.flat().map(evidenceView))
  }
  return found
}

function evidenceView({ number, body }: StoredEvent): ThreadView['evidence'][number] {
  const record = JSON.parse(body) as EvidenceRecord
  const { type, at, actor } = record
  const display =
    type === 'vote.cast' ? (record.disclosed as { display?: Displayed } | undefined)?.display : undefined
  return {
    number,
    type,
    at,
    actor: `${actor.kind}:${actor.id}`,
    says: sayingOf(record),
    ...(display && { displayed: { seen: display.seen, unseen: display.unseen } }),
  }
}

/**
 * Returns all records of the commit that the mark refers to. Records that left the store have no commit ids: it
 * returns those about the thread, up to the next mark.
 */
async function recordsOf(
  deps: Deps,
  { tenant, thread_id }: Thread,
  { member, score: first, next }: IndexEntry & { readonly next: number },
): Promise<StoredEvent[]> {
  const found: StoredEvent[] = []
  const isOwn = ({ number, body, commitId }: StoredEvent): boolean =>
    commitId === member ||
    (commitId === '' && number < next && (JSON.parse(body) as EvidenceRecord).thread_id === thread_id)
  for (;;) {
    const page = await deps.store.events(tenant, first - 1 + found.length, RECORDS_PER_COMMIT)
    const own = page.filter(isOwn)
    found.push(...own)
    if (own.length < RECORDS_PER_COMMIT) return found
  }
}
