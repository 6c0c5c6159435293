import type { ThreadView } from '../../contract/reviewer.ts'
import { Ago } from '../time/countdown.tsx'
import { Panel } from '../shell/panel.tsx'

/** The numbers of the thread's evidence records. */
export function Evidence({ evidence }: { readonly evidence: ThreadView['evidence'] }) {
  return (
    <Panel title="Evidence">
      <ol class="timeline">
        {evidence.map(({ number, type, at, actor, says }) => (
          <li key={number}>
            It {says}{' '}
            <small>
              <span class="mono">{type}</span> · #{number} · {actor.replace(':', ' ')} · <Ago at={at} />
            </small>
          </li>
        ))}
      </ol>
    </Panel>
  )
}
