import { type Thread, urgentAt } from '../../domain/thread.ts'
import type { Write } from '../../store/store.ts'
import { INDEX } from '../core/indexes.ts'

/** Adds a new thread to the list of all threads and to the list of its task. */
export function listThread(thread: Thread): Write[] {
  return listEntries(thread).map((entry): Write => ({ op: 'index', ...entry }))
}

/** The thread's entries in the lists that it never leaves. */
export const listEntries = ({ thread_id: member, agent, task_id, created_at: to }: Thread): Entry[] =>
  [INDEX.threads, INDEX.task(agent, task_id)].map((index) => ({ index, member, to }))

interface Entry {
  readonly index: string
  readonly member: string
  readonly to: number
}

/** The thread's entry by status and risk, which its creation scores, and its entries in the orders of the queue. */
export function entriesOf(thread: Thread | undefined): readonly Entry[] {
  if (thread === undefined) return []
  const { thread_id: member, created_at: to, status, risk } = thread
  const index = status === 'pending_review' ? INDEX.pending(risk) : INDEX.status(status)
  return [{ index, member, to }, ...voteEntries(thread), ...queueEntries(thread)]
}

/** The thread's entries by tool and by reviewer, scored by the last votes. They stay when a vote no longer counts. */
function voteEntries({ thread_id: member, tool, votes }: Thread): readonly Entry[] {
  const last = votes.at(-1)
  if (last === undefined) return []
  const byReviewer = new Map(votes.map(({ reviewer, at }) => [reviewer, at]))
  return [
    { index: INDEX.decided(tool), member, to: last.at },
    ...[...byReviewer].map(([reviewer, to]) => ({ index: INDEX.voted(reviewer), member, to })),
  ]
}

/** The thread's entries in the orders of the queue, while it waits. */
export function queueEntries(thread: Thread | undefined): readonly Entry[] {
  if (thread?.status !== 'pending_review') return []
  const { thread_id: member, risk, agent, tool } = thread
  return [
    { index: INDEX.queue(risk), member, to: urgentAt(thread) },
    { index: INDEX.queueBy('agent'), member: namedMember(agent, member), to: 0 },
    { index: INDEX.queueBy('tool'), member: namedMember(tool, member), to: 0 },
  ]
}

/** A member of an index in the order of names. */
const namedMember = (name: string, thread_id: string): string => `${name} ${thread_id}`

/** The thread of a member, which may begin with a name. */
export const threadOfMember = (member: string): string => member.slice(member.lastIndexOf(' ') + 1)

/** The writes that move the thread from its earlier entries to those of its new state. */
export function moveIndexes(before: Thread | undefined, after: Thread): Write[] {
  const [old, wanted] = [entriesOf(before), entriesOf(after)]
  const left = old.filter((one) => !wanted.some((other) => isSamePlace(one, other)))
  const entered = wanted.filter((one) => !old.some((other) => isSamePlace(one, other) && one.to === other.to))
  return [
    ...left.map(({ index, member }): Write => ({ op: 'index', index, member })),
    ...entered.map((entry): Write => ({ op: 'index', ...entry })),
  ]
}

const isSamePlace = (a: Entry, b: Entry): boolean => a.index === b.index && a.member === b.member
