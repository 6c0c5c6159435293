import { computed, signal } from '@preact/signals'
import type { ThreadCounts } from '../../contract/reviewer.ts'
import { get } from '../wire/call.ts'

export const counts = signal<ThreadCounts | undefined>(undefined)

/** The number of waiting threads, for the title and the navigation; undefined while unknown. */
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
