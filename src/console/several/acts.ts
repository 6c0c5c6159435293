import { signal } from '@preact/signals'
import type { VoteDecision } from '../../contract/reviewer.ts'
import { isGrave } from '../risk/risk-mark.tsx'
import { announce } from '../shell/announce.tsx'
import { addTo, COMMENT, lookAt, wantedFor } from '../thread/deciding.ts'
import { type Several, voteForAll } from './several-state.ts'

export type Acts = ReturnType<typeof createActs>

/**
 * The steps from a key or button to the votes. An approval needs each chosen row on the screen. Calls of high risk need
 * a second act.
 *
 * @param voted runs after the votes
 */
export function createActs(several: Several, voted: () => void) {
  const asking = signal<VoteDecision | undefined>(undefined)
  const wanted = signal('')
  const writing = signal(false)
  const { parts, chosen, comment } = several

  const cast = (decision: VoteDecision, now: boolean): void =>
    void voteForAll(several, decision, now).then((held) => held && voted())

  function start(decision: VoteDecision, byKey = false): void {
    const [first] = chosen.value
    if (first === undefined) return announce('Choose calls first: x chooses a row, X all that were seen')
    if (decision === 'approve' && !parts.decides(byKey)) return
    const want = comment.value.trim() === '' ? wantedFor(decision, first.view) : undefined
    if (want !== undefined) {
      wanted.value = want
      writing.value = true
      // the field may appear only now
      setTimeout(() => lookAt(COMMENT, want))
    } else if (isGrave(first.view.risk) && decision !== 'request_changes') asking.value = decision
    else cast(decision, isGrave(first.view.risk))
  }

  return {
    /** The decision that waits for the second act. */
    asking,
    /** The required content of the comment. */
    wanted,
    /** True when the comment field is open, on a screen that has no room for it. */
    writing,
    start,
    insert: (index: number): void => {
      const text = several.shown.value[0]?.view.review.comments[index]
      if (text !== undefined) addTo(comment, text)
    },
    cancel: (): void => {
      asking.value = undefined
    },
    confirm: (): void => {
      const decision = asking.value
      asking.value = undefined
      if (decision !== undefined && chosen.value.length > 0) cast(decision, true)
    },
  }
}
