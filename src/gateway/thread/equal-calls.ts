import { createHmac } from 'node:crypto'
import { digestOf } from '../../domain/digest.ts'
import type { Thread } from '../../domain/thread.ts'
import type { Guard, Write } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { put, read, remove, unchanged } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'

/**
 * Equal calls of one agent, task and tool that wait at the same time. Each call has its own thread, but the gateway
 * notifies reviewers only once. A revised call no longer equals the others (docs/review-api.md).
 */
type Asked = Pick<
  Thread,
  'agent' | 'task_id' | 'tool' | 'payload_digest' | 'title' | 'risk' | 'status' | 'revision'
>

const isAsked = ({ status, revision }: Asked): boolean => status === 'pending_review' && revision === 1

/**
 * The key includes the fields that lists show, so that one row never hides calls with a different claim or risk.
 */
const keyOf = ({ agent, task_id, tool, payload_digest, title = '', risk }: Asked): string =>
  digestOf([agent, task_id, tool, payload_digest, title, risk])

/** The common key of equal waiting calls; undefined for a call that no longer waits or that was revised. */
export function heldKey(thread: Asked): string | undefined {
  return isAsked(thread) ? keyOf(thread) : undefined
}

const TAG_CHARS = 22

/**
 * A tag with the same value for all equal waiting calls. The tag does not reveal a payload, even to a reader who can
 * guess its content.
 */
export function equalTag({ commitmentSecret }: Deps, thread: Asked): string | undefined {
  if (!isAsked(thread)) return undefined
  const tag = createHmac('sha256', commitmentSecret).update(`equal calls ${keyOf(thread)}`)
  return tag.digest('base64url').slice(0, TAG_CHARS)
}

/** The same text for waiting calls of one agent and tool with the same risk and fired rules. */
export function alikeTag(thread: Thread): string | undefined {
  const { status, tool, agent, risk, rules_digest } = thread
  if (status !== 'pending_review') return undefined
  return digestOf([tool, agent, risk, rules_digest]).slice(0, TAG_CHARS)
}

interface FirstAsked {
  /** True when an equal call already waits. */
  readonly repeats: boolean
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
}

/**
 * Marks one of several simultaneous equal calls as the first. The record of the first call exists while that call
 * waits.
 */
export async function askFirst(deps: Deps, thread: Thread): Promise<FirstAsked> {
  const key = keyOf(thread)
  const known = await read(deps.store, thread.tenant, 'asked', key)
  const guards = [unchanged('asked', key, known)]
  if (known !== undefined) return { repeats: true, guards, writes: [] }
  return { repeats: false, guards, writes: [put('asked', key, { thread_id: thread.thread_id })] }
}

/**
 * Removes the record of the first call when its thread ends or is revised. Reviewers are then notified of the next
 * equal call.
 */
export function askedNoMore(before: Thread | undefined, after: Thread): Write[] {
  if (before === undefined || before.repeats === true) return []
  return isAsked(before) && !isAsked(after) ? [remove('asked', keyOf(before))] : []
}

/** Maximum number of calls to compare, because equal calls arrive close together. */
const LOOKED_AT = 100

/** True when an older equal call waits. The reminder of the older call covers both. */
export async function olderWaits(deps: Deps, thread: Thread): Promise<boolean> {
  if (!isAsked(thread)) return false
  const { tenant, agent, task_id, created_at, thread_id } = thread
  const bounds = { max: created_at, reverse: true, limit: LOOKED_AT }
  const entries = await deps.store.range(tenant, INDEX.task(agent, task_id), bounds)
  const others = entries.filter(({ member }) => member !== thread_id)
  const threads = await Promise.all(others.map(({ member }) => read(deps.store, tenant, 'thread', member)))
  const isOlder = (other: Thread): boolean =>
    other.created_at < created_at || (other.created_at === created_at && other.thread_id < thread_id)
  return threads.some(
    (one) => one && isAsked(one.value) && keyOf(one.value) === keyOf(thread) && isOlder(one.value),
  )
}
