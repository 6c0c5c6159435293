import type { Thread } from '../../domain/thread.ts'
import type { Fault } from '../../store/archive.ts'
import { heldKey } from '../thread/equal-calls.ts'
import { fault, type PartCheck } from './part.ts'

/**
 * G16: reviewers were notified of the first of equal waiting calls. Such a record with the wrong thread would suppress
 * the notification of the next equal call.
 */
export function checkAsked(): PartCheck {
  const named = new Map<string, string>()
  /** The first of equal calls, by their common key. */
  const first = new Map<string, string>()
  return {
    record(type, id, value) {
      if (type === 'asked') named.set(id, (value as { thread_id: string }).thread_id)
      if (type !== 'thread') return []
      const thread = value as Thread
      const key = heldKey(thread)
      if (key !== undefined && thread.repeats !== true) first.set(key, thread.thread_id)
      return []
    },
    end: () => [...faultsOf(named, first)],
  }
}

function* faultsOf(named: ReadonlyMap<string, string>, first: ReadonlyMap<string, string>): Iterable<Fault> {
  for (const [key, thread] of named)
    if (first.get(key) !== thread)
      yield fault(
        'G16',
        `thread \`${thread}\` is recorded as the first of its equal waiting calls, but is not`,
      )
  for (const [key, thread] of first)
    if (!named.has(key))
      yield fault('G16', `thread \`${thread}\` waits, but is not recorded as the first of its equal calls`)
}
