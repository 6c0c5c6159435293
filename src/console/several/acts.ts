import type { VoteDecision } from '../../contract/reviewer.ts'
import { announce } from '../shell/announce.tsx'
import { addTo, createAsking } from '../thread/deciding.ts'
import { type Several, voteForAll } from './several-state.ts'
import { neighbour } from '../queue/queue-state.ts'
import { openRow } from '../queue/queue-pane.tsx'
import { go } from '../route/router.ts'

export type Acts = ReturnType<typeof createActs>

/**
 * The steps from a key or button to the votes. An approval needs each chosen row on the screen. Calls of high risk need
 * a second act.
 *
 * @param voted runs after the votes
 */
export function createActs(several: Several, voted: () => void) {
  const { parts, chosen, comment } = several
  const asking = createAsking(comment, (decision) =>
    voteForAll(several, decision).then((held) => held && voted()),
  )
  return {
    ...asking,
    start: (decision: VoteDecision, byKey = false): void => {
      const [first] = chosen.value
      if (first === undefined) announce('Choose calls first: x chooses a row, X all that were seen')
      else if (decision !== 'approve' || parts.decides(byKey)) asking.decide(decision, first.view)
    },
    insert: (index: number): void => {
      const text = several.shown.value[0]?.view.review.comments[index]
      if (text !== undefined) addTo(comment, text)
    },
  }
}

/** Moves by one row. Beyond the table, the next call of the queue opens. */
export function step(several: Several, id: string, by: number): void {
  const to = several.at.value + by
  const { length } = several.shown.value
  if (to >= 0 && to < length) {
    several.at.value = to
    const row = document.querySelectorAll('.calls tbody tr')[to]
    row?.scrollIntoView({ block: 'nearest' })
    row?.querySelector<HTMLElement>('input')?.focus({ preventScroll: true })
    return
  }
  const ids = new Set(several.shown.value.map(({ view }) => view.thread_id))
  let next = neighbour(id, by)
  while (next && ids.has(next.thread_id)) {
    const further = neighbour(next.thread_id, by)
    if (further === next) return
    next = further
  }
  if (next) openRow(next)
}

/** Chooses the row, and moves on to the next. */
export function choose(several: Several): void {
  const { shown, at, toggle, chosen } = several
  const one = shown.value[at.value]
  if (one === undefined) return
  toggle(one.view.thread_id)
  announce(`${chosen.value.length} of ${shown.value.length} chosen`)
  at.value = Math.min(at.value + 1, shown.value.length - 1)
}

export function openOne({ shown, at }: Several): void {
  const one = shown.value[at.value]
  if (one) go({ page: 'thread', thread: one.view.thread_id })
}

export function chooseSeen(several: Several): void {
  several.toggleSeen()
  announce(`${several.chosen.value.length} of ${several.shown.value.length} chosen`)
}
