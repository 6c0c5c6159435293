import type { ComponentChildren } from 'preact'
import type { ThreadSummary } from '../../contract/reviewer.ts'
import { RiskMark } from '../risk/risk-mark.tsx'
import { me } from '../session/session.ts'
import { AgentText } from '../text/agent-text.tsx'
import { HeadingLine } from '../text/heading-line.tsx'
import { Ago, Countdown } from '../time/countdown.tsx'

interface RowProps {
  readonly thread: ThreadSummary
  readonly fresh?: boolean
  /** The button that unfolds the equal calls of the row. */
  readonly more?: ComponentChildren
}

/** One thread of a list: the call, its agent, its risk and the time left. The whole row is the link. */
export function ThreadRow({ thread, fresh = false, more }: RowProps) {
  const { thread_id, risk, tool_name, agent, status, created_at, heading } = thread
  const waits = status === 'pending_review'
  const yours = waits && thread.mine
  const turn = waits ? (yours ? ' mine' : ' others') : ''
  return (
    <li class={`row${turn}${fresh ? ' fresh' : ''}`}>
      <RiskMark risk={risk} />
      <a href={`#/thread/${thread_id}`} class="open">
        <HeadingLine of={heading} />
        {yours && <span class="sr"> (yours to decide)</span>}
        <span class="subject">
          <Gist of={thread} />
        </span>
      </a>
      <span class="by">
        {heading.template !== undefined && `${tool_name} · `}
        {agent} · <Ago at={created_at} />
        {thread.revision > 1 && ` · revision ${thread.revision}`}
      </span>
      <span class="where">
        {waits ? <Approvals thread={thread} /> : <Status status={statusOf(thread)} />}
        <Claimed thread={thread} />
        {more}
      </span>
      <span class="when">{waits && thread.deadline && <Countdown deadline={thread.deadline} />}</span>
    </li>
  )
}

interface GistProps {
  readonly of: { readonly subject?: string; readonly message?: string }
}

/** The agent's words in quotation marks, which distinguish them from the words of policy. */
export function Gist({ of: { subject, message = '' } }: GistProps) {
  const said = <AgentText text={subject ?? message} />
  return subject ? <q>{said}</q> : said
}

function Claimed({ thread: { claim } }: RowProps) {
  if (claim === undefined) return null
  return (
    <span class="tag">
      claimed by {claim.reviewer === me.value?.reviewer ? 'you' : (claim.name ?? claim.reviewer)}
    </span>
  )
}

function Approvals({ thread: { approvals, groups, escalated_to } }: RowProps) {
  return (
    <span>
      {approvals.given} of {approvals.required} from {groups.join(' and ')}
      {escalated_to.length > 0 && `, or ${escalated_to.join(' or ')}`}
    </span>
  )
}

const WORDS: Readonly<Record<string, string>> = {
  pending_review: 'waiting',
  changes_requested: 'changes requested',
}

/** The status of the thread; a withdrawn call is not shown as rejected. */
export const statusOf = ({ status, withdrawn_at }: Pick<ThreadSummary, 'status' | 'withdrawn_at'>): string =>
  withdrawn_at === undefined ? status : 'withdrawn'

export function Status({ status }: { readonly status: string }) {
  return <span class={`status ${status}`}>{WORDS[status] ?? status}</span>
}
