import { signal } from '@preact/signals'
import type { ThreadView, VoteDecision } from '../../contract/reviewer.ts'
import { isHeld } from '../outbox/outbox.ts'
import { isGrave } from '../risk/risk-mark.tsx'
import { announce } from '../shell/announce.tsx'
import { ACKNOWLEDGE } from './acknowledge.tsx'
import { vote, voteLater } from '../call/thread-acts.ts'
import type { ThreadState } from '../call/thread-state.ts'

export const COMMENT = 'comment'
export type Deciding = ReturnType<typeof createDeciding>

/**
 * The steps from a key or button to a vote. The reviewer is first asked for missing parts. A grave act needs a second
 * act.
 *
 * @param voted runs after a vote was counted
 */
export function createDeciding(thread: ThreadState, voted: () => void) {
  /**
   * Announces the part that the reviewer must look at first, and returns true. Returns false when there is no such
   * part.
   */
  function mustLook(decision: VoteDecision): boolean {
    if (thread.next.value) announce('Look at the new revision first')
    else if (decision === 'approve' && thread.mustAcknowledge.value)
      lookAt(ACKNOWLEDGE, 'Look at the warnings first')
    else return false
    return true
  }

  const mustPage = (decision: VoteDecision, byKey: boolean): boolean =>
    decision === 'approve' && !thread.parts.decides(byKey)

  /** The agent may use an approval at any time, so a rejection that takes one back does not wait. */
  function send(decision: VoteDecision): void {
    const { risk = 'critical', status } = thread.view.value ?? {}
    const cast = isGrave(risk) || status === 'approved' ? vote : voteLater
    void cast(thread, decision).then((counted) => counted && voted())
  }

  function start(decision: VoteDecision, byKey = false): void {
    const view = thread.view.value
    if (!view || !mayCast(decision, view) || thread.sending.value) return
    // the key opens the question of a grave act, which another key answers
    if (mustLook(decision) || mustPage(decision, byKey && !isGrave(view.risk))) return
    asking.decide(decision, view)
  }

  // a revision and warnings may have arrived while the question was open
  const asking = createAsking(thread.comment, (decision) => mustLook(decision) || send(decision))
  return {
    ...asking,
    start,
    /** Adds a saved comment to the comment field. */
    insert: (index: number): void => {
      const text = thread.view.value?.review.comments[index]
      if (text !== undefined && thread.view.value?.can_vote.allowed) addTo(thread.comment, text)
    },
  }
}

/** The wish for a comment that a level requires, and the question before a grave act. */
export function createAsking(comment: { readonly value: string }, cast: (decision: VoteDecision) => unknown) {
  const asking = signal<VoteDecision | undefined>(undefined)
  const wanted = signal('')
  const writing = signal(false)
  return {
    /** The vote that waits for the second act. */
    asking,
    /** The required content of the comment, after the reviewer tried to vote without a comment. */
    wanted,
    /** True when the comment field is open, on a screen that has no room for it. */
    writing,
    /** Casts a vote, unless it needs a comment or a second act first. */
    decide: (decision: VoteDecision, view: ThreadView): void => {
      const want = comment.value.trim() === '' ? wantedFor(decision, view) : undefined
      if (want !== undefined) {
        wanted.value = want
        writing.value = true
        // the field may appear only now
        setTimeout(() => lookAt(COMMENT, want))
      } else if (decision !== 'request_changes' && isGrave(view.risk)) asking.value = decision
      else cast(decision)
    },
    cancel: (): void => {
      asking.value = undefined
    },
    confirm: (): void => {
      const decision = asking.value
      asking.value = undefined
      if (decision !== undefined) cast(decision)
    },
  }
}

export const mayCast = (decision: VoteDecision, { thread_id, can_reject, can_vote }: ThreadView): boolean =>
  (decision === 'reject' ? can_reject : can_vote.allowed) && !isHeld(thread_id)

/** Adds a saved comment to a comment. */
export function addTo(comment: { value: string }, text: string): void {
  const before = comment.value.trim()
  if (before.includes(text)) return
  comment.value = before === '' ? text : `${before} ${text}`
  announce(`Comment: ${comment.value}`)
}

/** The request for a comment, where a decision needs one. */
function wantedFor(decision: VoteDecision, { review }: ThreadView): string | undefined {
  if (decision === 'request_changes') return 'Say what should change, then request changes'
  return decision === 'reject' && review.require_comment ? 'Say why, then reject' : undefined
}

export function lookAt(id: string, why: string): void {
  const element = document.getElementById(id)
  element?.scrollIntoView({ block: 'center' })
  element?.focus()
  announce(why)
}
