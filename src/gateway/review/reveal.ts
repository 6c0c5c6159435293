import { reviewerNamed } from '../../domain/evidence.ts'
import { record } from '../core/event-record.ts'
import { GatewayError } from '../../contract/errors.ts'
import type { Revealed } from '../../contract/reviewer.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { reviewerEntry, reviewerGuards } from '../auth/standing.ts'
import { read, revisionId } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import { picturesOf } from './show-payload.ts'
import { warningsIn } from './text-warnings.ts'
import { type Committed, transact } from '../core/transact.ts'
import { findThread } from './obstacles.ts'

/**
 * Returns the payload of a revision with its sensitive values. The gateway records the request before it sends the
 * answer.
 *
 * @throws GatewayError `not_found`, `unauthenticated`, `not_ready`, `store_unavailable`, `outcome_unknown`
 */
export async function reveal(
  deps: Deps,
  caller: Caller,
  { thread_id, number }: { readonly thread_id: string; readonly number: number },
): Promise<Committed<Revealed>> {
  return transact(deps, caller.tenant, async () => {
    const snapshot = deps.policies.current()
    reviewerEntry(snapshot, caller)
    const { value: thread } = await findThread(deps, caller.tenant, thread_id)
    const revision = await read(deps.store, caller.tenant, 'revision', revisionId(thread_id, number))
    if (revision === undefined) throw new GatewayError('not_found', `the thread has no revision ${number}`)
    const fields = [...(snapshot?.tools.get(thread.tool)?.sensitive ?? ['payload'])]
    const details = { revealed_revision: number, fields, via: caller.via }
    const payload = revision.value.payload as Revealed['payload']
    const warnings = warningsIn(revision.value, { payload, masked: [], pictures: picturesOf(revision.value) })
    return {
      answer: { revision: number, payload, warnings },
      counted: true,
      guards: await reviewerGuards(deps, caller),
      writes: [{ op: 'mark', index: INDEX.evidence(thread_id) }],
      evidence: [
        record(deps.store.now(), reviewerNamed(caller.id), thread, { type: 'payload.revealed', details }),
      ],
    }
  })
}
