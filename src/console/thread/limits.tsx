import type { LimitState } from '../../contract/thread-context.ts'
import { duration } from '../time/elapsed.ts'
import { Panel } from '../shell/panel.tsx'

/** The used part of each limit, and the amount that this call would add. */
export function Limits({ limits }: { readonly limits: readonly LimitState[] }) {
  if (limits.length === 0) return null
  return (
    <Panel title="Limits">
      <ul class="plain">
        {limits.map((limit) => (
          <Limit key={limit.id} limit={limit} />
        ))}
      </ul>
    </Panel>
  )
}

const number = (value: number): string => value.toLocaleString('en')

function Limit({ limit }: { readonly limit: LimitState }) {
  const { id, mode, used, at_most, within_ms, per } = limit
  const within = `${number(at_most)} in ${duration(within_ms)} per ${per}`
  return (
    <li>
      <span class="mono">{id}</span> {mode === 'shadow' && <span class="tag">shadow</span>}{' '}
      {used === undefined ? (
        <small>at most {within}; the used amount is sensitive</small>
      ) : (
        <Use limit={{ ...limit, used }} within={within} />
      )}
    </li>
  )
}

function Use({
  limit: { id, used, amount = 0, at_most },
  within,
}: {
  readonly limit: LimitState & { readonly used: number }
  readonly within: string
}) {
  return (
    <>
      {used + amount > at_most && <span class="tag warn">over</span>}
      <meter
        aria-label={`${id}: used`}
        min={0}
        max={at_most}
        high={at_most * 0.8}
        optimum={0}
        value={used + amount}
      />
      <small>
        {number(used)} used{amount > 0 && ` + ${number(amount)} now`} of {within}
      </small>
    </>
  )
}
