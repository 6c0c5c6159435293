import type { JsonObject } from '../../contract/json.ts'
import { stepsOf } from '../../domain/place.ts'
import type { Displayed, VoteDecision, VoteRequest } from '../../contract/review-requests.ts'
import type { Revealed, ThreadView } from '../../contract/reviewer.ts'
import { hold } from '../outbox/outbox.ts'
import { displayedOf, type Looked } from '../seen/displayed.ts'
import { payloadPlace } from '../text/because-text.ts'
import { announce } from '../shell/announce.tsx'
import { tellMissed } from '../shell/missed.tsx'
import { call, isUnknown, type Outcome, type Refusal } from '../wire/call.ts'
import type { ThreadState } from './thread-state.ts'

export const SAID = {
  approve: 'You approved',
  reject: 'You rejected',
  request_changes: 'You asked for changes to',
} as const

/**
 * Votes for the shown revision and digest. If the agent has revised the call, the gateway refuses the vote.
 * @returns true when the vote was counted
 */
export async function vote(thread: ThreadState, decision: VoteDecision): Promise<boolean> {
  const view = thread.view.value
  if (view === undefined || thread.next.value !== undefined) return false
  const { revision, digest } = view
  const done = `${SAID[decision]} revision ${revision}.`
  return act(
    thread,
    async () => call('POST', `${thread.path}/votes`, { body: await bodyOf(thread, view, decision), digest }),
    done,
  )
}

/** Votes with time to take the vote back. The page sends it later, whatever is open then. */
export async function voteLater(thread: ThreadState, decision: VoteDecision): Promise<boolean> {
  const view = thread.view.value
  if (view === undefined || thread.next.value !== undefined || thread.sending.value) return false
  thread.sending.value = true
  const body = await bodyOf(thread, view, decision)
  thread.sending.value = false
  const { thread_id, digest, heading, revision } = view
  thread.notice.value = undefined
  const sent = thread.comment.value
  hold({ thread: thread_id, line: heading.line, digest, body }, (answer) => {
    if (answer.ok && 'thread_id' in answer.body) {
      if (thread.comment.value === sent) thread.comment.value = ''
      thread.take(answer.body)
      thread.notice.value = { kind: 'done', text: `${SAID[decision]} revision ${revision}.` }
    } else if (!thread.left) void thread.load()
  })
  return true
}

/** The record of the parts of a call that were on the screen. */
export function displayOf(
  { current, hidden }: ThreadState,
  view: ThreadView,
  looked: Omit<Looked, 'hidden'>,
): Promise<Displayed | undefined> {
  const { masked = [], payload = {} } = current.value ?? {}
  const placeOf = (pointer: string): string => payloadPlace(stepsOf(payload as JsonObject, pointer))
  return displayedOf(view, { ...looked, hidden: hidden.value === 0 ? [] : masked.map(placeOf) })
}

async function bodyOf(thread: ThreadState, view: ThreadView, decision: VoteDecision): Promise<VoteRequest> {
  const comment = thread.comment.value.trim()
  const { seen, missing, time } = thread.parts
  const displayed = await displayOf(thread, view, {
    seen: seen.value,
    missing: missing.value,
    ms: time(),
  })
  return {
    decision,
    revision: view.revision,
    ...(comment !== '' && { comment }),
    ...(displayed && { displayed }),
  }
}

export async function say(thread: ThreadState): Promise<void> {
  const comment = thread.comment.value.trim()
  if (comment === '') return
  const done = 'Your comment was added for all reviewers.'
  await act(thread, () => call('POST', `${thread.path}/comments`, { body: { comment } }), done)
}

export function claim(thread: ThreadState, takeOver: boolean): Promise<boolean> {
  const body = takeOver ? { take_over: true } : {}
  return act(thread, () => call('POST', `${thread.path}/claim`, { body }))
}

export function release(thread: ThreadState): Promise<boolean> {
  return act(thread, () => call('POST', `${thread.path}/release`))
}

/** Reveals the sensitive values of a revision; the gateway records who did it. */
export async function reveal(
  { path, revealed, notice, current, parts }: ThreadState,
  revision: number,
): Promise<void> {
  const answer = await call<Revealed>('POST', `${path}/reveal`, { body: { revision } })
  if (answer.ok) {
    revealed.value = { ...revealed.value, [revision]: answer.body }
    const { masked = [] } = current.value ?? {}
    parts.showAgain(
      masked.map((pointer) => payloadPlace(stepsOf(answer.body.payload as JsonObject, pointer).slice(0, 1))),
    )
    announce('The hidden values are shown')
  } else notice.value = { kind: 'refused', problem: answer.problem }
}

/**
 * Runs one act at a time, and returns true when it succeeded. After any result except plain success,
 * the page reads the thread again.
 */
async function act(
  thread: ThreadState,
  ask: () => Promise<Outcome<ThreadView>>,
  done?: string,
): Promise<boolean> {
  if (thread.sending.value) return false
  thread.sending.value = true
  thread.notice.value = undefined
  const sent = thread.comment.value
  const answer = await ask()
  if (answer.ok) {
    thread.take(answer.body)
    if (done !== undefined) {
      // keeps text that was typed during the request, because it was not sent
      if (thread.comment.value === sent) thread.comment.value = ''
      thread.notice.value = { kind: 'done', text: done }
    }
  } else await afterRefusal(thread, answer.problem)
  thread.sending.value = false
  return answer.ok
}

async function afterRefusal(thread: ThreadState, problem: Refusal): Promise<void> {
  if (problem.status === 401) return
  if (!thread.left) await thread.load()
  const { tool_name, revision } = thread.view.value ?? {}
  // the reviewer may have left the page during that read
  if (thread.left) return tellMissed(`${tool_name}, revision ${revision}`, problem)
  thread.notice.value =
    problem.status === 412
      ? { kind: 'revised' }
      : { kind: isUnknown(problem) ? 'unknown' : 'refused', problem }
}
