import type { ThreadSummary } from '../../contract/reviewer.ts'
import { RiskMark } from '../risk/risk-mark.tsx'
import { AgentText } from '../text/agent-text.tsx'
import { Ago, Countdown } from '../time/countdown.tsx'

interface RowProps {
  readonly thread: ThreadSummary
  readonly me: string
  readonly fresh?: boolean
}

/** One thread of a list: what is asked, by whom, how risky, how long there is. The whole row is its link. */
export function ThreadRow({ thread, me, fresh = false }: RowProps) {
  const { thread_id, risk, tool_name, agent, subject, message, status, deadline, created_at } = thread
  const waits = status === 'pending_review'
  return (
    <li class={`row${thread.mine && waits ? ' mine' : ''}${fresh ? ' fresh' : ''}`}>
      <RiskMark risk={risk} />
      <a href={`#/thread/${thread_id}`} class="open">
        <span class="tool">{tool_name}</span>
        {waits && thread.mine && <span class="sr">(yours to decide) </span>}
        <span class="subject">
          <AgentText text={subject ?? message} />
        </span>
      </a>
      <span class="by">
        {agent} · <Ago at={created_at} />
        {thread.revision > 1 && ` · revision ${thread.revision}`}
      </span>
      <span class="where">
        {waits ? <Approvals thread={thread} /> : <Status status={status} />}
        {thread.claim && (
          <span class="tag">
            {thread.claim.reviewer === me
              ? 'claimed by you'
              : `claimed by ${thread.claim.name ?? thread.claim.reviewer}`}
          </span>
        )}
      </span>
      <span class="when">
        {waits && deadline && <Countdown deadline={deadline} />}
      </span>
    </li>
  )
}

function Approvals({ thread: { approvals, groups } }: { readonly thread: ThreadSummary }) {
  return (
    <span>
      {approvals.given} of {approvals.required} from {groups.join(' and ')}
    </span>
  )
}

const WORDS: Readonly<Record<string, string>> = {
  pending_review: 'waiting',
  changes_requested: 'changes requested',
}

export function Status({ status }: { readonly status: string }) {
  return <span class={`status ${status}`}>{WORDS[status] ?? status}</span>
}
