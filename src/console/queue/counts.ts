import { computed, signal } from '@preact/signals'
import type { ThreadCounts } from '../../contract/reviewer.ts'
import { get } from '../wire/call.ts'

export const counts = signal<ThreadCounts | undefined>(undefined)

/** How many threads wait, for the title and the navigation; undefined until they were counted. */
export const waiting = computed(
  () => counts.value && Object.values(counts.value.pending).reduce((sum, one) => sum + one),
)

const TOGETHER_MS = 250
let due: ReturnType<typeof setTimeout> | undefined

let asked = 0
let taken = 0

/** An answer is dropped when one that was asked for later has come already. */
export async function loadCounts(): Promise<void> {
  const mine = ++asked
  const answer = await get<ThreadCounts>('review/counts')
  if (!answer.ok || mine < taken) return
  taken = mine
  counts.value = answer.body
}

/** Changes come in bursts: they are counted once. */
export function countSoon(): void {
  due ??= setTimeout(() => {
    due = undefined
    void loadCounts()
  }, TOGETHER_MS)
}
