import type { ThreadSummary } from '../../contract/reviewer.ts'
import { Status, statusOf } from '../queue/thread-row.tsx'
import { RiskShape } from '../risk/risk-mark.tsx'
import { me } from '../session/session.ts'
import { AgentText } from '../text/agent-text.tsx'
import { HeadingLine } from '../text/heading-line.tsx'
import { Ago } from '../time/countdown.tsx'
import { lookOf, span } from '../time/elapsed.ts'

/** A call that has ended, in two lines: the call and its end, then who decided and what became of it. */
export function EndedRow({ thread }: { readonly thread: ThreadSummary }) {
  const { thread_id: id, risk, heading, agent, updated_at } = thread
  const by = thread.decided_by?.at(-1)
  return (
    <li class="item">
      <RiskShape risk={risk} />
      <span class="l1">
        <a class="open" href={`#/thread/${id}`}>
          <span class="sr">{risk}: </span>
          <HeadingLine of={heading} />
        </a>
        <span class="when">
          {thread.legal_hold && (
            <span class="status" title={thread.legal_hold.reason}>
              legal hold
            </span>
          )}{' '}
          <Status status={statusOf(thread)} /> <Ago at={updated_at} />
        </span>
      </span>
      <span class="l2">
        <span class="why">
          {by && (
            <span class="by-whom" aria-hidden="true">
              {initials(by.name ?? by.reviewer)}
            </span>
          )}{' '}
          <AgentText text={endOf(thread)} />
        </span>
        {by?.ms !== undefined && <Look of={by} ms={by.ms} />}
        <span class="side">{agent}</span>
      </span>
    </li>
  )
}

const initials = (name: string): string =>
  name
    .split(/\s+/)
    .map((word) => Array.from(word)[0] ?? '')
    .join('')
    .slice(0, 2)
    .toUpperCase()

const SAID = { approve: 'approved', reject: 'rejected', request_changes: 'asked for changes' } as const

type Vote = NonNullable<ThreadSummary['decided_by']>[number]

/** How long the last reviewer looked, with a mark on an approval of less than three seconds. */
function Look({ of: { decision }, ms }: { readonly of: Vote; readonly ms: number }) {
  const { text, glance } = lookOf(ms)
  return <span class={glance && decision === 'approve' ? 'tag warn' : 'quiet'}>{text}</span>
}

/** The reviewers who decided, the comment, and the use of the approval. */
function endOf(thread: ThreadSummary): string {
  const { decided_by: votes = [], withdrawn_at, created_at, message } = thread
  const last = votes.at(-1)
  const withdrawn =
    withdrawn_at === undefined ? '' : `Withdrawn by its agent after ${between(created_at, withdrawn_at)}.`
  if (last === undefined) return withdrawn || message
  const names = votes.filter(({ decision }) => decision === last.decision).map(nameOf)
  const said = `${names.join(' and ')} ${SAID[last.decision]}${last.comment ? `: ${last.comment}` : ''}`
  return `${said.replace(/\.$/, '')}. ${withdrawn || useOf(thread, last)}`.trim()
}

const nameOf = ({ reviewer, name }: Vote): string =>
  reviewer === me.value?.reviewer ? 'You' : (name ?? reviewer)

function useOf({ status, used_at }: ThreadSummary, { decision, at }: Vote): string {
  if (used_at !== undefined) return `Used ${between(at, used_at)} later.`
  if (decision !== 'approve') return ''
  return status === 'rejected' ? 'The approval ended unused.' : 'Not used yet.'
}

const between = (from: string, to: string): string => span(Date.parse(to) - Date.parse(from))
