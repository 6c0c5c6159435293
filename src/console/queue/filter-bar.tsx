import type { ComponentChildren } from 'preact'
import { useSignal } from '@preact/signals'
import { refine } from '../route/router.ts'
import { RISKS, RiskMark } from '../risk/risk-mark.tsx'
import { Field, Select } from '../shell/field.tsx'
import { neededOf } from '../session/counts.ts'
import { type FilterName, type Filters, withFilter } from '../route/filters.ts'

const ORDERS: readonly (readonly [string, string])[] = [
  ['', 'Risk, then time left'],
  ['oldest', 'Oldest first'],
  ['newest', 'Newest first'],
  ['agent', 'Agent'],
  ['tool', 'Tool'],
]

const WITHINS: readonly (readonly [string, string])[] = [
  ['', 'any time'],
  ['15m', '15 min'],
  ['1h', '1 h'],
  ['4h', '4 h'],
]

const refineQueue = (filters: Filters): void => refine({ page: 'queue', filters })

interface FilterBarProps {
  readonly filters: Filters
  /** The other tools, beside the filter button. */
  readonly children: ComponentChildren
}

/** The tools above the queue. The filters are folded until a reviewer needs them, and never fold by themselves. */
export function FilterBar({ filters, children }: FilterBarProps) {
  const open = useSignal(false)
  if (Object.keys(filters).some((name) => name !== 'sort')) open.value = true
  return (
    <>
      <div class="tools">
        <label class="sr" for="order">
          Order of the queue
        </label>
        <Select
          id="order"
          value={filters.sort}
          set={(value) => refineQueue(withFilter(filters, 'sort', value))}
          options={ORDERS}
        />
        <button
          class="small"
          aria-expanded={open.value}
          onClick={() => {
            open.value = !open.value
          }}
        >
          Filter
        </button>
        {children}
      </div>
      {open.value && <Filtering filters={filters} />}
    </>
  )
}

function Filtering({ filters }: { readonly filters: Filters }) {
  const set = (name: FilterName, value: string | undefined): void =>
    refineQueue(withFilter(filters, name, value))
  const toggle = (name: FilterName, value: string): void =>
    set(name, filters[name] === value ? undefined : value)
  return (
    <div class="filters" role="group" aria-label="Filters">
      {RISKS.map((risk) => (
        <button key={risk} aria-pressed={filters.risk === risk} onClick={() => toggle('risk', risk)}>
          <RiskMark risk={risk} /> <b>{neededOf(risk) ?? ''}</b>
        </button>
      ))}
      <button aria-pressed={filters.mine === 'true'} onClick={() => toggle('mine', 'true')}>
        Mine to decide
      </button>
      <button aria-pressed={filters.claimed === 'nobody'} onClick={() => toggle('claimed', 'nobody')}>
        Unclaimed
      </button>
      <button aria-pressed={filters.claimed === 'me'} onClick={() => toggle('claimed', 'me')}>
        Claimed by me
      </button>
      <button aria-pressed={filters.asked === 'stopped'} onClick={() => toggle('asked', 'stopped')}>
        No agent waits for it any more
      </button>
      <div class="fields">
        <label>
          expires within
          <Select
            value={filters.expires_within}
            set={(value) => set('expires_within', value)}
            options={WITHINS}
          />
        </label>
        {(['q', 'tool', 'agent', 'group', 'task_id'] as const).map((name) => (
          <label key={name}>
            {name === 'q' ? 'words' : name.replace('_id', '')}
            <Field type="text" value={filters[name]} set={(value) => set(name, value)} />
          </label>
        ))}
      </div>
    </div>
  )
}
