import type { ThreadView } from '../../contract/reviewer.ts'
import { isGrave } from '../risk/risk-mark.tsx'
import { ApproveButton } from '../seen/approve-button.tsx'
import { ENTER, type Parts } from '../seen/parts.ts'
import { AgentText } from '../text/agent-text.tsx'
import { partName } from '../text/because-text.ts'
import { Confirm } from './confirm.tsx'
import { COMMENT, type Deciding, mayCast } from './deciding.ts'
import { NewRevision } from './notices.tsx'
import { say } from '../call/thread-acts.ts'
import type { ThreadState } from '../call/thread-state.ts'

interface BarProps {
  readonly thread: ThreadState
  readonly deciding: Deciding
  readonly view: ThreadView
}

/**
 * The reviewer's actions, which are always reachable, or the reason why they are missing. No update removes a field in
 * which the reviewer types.
 */
export function ActionBar({ thread, deciding, view }: BarProps) {
  const may = mayCast('approve', view)
  const rejects = mayCast('reject', view)
  const writing = thread.comment.value !== '' || document.activeElement?.id === COMMENT
  if (!rejects && !writing && ['approved', 'rejected'].includes(view.status)) return null
  const open = deciding.writing.value || writing
  return (
    <section class={`bar${open ? ' writing' : ''}`} aria-label="Your decision">
      <NewRevision thread={thread} />
      {may && <Saved comments={view.review.comments} insert={deciding.insert} />}
      {may && <Ready thread={thread} />}
      {!view.can_vote.allowed && <WhyNot view={view} />}
      <CommentField comment={thread.comment} placeholder={wishOf(rejects, deciding.wanted.value)} />
      <div class="acts">
        <Write of={deciding} open={open} />
        <Say thread={thread} />
        {rejects && <Votes thread={thread} deciding={deciding} view={view} />}
      </div>
      <Confirm deciding={deciding} view={view} />
    </section>
  )
}

const wishOf = (rejects: boolean, wanted: string): string =>
  rejects ? wanted || 'Comment for the agent' : 'Comment for the others'

interface FieldProps {
  readonly comment: { value: string }
  readonly placeholder: string
}

/** The comment of a vote. */
export function CommentField({ comment, placeholder }: FieldProps) {
  return (
    <>
      <label class="sr" htmlFor={COMMENT}>
        Comment
      </label>
      <textarea
        id={COMMENT}
        rows={1}
        placeholder={placeholder}
        value={comment.value}
        onInput={(event) => {
          comment.value = event.currentTarget.value
        }}
      />
    </>
  )
}

interface WriteProps {
  readonly of: { readonly writing: { value: boolean } }
  readonly open: boolean
}

/** Opens the comment field, on a screen that has no room for it. */
export function Write({ of: { writing }, open }: WriteProps) {
  return (
    <button
      class="write"
      aria-label="Write a comment"
      aria-expanded={open}
      onClick={() => {
        writing.value = !writing.value
      }}
    >
      <i aria-hidden="true" />
    </button>
  )
}

interface SavedProps {
  readonly comments: readonly string[]
  readonly insert: (index: number) => void
}

/** The saved comments of the level, which the keys 1 to 9 insert. */
export function Saved({ comments, insert }: SavedProps) {
  if (comments.length === 0) return null
  return (
    <div class="saved" role="group" aria-label="Saved comments">
      {comments.map((text, i) => (
        <button key={text} title={text} onClick={() => insert(i)}>
          <kbd aria-hidden="true">{i + 1}</kbd> {text}
        </button>
      ))}
    </div>
  )
}

/** Sends the comment without a vote. */
function Say({ thread }: Pick<BarProps, 'thread'>) {
  if (thread.comment.value.trim() === '') return null
  return (
    <button disabled={thread.sending.value} onClick={() => void say(thread)}>
      Comment
    </button>
  )
}

function Votes({ thread, deciding, view }: BarProps) {
  const busy = thread.sending.value
  const blocked = thread.next.value !== undefined
  const reject = (
    <button class="reject" disabled={busy || blocked} onClick={() => deciding.start('reject')}>
      Reject <kbd>r</kbd>
    </button>
  )
  if (!view.can_vote.allowed) return reject
  return (
    <>
      {reject}
      <button disabled={busy || blocked} onClick={() => deciding.start('request_changes')}>
        <RequestChanges />
      </button>
      <ApproveButton
        parts={thread.parts}
        label={isGrave(view.risk) ? 'Approve…' : 'Approve'}
        disabled={busy || blocked}
        act={() => deciding.start('approve')}
      />
    </>
  )
}

/** The words of the button, without room for all of them, too. */
export const RequestChanges = ({ count = '' }: { readonly count?: number | '' }) => (
  <>
    <span class="word-wide">Request changes {count}</span>
    <span class="word-narrow" aria-hidden="true">
      Changes
    </span>{' '}
    <kbd>c</kbd>
  </>
)

export const READY = 'ready'
const NAMED = 4

/** The parts that were not seen, each a way to its place. */
function Ready({ thread: { parts, hidden } }: Pick<BarProps, 'thread'>) {
  const missing = parts.missing.value
  if (missing.length === 0) {
    const left = hidden.value
    return (
      <p class="ready all" id={READY}>
        {parts.armed.value ? ENTER : 'Everything seen'}
        {left > 0 && ` · ${left} ${left === 1 ? 'value' : 'values'} not revealed`}
      </p>
    )
  }
  // a value that made a rule fire and its field have one name
  const named = missing.filter(
    (name, i) => missing.findIndex((other) => partName(other) === partName(name)) === i,
  )
  const names = new Map(named.map((part) => [part, partName(part)]))
  return <NotSeen parts={parts} names={names} most={NAMED} />
}

interface NotSeenProps {
  readonly parts: Parts
  /** The names of the parts. A press shows the part; two parts may have one name. */
  readonly names: ReadonlyMap<string, string>
  readonly most: number
}

/** The first parts that were not seen. */
export function NotSeen({ parts, names, most }: NotSeenProps) {
  return (
    <p class="ready" id={READY}>
      <span class="quiet">Not seen:</span>
      {[...names].slice(0, most).map(([part, name]) => (
        <button key={part} class="link-like" onClick={() => parts.leadTo(part)}>
          <AgentText text={name} />
        </button>
      ))}
      {names.size > most && <span class="quiet">and {names.size - most} more</span>}
    </p>
  )
}

/** The reason that the reviewer cannot vote, and who can. */
function WhyNot({ view }: { readonly view: ThreadView }) {
  if (view.status !== 'pending_review')
    return (
      <p class="quiet">
        {view.can_reject ? 'A rejection takes the approval back.' : 'No decision is needed right now.'}
      </p>
    )
  const others = view.who_can_vote.map(({ name }) => name).join(', ')
  const who = others ? `${others} can vote` : 'no reviewer can, and it will be rejected when its time is up'
  const { code, reason = 'you are not among its reviewers' } = view.can_vote
  const why =
    code === 'not_eligible'
      ? `Only ${[...view.groups, ...view.escalated_to].join(' and ')} decides this call`
      : `You cannot vote on this call, because ${reason}`
  return (
    <p>
      <b>{why}:</b> {who}; you can comment.
    </p>
  )
}
