import { setImmediate as nextTurn } from 'node:timers/promises'
import { defined } from '../../contract/defined.ts'
import type { VoteResults } from '../../contract/display.ts'
import { GatewayError, problemOf } from '../../contract/errors.ts'
import type { VotesRequest } from '../../contract/review-requests.ts'
import { reviewerEntry } from '../auth/standing.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { vote } from './vote.ts'

type Entry = VotesRequest['votes'][number]
type Result = VoteResults['results'][number]
type Problem = NonNullable<Result['problem']>

/**
 * Votes on several calls, one after the other (docs/review-api.md). Each vote is judged like a single one. If one
 * is refused, the others still count. A call of critical risk is refused. If the store becomes unavailable, the rest is
 * skipped.
 *
 * @throws GatewayError `unauthenticated`, `not_ready`
 */
export async function voteTogether(
  deps: Deps,
  caller: Caller,
  { votes, ...common }: VotesRequest,
): Promise<VoteResults> {
  reviewerEntry(deps.policies.current(), caller)
  const results: Result[] = []
  let away: Problem | undefined
  for (const entry of votes) {
    if (results.length > 0) await nextTurn()
    const result = away === undefined ? await resultOf(deps, caller, entry, common) : withProblem(entry, away)
    if (result.problem?.code === 'store_unavailable') away = result.problem
    results.push(result)
  }
  return { results }
}

async function resultOf(
  deps: Deps,
  caller: Caller,
  { thread_id, revision, displayed, ...own }: Entry,
  { decision, comment }: Omit<VotesRequest, 'votes'>,
): Promise<Result> {
  const cast = { decision: own.decision ?? decision, revision, displayed, ...defined({ comment }) }
  try {
    const { answer } = await vote(deps, caller, { thread_id, vote: cast, together: true })
    return { thread_id, status: answer.status }
  } catch (error) {
    const { status, code, title, detail } = problemOf(error instanceof GatewayError ? error : NOT_JUDGED)
    return { thread_id, problem: { status, code, title, detail } }
  }
}

const withProblem = ({ thread_id }: Entry, problem: Problem): Result => ({ thread_id, problem })

/** A fault of one thread, such as a broken record, which keeps no other vote from being judged. */
const NOT_JUDGED = new GatewayError(
  'internal',
  'this vote could not be judged; `countersign store check` says more',
)
