import type { SeatView, ThreadView, Upcoming } from '../../contract/reviewer.ts'
import { me } from '../session/session.ts'
import { now } from '../time/clock.ts'
import { Countdown } from '../time/countdown.tsx'
import { span } from '../time/elapsed.ts'
import { Panel } from '../shell/panel.tsx'
import { claim as claimIt, release } from '../call/thread-acts.ts'
import type { ThreadState } from '../call/thread-state.ts'

interface PeopleProps {
  readonly view: ThreadView
  readonly thread: ThreadState
}

/** The reviewers: required and received approvals, the reviewers who may still vote, and the claim. */
export function People({ view, thread }: PeopleProps) {
  const waits = view.status === 'pending_review'
  const names = new Map(view.votes.map(({ reviewer, name }) => [reviewer, name ?? reviewer]))
  return (
    <Panel
      title="Who decides"
      note={
        <b>
          {view.approvals.given} of {view.approvals.required}
        </b>
      }
    >
      <ul class="plain">
        {view.seats.map((seat) => (
          <Seat key={seat.group} seat={seat} nameOf={(id) => names.get(id) ?? id} />
        ))}
      </ul>
      {waits && (
        <p class="quiet">
          Can still vote: {view.who_can_vote.map(({ name }) => name).join(', ') || 'no reviewer'}
          {view.interactive && '. Only in this console: keys do not count here.'}
        </p>
      )}
      {waits && <WhatComes view={view} />}
      {waits && <ClaimLine view={view} thread={thread} />}
    </Panel>
  )
}

function Seat({ seat, nameOf }: { readonly seat: SeatView; readonly nameOf: (id: string) => string }) {
  const { group, approvals, filled_by, escalated_to } = seat
  const seats = Array.from({ length: approvals }, (_, i) => filled_by[i])
  return (
    <li class="seat">
      <b>{group}</b>
      {escalated_to.length > 0 && <span class="tag warn">escalated to {escalated_to.join(', ')}</span>}
      {seats.map((who, i) => (
        <span key={i} class={who === undefined ? 'chair' : 'chair taken'}>
          {who === undefined ? 'open' : nameOf(who)}
        </span>
      ))}
    </li>
  )
}

function WhatComes({ view }: { readonly view: ThreadView }) {
  return (
    <ul class="plain quiet">
      {view.upcoming.map((one) => (
        <li key={`${one.kind}${one.at}${one.group}`}>{comes(one)}</li>
      ))}
      {view.deadline && (
        <li>
          Expires without a decision: <Countdown deadline={view.deadline} />
        </li>
      )}
    </ul>
  )
}

function comes({ kind, at, group }: Upcoming): string {
  const when = `in ${span(Date.parse(at) - now.value)}`
  return kind === 'reminder' ? `Reminder ${when}` : `Escalation to ${group} ${when}`
}

/** The claim, which shows that a reviewer is working on the thread. Others may still vote. */
function ClaimLine({ view, thread }: PeopleProps) {
  const { claim } = view
  const own = claim?.reviewer === me.value?.reviewer
  // one button serves all three cases and is never disabled, so that it keeps the focus
  return (
    <p>
      {claim && `Claimed by ${own ? 'you' : (claim.name ?? claim.reviewer)} `}
      <button onClick={() => void (own ? release(thread) : claimIt(thread, claim !== undefined))}>
        {claim ? (own ? 'Release' : 'Take over') : 'Claim'}
      </button>
      {!claim && <span class="quiet"> shows the others that you are looking</span>}
    </p>
  )
}
