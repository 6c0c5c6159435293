import type { PoliciesView } from '../../contract/admin.ts'
import { Panel } from '../thread/panel.tsx'
import { Ago } from '../time/countdown.tsx'

/** The findings of the last load of the policy files. */
export function Diagnostics({ load }: { readonly load: PoliciesView['last_load'] }) {
  return (
    <Panel title="Last load" note={load.at && <Ago at={load.at} />}>
      {!load.ok && (
        <p>
          <b>It failed: what was in force before still is.</b>
        </p>
      )}
      {load.diagnostics.length === 0 && <p class="quiet">Nothing to say.</p>}
      <ul class="rules">
        {load.diagnostics.map(({ code, severity, file, line, column, message, hint }, i) => (
          <li key={i}>
            <span class={severity === 'error' ? 'verdict reject' : 'verdict review'}>{severity}</span>{' '}
            {message}
            {hint && <p class="quiet">{hint}</p>}
            <small class="mono">
              {code} · {file}:{line}:{column}
            </small>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
