import { computed, signal } from '@preact/signals'
import type { ThreadChange, ThreadCounts, ThreadList } from '../../contract/reviewer.ts'
import { get } from '../wire/call.ts'

export const counts = signal<ThreadCounts | undefined>(undefined)

/** The number of waiting threads; undefined while unknown. */
export const waiting = computed(
  () => counts.value && Object.values(counts.value.pending).reduce((sum, one) => sum + one),
)

const TOGETHER_MS = 250
let due: ReturnType<typeof setTimeout> | undefined

let asked = 0
let taken = 0

/** Loads the counts, and drops an answer that arrives after the answer to a later request. */
export async function loadCounts(): Promise<void> {
  const mine = ++asked
  const answer = await get<ThreadCounts>('review/counts')
  if (!answer.ok || mine < taken) return
  taken = mine
  counts.value = answer.body
}

/** Loads the counts once for each burst of changes. */
export function countSoon(): void {
  due ??= setTimeout(() => {
    due = undefined
    void loadCounts()
  }, TOGETHER_MS)
}

/** The calls that need this reviewer's vote, and whether there are more than the page counts. */
interface Needed {
  readonly ids: ReadonlySet<string>
  readonly more: boolean
}

const needed = signal<Needed | undefined>(undefined)

/** The number of calls that need this reviewer's vote, for the title, the icon and the navigation. */
export const needsVote = computed(
  () => needed.value && `${needed.value.ids.size}${needed.value.more ? '+' : ''}`,
)

/** Changes that arrived during a load. The answer to the load may be older. */
const meanwhile: ThreadChange[] = []
let loads = 0

/** Loads the calls that need a vote. From then on, changes keep the number current. */
export async function loadNeeded(): Promise<void> {
  loads += 1
  const { body } = await get<ThreadList>('review/threads?status=pending_review&mine=true&limit=100')
  loads -= 1
  if (body) {
    const ids = new Set(body.threads.map(({ thread_id }) => thread_id))
    needed.value = { ids, more: body.next_cursor !== undefined }
    const late = meanwhile.splice(0)
    for (const change of late) countChange(change)
  }
}

export function countChange(change: ThreadChange): void {
  if (loads > 0) meanwhile.push(change)
  const { thread } = change
  if (needed.value === undefined || thread.mine === needed.value.ids.has(thread.thread_id)) return
  const ids = new Set(needed.value.ids)
  if (thread.mine) ids.add(thread.thread_id)
  else ids.delete(thread.thread_id)
  needed.value = { ...needed.value, ids }
  // of more calls than the page counts, others follow
  if (needed.value.more && !thread.mine) void loadNeeded()
}
