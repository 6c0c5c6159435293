import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { ThreadList, ThreadView } from '../../contract/reviewer.ts'
import { hashOf } from '../route/route.ts'
import { list } from '../route/router.ts'
import { Part } from '../seen/part.tsx'
import { RiskMark } from '../risk/risk-mark.tsx'
import { announce } from '../shell/announce.tsx'
import { startReading, takeFocus } from '../shell/heading.tsx'
import { HeadingLine } from '../text/heading-line.tsx'
import { AgentText } from '../text/agent-text.tsx'
import { sinceText } from '../time/countdown.tsx'
import { hasStopped } from '../time/asked.ts'
import { Ago, Countdown } from '../time/countdown.tsx'
import { span } from '../time/elapsed.ts'
import { ProblemNote } from '../wire/problem.tsx'
import { useResource } from '../wire/resource.ts'
import type { Notice, ThreadState } from '../call/thread-state.ts'

/** The note that a newer revision exists. The note appears in the bar, next to the buttons that it blocks. */
export function NewRevision({ thread }: { readonly thread: ThreadState }) {
  const next = thread.next.value
  if (next === undefined) return null
  // moves the focus to the changes at the top, because this note disappears
  const look = (): void => {
    thread.lookAtNext()
    startReading()
  }
  return (
    <div class="note warn" role="alert">
      <strong>The agent has sent revision {next.revision}.</strong> You are looking at revision{' '}
      {thread.view.value?.revision}, which can no longer be approved.{' '}
      <button onClick={look}>Look at revision {next.revision}</button>
    </div>
  )
}

/** A warning that no agent waits for the decision any more. */
export function Gone({ thread, view }: { readonly thread: ThreadState; readonly view: ThreadView }) {
  const { asked_at, asks_every_ms = 0 } = view
  if (asked_at === undefined || !hasStopped(view, thread.readAt.value)) return null
  return (
    <p class="note warn gone">
      <b>
        The agent last asked <Ago at={asked_at} />
      </b>
      {asks_every_ms > 0 && `, and usually asks every ${span(asks_every_ms)}`}.
    </p>
  )
}

/** The seats that policy asks for since the submission: a part to see. */
export function Raised({ view: { raised } }: { readonly view: ThreadView }) {
  if (!raised) return null
  return (
    <div class="note warn">
      <Part name="raised">{sinceText(raised)}.</Part>
    </div>
  )
}

const TOKENS = {
  not_collected: 'The agent has not collected the approval yet.',
  collected: 'The agent has collected its one-time proof, and has not used it yet.',
  redeemed: 'The proof was redeemed: the call may have run.',
  unsigned: 'The agent has read the approval. It works without a proof.',
} as const

const KINDS = { revised: 'note warn', unknown: 'note warn', refused: '', done: 'note good' } as const

/** The result of the last act and the end of the thread, combined when the reviewer's own vote ended the thread. */
export function Outcome({ thread, view }: { readonly thread: ThreadState; readonly view: ThreadView }) {
  const notice = thread.notice.value
  const ended = view.status !== 'pending_review'
  const together = ended && notice?.kind === 'done'
  return (
    <>
      {notice && (
        <Told key={notice} notice={notice} id={view.thread_id}>
          {together && <Ending view={view} said />}
        </Told>
      )}
      {ended && !together && (
        <div class={`note ${view.status === 'approved' ? 'good' : ''}`}>
          <Ending view={view} />
        </div>
      )}
    </>
  )
}

interface ToldProps {
  readonly notice: Notice
  readonly id: string
  readonly children: ComponentChildren
}

/**
 * A notice that receives the focus, unless the reviewer is typing a comment. The pressed button may have disappeared,
 * and the notice may be out of sight.
 */
function Told({ notice, id, children }: ToldProps) {
  const element = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => takeFocus(element.current), [])
  const { kind } = notice
  return (
    <div class={KINDS[kind]} tabIndex={-1} ref={element}>
      {kind === 'revised' && (
        <>
          <strong>The agent revised the call before your vote. Your vote was not counted.</strong> Look at the
          new revision and decide again.
        </>
      )}
      {kind === 'unknown' && (
        <>
          <strong>The outcome is unknown.</strong> {notice.problem.title}. Check below whether your vote is
          there, before you try again.
        </>
      )}
      {kind === 'refused' && <ProblemNote problem={notice.problem} />}
      {kind === 'done' && (
        <>
          <strong>{notice.text}</strong> {children}
          <Next after={id} />
        </>
      )}
    </div>
  )
}

const ENDINGS: Readonly<Record<string, string>> = {
  approved: 'Approved.',
  rejected: 'Rejected.',
  changes_requested: 'Back with the agent: changes were requested.',
}

interface EndingProps {
  readonly view: ThreadView
  /** True when another notice already reported the end. */
  readonly said?: boolean
}

function Ending({ view, said = false }: EndingProps) {
  const { status, message, token, updated_at, withdrawn_at } = view
  const ending = withdrawn_at === undefined ? (ENDINGS[status] ?? status) : 'Withdrawn by its agent.'
  // users of screen readers have no other sign that the buttons have disappeared
  useEffect(() => announce(`${view.tool_name}: ${ending}`), [ending])
  return (
    <>
      {!said && <strong>{ending} </strong>}
      <AgentText text={message} />{' '}
      <small>
        <Ago at={updated_at} />
      </small>
      {token && (
        <p>
          {TOKENS[token.state]}{' '}
          {token.expires_at && token.state === 'collected' && <Countdown deadline={token.expires_at} />}
        </p>
      )}
    </>
  )
}

/** The call that has waited longest for a vote of this reviewer. */
function Next({ after }: { readonly after: string }) {
  const { body } = useResource<ThreadList>(`review/threads?${WAITING}`)
  const next = body?.threads.find(({ thread_id }) => thread_id !== after)
  return (
    <p class="line">
      {next && (
        <a href={`#/thread/${next.thread_id}`}>
          Next call that waits for you: <RiskMark risk={next.risk} /> <HeadingLine of={next.heading} />
        </a>
      )}
      {body && !next && <span>Nothing else waits for you.</span>}
      <a href={hashOf(list)}>Back to the {list.page}</a>
    </p>
  )
}

/** Requests two threads, because one may still be the current thread. */
const WAITING = 'status=pending_review&mine=true&limit=2'
