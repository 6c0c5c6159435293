import type { ThreadView } from '../../contract/reviewer.ts'
import { AgentText } from '../text/agent-text.tsx'
import { placeName } from '../text/because-text.ts'
import { Ago } from '../time/countdown.tsx'
import { Panel } from '../shell/panel.tsx'

/** The numbers of the thread's evidence records, the head of the log, and the way to paper. */
export function Evidence({ view: { evidence, log } }: { readonly view: ThreadView }) {
  return (
    <Panel
      title="Evidence"
      note={
        <button class="small" onClick={() => print()}>
          Print
        </button>
      }
    >
      <ol class="timeline">
        {evidence.map(({ number, type, at, actor, says, displayed }) => (
          <li key={number}>
            It {says}
            {displayed && <Parts of={displayed} />}{' '}
            <small>
              <span class="mono">{type}</span> · #{number} · {actor.replace(':', ' ')} · <Ago at={at} />
            </small>
          </li>
        ))}
      </ol>
      {log && (
        <p class="digest">
          log of {log.size} records, root <code>{log.root}</code>, <Ago at={log.at} />
        </p>
      )}
    </Panel>
  )
}

type Displayed = NonNullable<ThreadView['evidence'][number]['displayed']>

/** The parts that were on the reviewer's screen. */
function Parts({ of: { seen, unseen } }: { readonly of: Displayed }) {
  return (
    <details>
      <summary>
        {seen.length} of {seen.length + unseen.length} parts seen
      </summary>
      <ul class="plain small">
        {[...unseen, ...seen].map((place, i) => (
          <li key={place}>
            {i < unseen.length && 'not seen: '}
            <AgentText text={placeName(place)} />
          </li>
        ))}
      </ul>
    </details>
  )
}
