import { reviewerNamed } from '../../domain/evidence.ts'
import { record } from '../core/event-record.ts'
import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import { isSaidAgain } from '../../domain/comment.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { reviewerEntry, reviewerGuards } from '../auth/standing.ts'
import { put, read, unchanged } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import { keepsWords } from '../core/kept-words.ts'
import { type Committed, transact } from '../core/transact.ts'
import { findThread } from './obstacles.ts'

/**
 * Adds a comment to a thread in any state. Every reviewer of the tenant may comment. A comment changes no decision. The
 * gateway does not store an immediate repetition of the last comment, because browsers resend requests after a broken
 * connection.
 *
 * @throws GatewayError `not_found`, `too_many_comments`, `unauthenticated`, `not_ready`, `store_unavailable`,
 * `outcome_unknown`
 */
export async function comment(
  deps: Deps,
  caller: Caller,
  { thread_id, text }: { readonly thread_id: string; readonly text: string },
): Promise<Committed<void>> {
  return transact(deps, caller.tenant, async () => {
    const reviewer = reviewerEntry(deps.policies.current(), caller)
    const { value: thread } = await findThread(deps, caller.tenant, thread_id)
    const known = await read(deps.store, caller.tenant, 'comments', thread_id)
    const before = known?.value.comments ?? []
    const said = {
      reviewer: reviewer.id,
      comment: text,
      revision: thread.revision,
      at: deps.store.now(),
      via: caller.via,
    }
    const guards = [unchanged('comments', thread_id, known), ...(await reviewerGuards(deps, caller))]
    // the lost answer may have been `outcome_unknown`, so this answer is confirmed now
    if (isSaidAgain(before.at(-1), said)) return { answer: undefined, guards, confirmed: true }
    if (before.length >= LIMITS.COMMENTS)
      throw new GatewayError('too_many_comments', `a thread holds at most ${LIMITS.COMMENTS} comments`)
    return {
      answer: undefined,
      guards,
      writes: [
        put('comments', thread_id, { comments: [...before, said] }),
        { op: 'mark', index: INDEX.evidence(thread_id) },
      ],
      counted: true,
      evidence: [
        record(deps.store.now(), reviewerNamed(caller.id), thread, {
          type: 'thread.commented',
          details: { via: caller.via },
          disclosed: keepsWords(deps, 'comments') ? { comment: text } : {},
        }),
      ],
    }
  })
}
