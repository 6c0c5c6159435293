import type { PoliciesView } from '../../contract/admin.ts'
import { Panel } from '../shell/panel.tsx'
import { Ago } from '../time/countdown.tsx'
import { Finding } from './finding.tsx'

/** The findings of the last load of the policy files. */
export function Diagnostics({ load }: { readonly load: PoliciesView['last_load'] }) {
  return (
    <Panel title="Last load" note={load.at && <Ago at={load.at} />}>
      {!load.ok && (
        <p>
          <b>It failed: the earlier policy is still in force.</b>
        </p>
      )}
      {load.ok && load.diagnostics.length === 0 && <p class="quiet">Loaded without warnings.</p>}
      <ul class="rules">
        {load.diagnostics.map((finding, i) => (
          <Finding key={i} finding={finding} />
        ))}
      </ul>
    </Panel>
  )
}
