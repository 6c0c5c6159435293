import type { ThreadView } from '../contract/reviewer.ts'
import type { Quorum } from '../domain/quorum.ts'
import type { Thread } from '../domain/thread.ts'
import type { Tenant } from '../policy/snapshot.ts'
import type { Deps } from './deps.ts'
import { type EvidenceRecord, isoTime } from './evidence.ts'
import { expiry } from './expire.ts'
import type { Caller } from './caller.ts'
import { reviewerEntry } from './identify.ts'
import { INDEX, read, type RevisionRecord, revisionId } from './records.ts'
import { quorumOf, summaryOf } from './thread-summary.ts'
import { storeCall, transact } from './transact.ts'
import { findThread, obstacleTo } from './vote.ts'

/**
 * Everything a reviewer decides on: what the agent claims apart from what policy assessed, all revisions, votes, seats,
 * who can still vote and why I cannot, and the evidence of the thread. The ETag is the digest of the current revision.
 *
 * @throws GatewayError `not_found`
 */
export async function showThread(deps: Deps, caller: Caller, thread_id: string): Promise<ThreadView> {
  reviewerEntry(deps.policies.current(), caller)
  const { answer: thread } = await transact(deps, caller.tenant, async () => {
    const found = await findThread(deps, caller.tenant, thread_id)
    return expiry(deps, found) ?? { answer: found.value }
  })
  return storeCall(() => viewOf(deps, caller, thread))
}

async function viewOf(deps: Deps, caller: Caller, thread: Thread): Promise<ThreadView> {
  const snapshot = deps.policies.current()
  const tenant = snapshot?.directory.tenants.get(thread.tenant)
  const revisions = await revisionsOf(deps, thread)
  const current = revisions.at(-1)
  if (current === undefined) throw new TypeError('a thread without its revision')
  const tool = snapshot?.tools.get(thread.tool)
  return {
    ...summaryOf(deps, snapshot, thread),
    ...(current.claims as object),
    ...(current.action_hash === undefined ? {} : { action_hash: current.action_hash }),
    payload: current.payload as ThreadView['payload'],
    digest: current.digest,
    rules: current.fired.map((rule) => ({ ...rule })),
    policy_revision: current.policy_revision,
    policy_risk: thread.policy_risk,
    ...(tool === undefined ? {} : { tool_description: tool.description }),
    ...(tool?.reversibility === undefined ? {} : { reversibility: tool.reversibility }),
    labels: [...(tool?.labels ?? [])],
    sensitive: [...(tool?.sensitive ?? [])],
    revisions: revisions.map(revisionView),
    votes: thread.votes.map((one) => voteView(thread, tenant, one)),
    seats: quorumOf(deps, tenant, thread).seats.map(seatView),
    ...votersOf(deps, caller, thread, tenant),
    ...tokenOf(thread),
    evidence: await evidenceOf(deps, thread),
  }
}

async function revisionsOf(deps: Deps, thread: Thread): Promise<RevisionRecord[]> {
  const numbers = Array.from({ length: thread.revision }, (_, i) => revisionId(thread.thread_id, i + 1))
  const records = await Promise.all(numbers.map((id) => read(deps.store, thread.tenant, 'revision', id)))
  return records.flatMap((record) => (record === undefined ? [] : [record.value]))
}

function revisionView(record: RevisionRecord): ThreadView['revisions'][number] {
  const { claims, fired, requirement: _, nonce: __, history: ___, submitted_at, ...rest } = record
  return {
    ...rest,
    ...(claims as object),
    by: [...rest.by],
    payload: rest.payload as ThreadView['payload'],
    submitted_at: isoTime(submitted_at),
    rules: fired.map((rule) => ({ ...rule })),
  }
}

function voteView(
  thread: Thread,
  tenant: Tenant | undefined,
  vote: Thread['votes'][number],
): ThreadView['votes'][number] {
  const name = tenant?.reviewers.get(vote.reviewer)?.name
  return {
    ...vote,
    at: isoTime(vote.at),
    void: vote.revision !== thread.revision,
    ...(name === undefined ? {} : { name }),
  }
}

function seatView(seat: Quorum['seats'][number]): ThreadView['seats'][number] {
  const { group, approvals, filledBy, escalatedTo } = seat
  return { group, approvals, filled_by: [...filledBy], escalated_to: [...escalatedTo] }
}

function votersOf(
  deps: Deps,
  caller: Caller,
  thread: Thread,
  tenant: Tenant | undefined,
): Pick<ThreadView, 'who_can_vote' | 'can_vote'> {
  const now = deps.store.now()
  const reviewers = [...(tenant?.reviewers.values() ?? [])]
  const able = reviewers.filter((reviewer) => obstacleTo(thread, reviewer, tenant, now) === undefined)
  const self = tenant?.reviewers.get(caller.id)
  const obstacle = self && obstacleTo(thread, self, tenant, now)
  return {
    who_can_vote: able.map(({ id, name, groups }) => ({ reviewer: id, name, groups: [...groups] })),
    can_vote: obstacle ? { allowed: false, ...obstacle } : { allowed: self !== undefined },
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

/** Most commits of one thread that its page lists. */
const EVIDENCE_COMMITS = 200
const RECORDS_PER_COMMIT = 4

async function evidenceOf(deps: Deps, thread: Thread): Promise<ThreadView['evidence']> {
  const { tenant, thread_id } = thread
  const marks = await deps.store.range(tenant, INDEX.evidence(thread_id), { limit: EVIDENCE_COMMITS })
  const pages = await Promise.all(
    marks.map((mark) => deps.store.events(tenant, mark.score - 1, RECORDS_PER_COMMIT)),
  )
  return pages.flatMap((page, i) =>
    page
      .filter((event) => event.commitId === marks[i]?.member)
      .map((event) => {
        const { type, at, actor } = JSON.parse(event.body) as EvidenceRecord
        return { number: event.number, type, at, actor: `${actor.kind}:${actor.id}` }
      }),
  )
}
