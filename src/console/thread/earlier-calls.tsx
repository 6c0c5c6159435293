import type { EarlierCall } from '../../contract/thread-context.ts'
import { Gist, Status } from '../queue/thread-row.tsx'
import { Ago } from '../time/countdown.tsx'
import { HeadingLine } from '../text/heading-line.tsx'
import { Panel } from '../shell/panel.tsx'

/** Other calls of the agent in this task, and their decisions. */
export function EarlierCalls({ calls }: { readonly calls: readonly EarlierCall[] }) {
  if (calls.length === 0) return null
  return (
    <Panel title="Earlier in this task">
      <ul class="plain">
        {calls.map((one, i) => (
          <li key={i}>
            <Status status={one.outcome} />{' '}
            {one.thread_id ? (
              <a href={`#/thread/${one.thread_id}`}>
                <Does call={one} />
              </a>
            ) : (
              <Does call={one} />
            )}{' '}
            <small>
              <Ago at={one.at} />
            </small>
            <p class="quiet">
              <Gist of={one} />
            </p>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function Does({ call: { heading, tool } }: { readonly call: EarlierCall }) {
  return heading ? <HeadingLine of={heading} /> : <span>{tool}</span>
}
