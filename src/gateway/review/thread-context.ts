import { defined } from '../../contract/defined.ts'
import type { ThreadView } from '../../contract/reviewer.ts'
import type { EarlierCall, LimitState } from '../../contract/thread-context.ts'
import { type Thread, upcomingAnnouncements } from '../../domain/thread.ts'
import type { ExplainingSnapshot } from '../../policy/evaluate/explanation.ts'
import { type IndexEntry, StoreUnavailable } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { type EvidenceRecord, isoTime } from '../core/event-record.ts'
import { toolOf } from '../thread/call-history.ts'
import { INDEX } from '../core/indexes.ts'
import { read } from '../core/records.ts'
import { readableThreads } from '../thread/thread-records.ts'
import type { Snapshot } from '../../policy/language/snapshot.ts'
import { shownHeading } from '../thread/heading.ts'

/**
 * The context of a thread: the other calls of its task, the limits that it would charge, and its future announcements.
 */

const EARLIER = 20

/**
 * Other calls of the task, latest first: reviewed calls, rejected calls, and the last allowed call of each tool. The
 * history keeps only the last.
 */
export async function earlierCalls(
  deps: Deps,
  snapshot: Snapshot | undefined,
  thread: Thread,
): Promise<EarlierCall[]> {
  const latest = (index: string): Promise<IndexEntry[]> =>
    deps.store.range(thread.tenant, index, { reverse: true, limit: EARLIER })
  const { agent, task_id } = thread
  const [threads, rejected, allowed] = await Promise.all([
    latest(INDEX.task(agent, task_id)).then((entries) =>
      readableThreads(
        deps,
        thread.tenant,
        entries.map(({ member }) => member),
      ),
    ),
    latest(INDEX.rejected(agent, task_id)).then((entries) => rejections(deps, thread.tenant, entries)),
    latest(INDEX.taskHistory(agent, task_id)),
  ])
  const approvals = new Set(threads.map((one) => one.approval?.at))
  const calls = [
    ...threads.filter((one) => one.thread_id !== thread.thread_id).map((one) => reviewedCall(snapshot, one)),
    ...rejected,
    ...allowed.flatMap((entry) => allowedCall(entry, approvals)),
  ]
  return calls.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)).slice(0, EARLIER)
}

function reviewedCall(snapshot: Snapshot | undefined, thread: Thread): EarlierCall {
  const { tool, status, created_at, thread_id, title: subject, message } = thread
  const heading = shownHeading(snapshot, tool, thread.heading)
  return {
    tool,
    outcome: status,
    at: isoTime(created_at),
    thread_id,
    heading,
    message,
    ...defined({ subject }),
  }
}

async function rejections(
  deps: Deps,
  tenant: string,
  entries: readonly IndexEntry[],
): Promise<EarlierCall[]> {
  const first = await deps.store.firstEvent(tenant)
  const pages = await Promise.all(
    entries.map(({ score: number }) =>
      deps.store.events(tenant, number - 1, 1).catch((error: unknown) => {
        // tiles that do not answer must keep no reviewer from a call
        if (number < first && error instanceof StoreUnavailable) return []
        throw error
      }),
    ),
  )
  // a record that is lost has the next one in its place
  const own = pages.map((page, i) => page.filter(({ number }) => number === entries[i]?.score))
  return own.flat().map(({ body }) => {
    const { tool = '', at } = JSON.parse(body) as EvidenceRecord
    return { tool, outcome: 'reject', at }
  })
}

/** An allowed call. Skips approvals in the history, because the list already contains their threads. */
function allowedCall(
  { member, score }: IndexEntry,
  approvals: ReadonlySet<number | undefined>,
): EarlierCall[] {
  const tool = toolOf(member)
  return tool === undefined || approvals.has(score) ? [] : [{ tool, outcome: 'allow', at: isoTime(score) }]
}

/** The limits that an approval would charge, with their current use. */
export async function limitStates(
  deps: Deps,
  snapshot: ExplainingSnapshot | undefined,
  thread: Thread,
): Promise<LimitState[]> {
  const limits = snapshot?.limitsOf(thread.tool) ?? []
  const states = limits.map(async (limit): Promise<LimitState[]> => {
    const { id, mode, per, withinMs, atMost, sensitive } = limit
    const charge = thread.charges?.find((one) => one.limit.startsWith(`${id} `))
    if (charge === undefined) return []
    const state = { id, mode, per, within_ms: withinMs, at_most: atMost }
    if (sensitive) return [state]
    const used = await deps.store.charged(thread.tenant, charge.limit, withinMs)
    return [{ ...state, used, amount: charge.amount }]
  })
  return (await Promise.all(states)).flat()
}

/** The last checkpoint of the evidence. */
export async function logHead({ store }: Deps, tenant: string): Promise<ThreadView['log']> {
  const [last] = await store.range(tenant, INDEX.checkpoints, { reverse: true, limit: 1 })
  const found = last && (await read(store, tenant, 'checkpoint', last.member))
  return found && { size: found.value.size, root: found.value.root, at: isoTime(found.value.at) }
}

export function upcomingOf(thread: Thread): ThreadView['upcoming'] {
  return upcomingAnnouncements(thread).map(({ kind, at, group }) => ({
    kind,
    at: isoTime(at),
    ...defined({ group }),
  }))
}
