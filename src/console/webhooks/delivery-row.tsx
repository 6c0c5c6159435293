import type { DeliveryView } from '../../contract/webhook.ts'
import { now } from '../time/clock.ts'
import { Ago, exact } from '../time/countdown.tsx'
import { span } from '../time/elapsed.ts'
import type { Act } from './act.ts'
import { State } from './destinations.tsx'

/** One delivery: its event, its result, and its next step. */
export function DeliveryRow({ delivery, act }: { readonly delivery: DeliveryView; readonly act: Act }) {
  const { id, type, thread_id, created_at, state } = delivery
  const again = (): void => {
    if (state !== 'waiting') void act(`deliveries/${id}/redeliver`, undefined, () => `${type} is sent again.`)
  }
  return (
    <li class="row">
      <State state={state} />
      <span class="open">
        <span class="tool">{type}</span> {thread_id && <a href={`#/thread/${thread_id}`}>{thread_id}</a>}
      </span>
      <span class="by">
        <Tries delivery={delivery} /> <span class="mono">{id}</span>
      </span>
      <span class="where">
        <button
          class="small"
          aria-disabled={state === 'waiting'}
          aria-label={`Redeliver ${type} of ${exact(created_at)}`}
          onClick={again}
        >
          Redeliver
        </button>
      </span>
      <span class="when quiet small">
        <Ago at={created_at} />
      </span>
    </li>
  )
}

function Tries({ delivery: { attempts, last, next_at } }: { readonly delivery: DeliveryView }) {
  return (
    <>
      {attempts} {attempts === 1 ? 'try' : 'tries'}
      {last && (
        <>
          {' '}
          · last: {last.result}, <Ago at={last.at} />
        </>
      )}
      {next_at && ` · next in ${span(Date.parse(next_at) - now.value)}`} ·
    </>
  )
}
