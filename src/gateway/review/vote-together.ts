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

/**
 * Votes on several calls, one after the other (docs/review-api.md). Each vote is judged like a single one, and a
 * refused vote stops no other. A call of critical risk is refused.
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
  for (const entry of votes) {
    if (results.length > 0) await nextTurn()
    results.push(await resultOf(deps, caller, entry, common))
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
    if (!(error instanceof GatewayError)) throw error
    const { status, code, title, detail } = problemOf(error)
    return { thread_id, problem: { status, code, title, detail } }
  }
}
