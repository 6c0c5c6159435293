import type { ComponentChildren } from 'preact'
import type { Because } from '../../contract/reasons.ts'
import type { HeadingView } from '../../contract/heading.ts'
import type { ThreadSummary } from '../../contract/reviewer.ts'
import { formattedIn } from '../../domain/heading.ts'
import { RiskShape } from '../risk/risk-mark.tsx'
import { me } from '../session/session.ts'
import { AgentSpan, AgentText } from '../text/agent-text.tsx'
import { HeadingLine } from '../text/heading-line.tsx'
import { oneLine, placeName, STATES } from '../text/because-text.ts'
import { hasStopped } from '../time/asked.ts'
import { Ago, Due, sinceText } from '../time/countdown.tsx'
import { readAt } from './queue-state.ts'
import { statusOf } from './thread-row.tsx'

interface ItemProps {
  readonly thread: ThreadSummary
  /** True when the call is open beside the list. */
  readonly current: boolean
  /** True when the Tab key leads to this row. */
  readonly stop: boolean
  /** True when the call no longer belongs to the list. */
  readonly over: boolean
  /** True when the row must name its risk, because no heading above it does. */
  readonly named: boolean
  /** The button that unfolds the equal calls of the row. */
  readonly more?: ComponentChildren
  readonly onOpen: (event: MouseEvent) => void
}

/** One row of the queue, in two lines of fixed height: the call and its time, then what decides and who asks. */
export function Item({ thread, current, stop, over, named, more, onOpen }: ItemProps) {
  const { thread_id: id, risk, agent, heading, mine, deadline } = thread
  const turn = over ? ' done' : mine ? ' mine' : ' others'
  return (
    <li class={`item${turn}`}>
      <RiskShape risk={risk} />
      <span class="l1">
        <a
          href={`#/thread/${id}`}
          class="open"
          tabIndex={stop ? 0 : -1}
          aria-current={current || undefined}
          aria-describedby={`why-${id} when-${id}`}
          onClick={onOpen}
        >
          <span class="sr">{risk}: </span>
          <HeadingLine of={heading} short />
        </a>
        <span id={`when-${id}`} class="when">
          {over ? <Ending thread={thread} /> : deadline && <Due deadline={deadline} />}
        </span>
      </span>
      <span class="l2">
        <Why thread={thread} />
        {named && <span class={`risk ${risk}`}>{risk}</span>}
        <span class="side agent">{agent}</span>
        <Side thread={thread} />
        {more}
      </span>
    </li>
  )
}

/** The word for a call that has ended, or for which this page holds a vote. */
const ENDED = 'decided'

function Ending({ thread }: Pick<ItemProps, 'thread'>) {
  const status = statusOf(thread)
  return (
    <span class={`status ${status}`}>{status === 'pending_review' ? ENDED : status.replace('_', ' ')}</span>
  )
}

/**
 * The value in which calls that look alike differ, and the value that made the rule fire. Without one, the first value
 * of the heading, and the reason from policy.
 */
function Why({ thread: { thread_id, message, because, differs, heading } }: Pick<ItemProps, 'thread'>) {
  const first = heading.segments.find(({ field }) => field !== undefined)
  return (
    <span class="why" id={`why-${thread_id}`}>
      {differs && (
        <>
          <AgentSpan kind="field" text={placeName(differs.field)} />{' '}
          <Value of={differs} heading={heading} />{' '}
        </>
      )}
      {because && (
        <>
          <span class="sr">because </span>
          <AgentSpan kind="field" text={placeName(because.field)} />{' '}
          {because.hidden ? <span class="masked">hidden</span> : <Value of={because} heading={heading} />}
        </>
      )}
      {because === undefined && first?.field !== undefined && (
        <AgentSpan kind="field" text={`${placeName(first.field)} ${oneLine(first.text)}`} />
      )}
      {(because === undefined || because.hidden) && <AgentSpan kind="policy-says" text={message} />}
    </span>
  )
}

function Value({ of, heading }: { readonly of: Because; readonly heading: HeadingView }) {
  const text = of.state ? STATES[of.state] : (formattedIn(heading, of) ?? String(of.value))
  return (
    <b>
      <AgentText text={oneLine(text, of.read)} />
    </b>
  )
}

/** The approvals, and one short fact at the end of the second line. */
function Side({ thread }: Pick<ItemProps, 'thread'>) {
  const { approvals, mine, groups } = thread
  return (
    <span class="side">
      {(approvals.required > 1 || !mine) && (
        <span>
          · {approvals.given} of {approvals.required}
          {!mine && ` from ${groups.join(' and ')}`}
        </span>
      )}
      <Fact thread={thread} />
    </span>
  )
}

function Fact({ thread }: Pick<ItemProps, 'thread'>) {
  const { claim, revision, asked_at, raised } = thread
  if (asked_at && hasStopped(thread, readAt.value)) {
    return (
      <span class="tag warn">
        last asked <Ago at={asked_at} />
      </span>
    )
  }
  const who = claim && (claim.reviewer === me.value?.reviewer ? 'you' : (claim.name ?? claim.reviewer))
  if (who !== undefined) return <span class="tag">claimed by {who}</span>
  if (raised) return <span class="tag warn">{sinceText(raised)}</span>
  return revision > 1 ? <span class="tag">revision {revision}</span> : null
}
