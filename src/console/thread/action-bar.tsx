import type { ThreadView } from '../../contract/reviewer.ts'
import { Confirm } from './confirm.tsx'
import { COMMENT, type Deciding } from './deciding.ts'
import { NewRevision } from './notices.tsx'
import { say } from '../call/thread-acts.ts'
import type { ThreadState } from '../call/thread-state.ts'

interface BarProps {
  readonly thread: ThreadState
  readonly deciding: Deciding
  readonly view: ThreadView
}

const ENDED: readonly string[] = ['approved', 'rejected', 'allow', 'reject']

/**
 * The reviewer's actions, which are always reachable, or the reason why they are missing. No update removes a field in
 * which the reviewer types.
 */
export function ActionBar({ thread, deciding, view }: BarProps) {
  const may = view.can_vote.allowed
  const writing = thread.comment.value || document.activeElement?.id === COMMENT
  if (!may && !writing && ENDED.includes(view.status)) return null
  return (
    <section class="bar" aria-label="Your decision">
      <NewRevision thread={thread} />
      {!may && <WhyNot view={view} />}
      <label class="sr" htmlFor={COMMENT}>
        Comment
      </label>
      <textarea
        id={COMMENT}
        rows={1}
        placeholder={may ? deciding.wanted.value || 'Comment for the agent' : 'Comment for the others'}
        value={thread.comment.value}
        onInput={(event) => {
          thread.comment.value = event.currentTarget.value
        }}
      />
      <div class="acts">
        {thread.comment.value.trim() !== '' && (
          <button disabled={thread.sending.value} onClick={() => void say(thread)}>
            Comment
          </button>
        )}
        {may && <Votes thread={thread} deciding={deciding} view={view} />}
      </div>
      <Confirm deciding={deciding} view={view} />
    </section>
  )
}

function Votes({ thread, deciding }: BarProps) {
  const busy = thread.sending.value
  const blocked = thread.next.value !== undefined
  return (
    <>
      <button class="reject" disabled={busy || blocked} onClick={() => deciding.start('reject')}>
        Reject <kbd>r</kbd>
      </button>
      <button disabled={busy || blocked} onClick={() => deciding.start('request_changes')}>
        Request changes <kbd>c</kbd>
      </button>
      <button class="main" disabled={busy || blocked} onClick={() => deciding.start('approve')}>
        Approve <kbd>a</kbd>
      </button>
    </>
  )
}

function WhyNot({ view }: { readonly view: ThreadView }) {
  if (view.status !== 'pending_review') return <p class="quiet">No decision is needed right now.</p>
  const others = view.who_can_vote.map(({ name }) => name).join(', ')
  return (
    <p>
      <b>You cannot vote on this:</b> {view.can_vote.reason ?? 'you are not among its reviewers'}.{' '}
      {others ? `${others} can.` : 'No reviewer can: it will be rejected when its time is up.'}
    </p>
  )
}
