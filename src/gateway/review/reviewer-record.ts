import type { Thread } from '../../domain/thread.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { aboutThread, type EvidenceRecord, type Happened, isoTime } from '../core/event-record.ts'

/** The record of a reviewer's act on a thread, at the current time. */
export function reviewerRecord(deps: Deps, caller: Caller, thread: Thread, event: Happened): EvidenceRecord {
  return {
    ...event,
    ...aboutThread(thread),
    at: isoTime(deps.store.now()),
    actor: { kind: 'reviewer', id: caller.id },
  }
}
