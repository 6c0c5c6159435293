import type { ThreadView } from '../../contract/reviewer.ts'
import { usePart } from '../seen/part.tsx'
import { isWhole } from '../text/because-text.ts'
import { CALL, Heading } from '../shell/heading.tsx'
import { wide } from '../shell/preferences.ts'
import { AgentText } from '../text/agent-text.tsx'
import { HeadingLine } from '../text/heading-line.tsx'
import { Ago } from '../time/countdown.tsx'
import type { ThreadState } from '../call/thread-state.ts'
import { LegalHoldText } from '../shell/legal-hold-text.tsx'

/** The fields whose whole value the heading has. */
const wholeIn = ({ heading, payload }: ThreadView): string[] =>
  heading.segments.flatMap(({ field, text, exact = text, sensitive }) =>
    field !== undefined && !sensitive && isWhole(payload, field, exact) ? [field] : [],
  )

/** The heading, the task and the age. The wording is never the agent's own. */
export function ThreadHeader({ view, thread }: { readonly view: ThreadView; readonly thread: ThreadState }) {
  const { element } = usePart<HTMLSpanElement>(wholeIn(view))
  return (
    <div class="top">
      <Heading id={CALL} quiet={wide.value}>
        <span class="whole" ref={element}>
          <HeadingLine of={view.heading} />
        </span>
      </Heading>
      <p class="line quiet">
        <span class="short-screen">
          <span class="tool">{view.tool_name}</span> by {view.agent}
        </span>
        <span>
          task{' '}
          <a href={`#/history?task_id=${encodeURIComponent(view.task_id)}`}>
            <AgentText text={view.task_id} />
          </a>
        </span>
        <span>
          asked <Ago at={view.created_at} />
        </span>
        {view.status === 'pending_review' && view.asked_at && (
          <span>
            the agent last asked <Ago at={view.asked_at} />
          </span>
        )}
        <span>revision {view.revision}</span>
        {view.revision > 1 && (
          <button
            class="small"
            aria-pressed={thread.diffFrom.value !== undefined}
            onClick={thread.toggleDiff}
          >
            What changed <kbd>d</kbd>
          </button>
        )}
      </p>
      {view.tool_source && (
        <p class="quiet">
          Tool <AgentText text={view.tool_source.name} /> of MCP server <b>{view.tool_source.server}</b>
        </p>
      )}
      {view.legal_hold && (
        <p class="quiet">
          Under a legal hold, <LegalHoldText hold={view.legal_hold} />
        </p>
      )}
      {view.tool_description && <p class="quiet">{view.tool_description}</p>}
    </div>
  )
}
