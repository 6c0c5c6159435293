import type { ThreadRevision, ThreadView } from '../../contract/reviewer.ts'
import { useEffect, useLayoutEffect, useMemo } from 'preact/hooks'
import { type Handlers, handleKeys } from '../keyboard/keyboard.ts'
import { reveal } from '../call/thread-acts.ts'
import { PartsContext } from '../seen/part.tsx'
import { RevealContext } from '../payload/payload-tree.tsx'
import { UndoRow } from '../outbox/undo-row.tsx'
import { PayloadPanel } from '../payload/payload-panel.tsx'
import { leaveFrom, Loading } from '../list/list.tsx'
import { RevisionChanges } from '../revisions/revision-changes.tsx'
import type { Refusal } from '../wire/call.ts'
import { hashOf } from '../route/route.ts'
import { list } from '../route/router.ts'
import { ProblemNote, ProblemState } from '../wire/problem.tsx'
import { CALL, Heading, startReading } from '../shell/heading.tsx'
import { listen } from '../wire/stream.ts'
import { Acknowledge } from './acknowledge.tsx'
import { ActionBar } from './action-bar.tsx'
import { Assessment } from './assessment.tsx'
import { Context, Newer, Rejections, toggleContext, useEarlier } from './context.tsx'
import { CallStrip } from './call-strip.tsx'
import { Claims } from './claims.tsx'
import { Discussion } from './discussion.tsx'
import { EarlierCalls } from './earlier-calls.tsx'
import { Evidence } from './evidence.tsx'
import { Limits } from './limits.tsx'
import { Gone, Outcome, Raised } from './notices.tsx'
import { People } from './people.tsx'
import { ThreadHeader } from './thread-header.tsx'
import { createThread, type ThreadState } from '../call/thread-state.ts'
import { createDeciding, type Deciding } from './deciding.ts'

interface CallProps {
  readonly id: string
  /** Runs after the reviewer's vote was counted. */
  readonly voted: (thread: ThreadState) => void
}

/** One call: what policy says, what runs, the agent's claims, and the reviewers, with the bar of decisions below. */
export function CallPane({ id, voted }: CallProps) {
  const thread = useMemo(() => createThread(id), [id])
  const deciding = useMemo(() => createDeciding(thread, () => voted(thread)), [thread])
  useReading(thread, id)
  const view = thread.view.value
  useLayoutEffect(() => handleKeys(keysOf(thread, deciding)), [deciding, view?.review.comments.length])
  const revision = thread.current.value
  const problem = thread.problem.value
  const decides = (view?.can_vote.allowed ?? false) && thread.next.value === undefined
  useEffect(() => (decides ? thread.parts.watch() : undefined), [decides, thread])
  if (view === undefined || revision === undefined) {
    return (
      <div class="pane call">
        {problem ? (
          <Missing problem={problem} retry={() => void thread.load()} />
        ) : (
          <Loading what="the call" />
        )}
      </div>
    )
  }
  return (
    <PartsContext.Provider value={decides ? thread.parts : undefined}>
      <RevealContext.Provider value={view.review.reveal === 'required'}>
        <article class="pane call" aria-labelledby={CALL}>
          <CallStrip view={view} />
          <Content thread={thread} view={view} revision={revision} />
          <UndoRow />
          <ActionBar thread={thread} deciding={deciding} view={view} />
        </article>
      </RevealContext.Provider>
    </PartsContext.Provider>
  )
}

interface ContentProps {
  readonly thread: ThreadState
  readonly view: ThreadView
  readonly revision: ThreadRevision
}

/** The part of the pane that scrolls. */
function Content({ thread, view, revision }: ContentProps) {
  const problem = thread.problem.value
  const earlier = useEarlier(view)
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="The call">
      <ThreadHeader view={view} thread={thread} />
      {problem && <ProblemNote problem={problem} retry={() => void thread.load()} />}
      <Gone thread={thread} view={view} />
      <Raised view={view} />
      <Outcome thread={thread} view={view} />
      <div class={isLong(thread.payloadOf(revision)) ? 'body one' : 'body'}>
        <div>
          <Newer earlier={earlier} />
          <Rejections earlier={earlier} />
          <Acknowledge thread={thread} />
          <RevisionChanges thread={thread} view={view} />
          <Assessment view={view} revision={revision} />
          <PayloadPanel thread={thread} revision={revision} />
          <Claims view={view} revision={revision} />
        </div>
        <div>
          <Context key={`${view.thread_id} ${view.revision}`} id={view.thread_id} earlier={earlier} />
          <People view={view} thread={thread} />
          <Discussion view={view} />
          <Limits limits={view.limits} />
          <EarlierCalls calls={view.earlier} />
          <Evidence view={view} />
        </div>
      </div>
    </div>
  )
}

/** The least text of a payload that takes the width of both columns, in characters. */
const LONG = 1_200

const isLong = (payload: object): boolean => JSON.stringify(payload).length > LONG

/** The keys of an open call. */
function keysOf(thread: ThreadState, deciding: Deciding): Handlers {
  const saved = thread.view.value?.review.comments ?? []
  return {
    ...Object.fromEntries(saved.map((_, i) => [`comment ${i + 1}`, () => deciding.insert(i)])),
    approve: () => deciding.start('approve', true),
    page: thread.parts.page,
    reject: () => deciding.start('reject'),
    request_changes: () => deciding.start('request_changes'),
    diff: () => compare(thread),
    context: toggleContext,
    reveal: () => {
      const { revision } = thread.view.value ?? {}
      if (revision !== undefined && thread.hidden.value > 0) void reveal(thread, revision)
    },
  }
}

const READ_EVERY_MS = 60_000

/** Reads the thread, again after every change while it is open, and once a minute. */
function useReading(thread: ThreadState, id: string): void {
  useEffect(() => {
    leaveFrom(id)
    // no key that was meant for the earlier call approves this one
    if (document.activeElement?.matches('.bar .approve')) (document.activeElement as HTMLElement).blur()
    void thread.load()
    const deaf = listen({
      changed: (change) => {
        if (change.thread.thread_id === id) void thread.load()
      },
      stale: () => void thread.load(),
    })
    // questions of the agent are no changes
    const again = setInterval(() => document.hidden || void thread.load(), READ_EVERY_MS)
    return () => {
      deaf()
      clearInterval(again)
      thread.left = true
    }
  }, [thread])
}

const NOT_FOUND = 404

function Missing({ problem, retry }: { readonly problem: Refusal; readonly retry: () => void }) {
  return (
    <>
      <div class="strip">
        <Heading>{problem.status === NOT_FOUND ? 'No such call' : 'Call'}</Heading>
        <a class="push" href={hashOf(list)}>
          Back to the {list.page}
        </a>
      </div>
      <ProblemState problem={problem} retry={retry} what="this call" />
    </>
  )
}

/** Shows or hides the changes, and moves to the top, where they are. */
function compare(thread: ThreadState): void {
  thread.toggleDiff()
  if (thread.diffFrom.value !== undefined) startReading()
}
