import type { VoteDecision } from '../../contract/reviewer.ts'
import { announce } from '../shell/announce.tsx'
import { addTo, createAsking } from '../thread/deciding.ts'
import { type Several, voteForAll } from './several-state.ts'

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
