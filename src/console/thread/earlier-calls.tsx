import type { EarlierCall } from '../../contract/reviewer.ts'
import { Status } from '../queue/thread-row.tsx'
import { AgentText } from '../text/agent-text.tsx'
import { Ago } from '../time/countdown.tsx'
import { Panel } from './panel.tsx'

/** What else the agent asked for in this task, and what became of it. */
export function EarlierCalls({ calls }: { readonly calls: readonly EarlierCall[] }) {
  if (calls.length === 0) return null
  return (
    <Panel title="Earlier in this task">
      <ul class="plain">
        {calls.map(({ tool, outcome, at, thread_id, subject, message }, i) => (
          <li key={i}>
            <Status status={outcome} />{' '}
            {thread_id ? <a href={`#/thread/${thread_id}`}>{tool}</a> : <span>{tool}</span>}{' '}
            <small>
              <Ago at={at} />
            </small>
            {(subject ?? message) && (
              <p class="quiet">
                <AgentText text={subject ?? message ?? ''} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  )
}
