import { GatewayError } from '../../contract/errors.ts'
import type { ThreadsQuery } from '../../contract/review-requests.ts'
import { RISKS } from '../../domain/decision.ts'
import { INDEX } from '../core/indexes.ts'

/** A part of a list: the entries of indexes with the same kind of score, in one order. */
export interface Segment {
  readonly indexes: readonly string[]
  readonly reverse?: boolean
  /** Set when the time of a thread's creation scores the index. */
  readonly byCreation?: boolean
  /** Only threads on which the caller may vote, or only the others. */
  readonly mine?: boolean
}

type Sort = NonNullable<ThreadsQuery['sort']>

/**
 * The parts of a list, in order. Waiting threads are in order of urgency: calls that need the caller's vote before
 * others, then by risk, and then by the time left. Those on which the caller voted are in order of the votes.
 *
 * @throws GatewayError `invalid_request` for an order that threads of this status do not have
 */
export function segmentsOf(query: ThreadsQuery, reviewer: string): readonly Segment[] {
  const sort = sortOf(query)
  if (query.voted !== undefined) return [{ indexes: [INDEX.voted(reviewer)], reverse: sort !== 'oldest' }]
  if (sort === 'urgency') return byUrgency(query)
  if (sort === 'agent' || sort === 'tool') return [{ indexes: [INDEX.queueBy(sort)] }]
  return [{ indexes: indexesOf(query), byCreation: true, reverse: sort === 'newest' }]
}

function sortOf({ sort, status, agent, task_id }: ThreadsQuery): Sort {
  const waits = status === 'pending_review'
  if (sort === undefined) {
    const ofTask = agent !== undefined && task_id !== undefined
    return !waits ? 'newest' : ofTask ? 'oldest' : 'urgency'
  }
  if (waits || sort === 'oldest' || sort === 'newest') return sort
  throw new GatewayError('invalid_request', 'the request does not fit the contract', {
    errors: [{ pointer: '/sort', message: 'orders waiting threads only: add `status=pending_review`' }],
  })
}

const MOST_SEVERE_FIRST = RISKS.toReversed()

function byUrgency({ risk, mine }: ThreadsQuery): readonly Segment[] {
  const risks = risk === undefined ? MOST_SEVERE_FIRST : [risk]
  const parts = risks.map((one): Segment => ({ indexes: [INDEX.queue(one)] }))
  const own = parts.map((part) => ({ ...part, mine: true }))
  return mine === undefined ? [...own, ...parts.map((part) => ({ ...part, mine: false }))] : own
}

/** The smallest indexes that contain every match. */
function indexesOf({ task_id, agent, status, risk }: ThreadsQuery): readonly string[] {
  if (task_id !== undefined && agent !== undefined) return [INDEX.task(agent, task_id)]
  if (status === undefined || status === 'ended') return [INDEX.threads]
  if (status === 'pending_review') return (risk === undefined ? RISKS : [risk]).map(INDEX.pending)
  return [INDEX.status(status === 'withdrawn' ? 'rejected' : status)]
}
