import { canEnd, type Thread } from '../../domain/thread.ts'
import type { Deps } from '../core/deps.ts'
import { put, read, unchanged } from '../core/records.ts'
import { transact } from '../core/transact.ts'

/** Notes when an agent last asked for a decision, so that reviewers see whether it still waits. */

/** How often the time is written. Between two writes, an instance counts the questions in memory. */
const WRITTEN_EVERY_MS = 60_000
const MOST_COUNTED = 20_000
/** An agent that has not asked for this long, and for three of its intervals, has stopped. */
const STOPPED_MS = 10 * 60_000

/** True while the agent's next question could change what it does. */
const isAwaited = (thread: Thread): boolean => canEnd(thread) && thread.approval?.collected_at === undefined

/**
 * Counts a question, and writes its time once a minute. A lost note is harmless, so a store that cannot write refuses
 * no question.
 */
export async function noteAsked(deps: Deps, thread: Thread): Promise<void> {
  if (!isAwaited(thread)) return
  const now = deps.store.now()
  const { thread_id, created_at, asked_at = created_at } = thread
  const counted = deps.asking.get(thread_id)
  // another gateway may have written meanwhile
  const known = counted && counted.since >= asked_at ? counted : { since: asked_at, count: 0, last: now }
  known.count += 1
  known.last = now
  if (deps.asking.size >= MOST_COUNTED) deps.asking.clear()
  deps.asking.set(thread.thread_id, known)
  if (now - known.since < WRITTEN_EVERY_MS || deps.store.shortOfRoom() !== undefined) return
  const every = Math.round((now - known.since) / known.count)
  deps.asking.set(thread.thread_id, { since: now, count: 0, last: now })
  await write(deps, thread, { asked_at: now, asks_every_ms: every }).catch(() => undefined)
}

type Note = Pick<Thread, 'asked_at' | 'asks_every_ms'>

async function write(deps: Deps, { tenant, thread_id }: Thread, note: Note): Promise<void> {
  await transact(deps, tenant, async () => {
    const found = await read(deps.store, tenant, 'thread', thread_id)
    if (found === undefined || !isAwaited(found.value)) return { answer: undefined }
    if ((found.value.asked_at ?? 0) >= (note.asked_at ?? 0)) return { answer: undefined }
    return {
      answer: undefined,
      guards: [unchanged('thread', thread_id, found)],
      writes: [put('thread', thread_id, { ...found.value, ...note })],
    }
  })
}

/** The last question and the usual interval, as this instance knows them; undefined when the agent needs no answer. */
export function askedOf(
  deps: Deps,
  thread: Thread,
): { readonly at: number; readonly everyMs?: number } | undefined {
  if (!isAwaited(thread)) return undefined
  const { created_at, submitted_at, asked_at = 0, asks_every_ms } = thread
  const at = Math.max(created_at, submitted_at, asked_at, deps.asking.get(thread.thread_id)?.last ?? 0)
  return { at, ...(asks_every_ms === undefined ? {} : { everyMs: asks_every_ms }) }
}

/** True when no agent waits for the decision any more. */
export function hasStopped(deps: Deps, thread: Thread): boolean {
  const asked = askedOf(deps, thread)
  if (asked === undefined) return false
  return deps.store.now() - asked.at > Math.max(STOPPED_MS, 3 * (asked.everyMs ?? 0))
}
