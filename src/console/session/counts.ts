import { computed, signal } from '@preact/signals'
import type { ThreadChange, ThreadCounts, ThreadList } from '../../contract/reviewer.ts'
import type { RiskLevel } from '../../contract/agent.ts'
import { RISKS } from '../risk/risk-mark.tsx'
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

/** The risks of the calls that need this reviewer's vote, by id, and the least urgent one if there are more. */
interface Needed {
  readonly risks: ReadonlyMap<string, RiskLevel>
  readonly more: RiskLevel | undefined
}

const needed = signal<Needed | undefined>(undefined)

/**
 * The number of calls of one risk or of all that need this reviewer's vote. The title, the icon, the navigation, the
 * list and its filters show it. Undefined while unknown.
 */
export function neededOf(risk?: RiskLevel): string | undefined {
  if (needed.value === undefined) return undefined
  const { risks, more } = needed.value
  const count = risk === undefined ? risks.size : [...risks.values()].filter((one) => one === risk).length
  const open = more !== undefined && (risk === undefined || RISKS.indexOf(risk) >= RISKS.indexOf(more))
  return open && count === 0 ? undefined : `${count}${open ? '+' : ''}`
}

export const needsVote = computed(() => neededOf())

/** Changes that arrived during a load. The answer to the load may be older. */
const meanwhile: ThreadChange[] = []
let loads = 0

/** Loads the calls that need a vote. From then on, changes keep the number current. */
export async function loadNeeded(): Promise<void> {
  loads += 1
  const { body } = await get<ThreadList>('review/threads?status=pending_review&mine=true&limit=100')
  loads -= 1
  if (body) {
    const risks = new Map(body.threads.map(({ thread_id, risk }) => [thread_id, risk] as const))
    needed.value = { risks, more: body.next_cursor === undefined ? undefined : body.threads.at(-1)?.risk }
    const late = meanwhile.splice(0)
    for (const change of late) countChange(change)
  }
}

export function countChange(change: ThreadChange): void {
  if (loads > 0) meanwhile.push(change)
  const { thread } = change
  if (needed.value === undefined) return
  const risks = new Map(needed.value.risks)
  const known = thread.mine ? risks.get(thread.thread_id) === thread.risk : !risks.has(thread.thread_id)
  if (known) return
  if (thread.mine) risks.set(thread.thread_id, thread.risk)
  else risks.delete(thread.thread_id)
  needed.value = { ...needed.value, risks }
  // of more calls than the page counts, others follow
  if (needed.value.more && !thread.mine) void loadNeeded()
}
