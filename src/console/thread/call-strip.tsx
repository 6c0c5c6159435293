import type { ComponentChildren } from 'preact'
import type { ThreadView } from '../../contract/reviewer.ts'
import { alikeTo, placeOf, queue } from '../queue/queue-state.ts'
import { stepBy } from '../queue/queue-pane.tsx'
import { Status, statusOf } from '../queue/thread-row.tsx'
import { hashOf } from '../route/route.ts'
import { list } from '../route/router.ts'
import { RiskMark } from '../risk/risk-mark.tsx'
import { Countdown } from '../time/countdown.tsx'

/** Risk and time left, which never scroll away, and the way to the calls around this one. */
export function CallStrip({ view }: { readonly view: ThreadView }) {
  const waits = view.status === 'pending_review'
  // subscribes to the list
  void queue.state.value
  const { at, of } = placeOf(view.thread_id)
  return (
    <Strip
      view={view}
      until={
        waits ? view.deadline && <Countdown deadline={view.deadline} /> : <Status status={statusOf(view)} />
      }
    >
      <Alike view={view} />
      <span class="push">
        {at > 0 && (
          <span class="long-screen">
            {at} of {of}
          </span>
        )}
      </span>
      <Step by={-1} name="Previous call" letter="k" sign="↑" />
      <Step by={1} name="Next call" letter="j" sign="↓" />
    </Strip>
  )
}

interface StripProps {
  readonly view: ThreadView
  readonly until: ComponentChildren
  readonly children?: ComponentChildren
}

export const Strip = ({ view: { risk, tool_name, agent }, until, children }: StripProps) => (
  <div class="strip">
    <a class="back" href={hashOf(list)}>
      <span aria-hidden="true">‹</span>
      <span class="sr">Back to the {list.page}</span>
    </a>
    <RiskMark risk={risk} />
    {until}
    <span class="long-screen">
      <span class="tool">{tool_name}</span> by {agent}
    </span>
    {children}
  </div>
)

/** The way to the table of the calls that are like this one. */
function Alike({ view }: { readonly view: ThreadView }) {
  const { length } = alikeTo(view)
  if (length < 2) return null
  return (
    <a class="button small long-screen" href={`#/several/${view.thread_id}`} aria-keyshortcuts="X">
      {length} alike <kbd aria-hidden="true">X</kbd>
    </a>
  )
}

interface StepProps {
  readonly by: number
  readonly name: string
  readonly letter: string
  readonly sign: string
}

function Step({ by, name, letter, sign }: StepProps) {
  return (
    <button class="small" aria-keyshortcuts={letter} onClick={() => stepBy(by)}>
      <span aria-hidden="true">{sign}</span>
      <span class="sr">{name}</span> <kbd aria-hidden="true">{letter}</kbd>
    </button>
  )
}
