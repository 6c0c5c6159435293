import { refine } from '../route/router.ts'
import { RISKS, RiskMark } from '../risk/risk-mark.tsx'
import { Field } from '../shell/field.tsx'
import { More } from '../shell/more.tsx'
import { counts } from '../session/counts.ts'
import { type FilterName, type Filters, withFilter } from '../route/filters.ts'

/** The filters of the queue. */
export function FilterBar({ filters }: { readonly filters: Filters }) {
  const set = (name: FilterName, value: string | undefined): void =>
    refine({ page: 'queue', filters: withFilter(filters, name, value) })
  const pending = counts.value?.pending
  const toggle = (name: FilterName, value: string): void =>
    set(name, filters[name] === value ? undefined : value)
  return (
    <div class="filters" role="group" aria-label="Filters">
      {RISKS.map((risk) => (
        <button key={risk} aria-pressed={filters.risk === risk} onClick={() => toggle('risk', risk)}>
          <RiskMark risk={risk} /> <b>{pending?.[risk] ?? ''}</b>
        </button>
      ))}
      <span class="gap" />
      <button aria-pressed={filters.mine === 'true'} onClick={() => toggle('mine', 'true')}>
        Mine to decide
      </button>
      <button aria-pressed={filters.claimed === 'nobody'} onClick={() => toggle('claimed', 'nobody')}>
        Unclaimed
      </button>
      <button aria-pressed={filters.claimed === 'me'} onClick={() => toggle('claimed', 'me')}>
        Claimed by me
      </button>
      <More open={Boolean(filters.tool ?? filters.agent ?? filters.group)}>
        {(['tool', 'agent', 'group'] as const).map((name) => (
          <label key={name}>
            {name}
            <Field type="text" value={filters[name]} set={(value) => set(name, value)} />
          </label>
        ))}
      </More>
    </div>
  )
}
