import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { DeliveryList, DeliveryView, Redelivered, WebhookView } from '../../contract/webhook.ts'
import { List, keepingPlace } from '../list/list.tsx'
import { createList } from '../list/list-state.ts'
import { DELIVERY_STATES, type DeliveryState } from '../route/route.ts'
import { refine } from '../route/router.ts'
import { tellMissed, useLeft } from '../shell/missed.tsx'
import { AgentText } from '../text/agent-text.tsx'
import { call, type Refusal } from '../wire/call.ts'
import { ProblemNote } from '../wire/problem.tsx'
import { useResource } from '../wire/resource.ts'
import { DeliveryRow } from './delivery-row.tsx'
import { eventsOf, FailingSince, State } from './destinations.tsx'
import { useFollowing } from './following.ts'
import type { Act } from './act.ts'
import { RedeliverSince } from './redeliver-since.tsx'

interface DestinationProps {
  readonly id: string
  readonly state: DeliveryState | undefined
}

const createDeliveries = () =>
  createList({
    items: ({ deliveries }: DeliveryList): readonly DeliveryView[] => deliveries,
    id: (one) => one.id,
  })

/** One destination: its state, its actions, and its deliveries, newest first. */
export function Destination({ id, state }: DestinationProps) {
  const path = `admin/webhooks/${encodeURIComponent(id)}` as const
  const { body: webhook, problem, load } = useResource<WebhookView>(path)
  const list = useMemo(createDeliveries, [])
  const said = useSignal('')
  const refused = useSignal<Refusal | undefined>(undefined)
  const read = async (): Promise<void> => {
    await list.load(`${path}/deliveries${state ? `?state=${state}` : ''}`)
  }
  const both = async (): Promise<void> => void (await Promise.all([load(), keepingPlace(read)]))
  const look = useFollowing(both)
  const left = useLeft()
  useEffect(() => void read(), [state])
  const act: Act = async (below, body, say) => {
    const answer = await call<never>('POST', `${path}/${below}`, body && { body })
    if (left.current) return answer.problem && tellMissed(below, answer.problem)
    refused.value = answer.problem
    said.value = answer.ok ? say(answer.body) : ''
    await both()
    look()
  }
  if (webhook === undefined)
    return problem ? (
      <ProblemNote problem={problem} retry={() => void both()} />
    ) : (
      <p class="empty">Loading…</p>
    )
  return (
    <>
      <Summary webhook={webhook} />
      {(refused.value ?? problem) && <ProblemNote problem={(refused.value ?? problem) as Refusal} />}
      <Acts webhook={webhook} act={act} />
      <p role="status">{said.value}</p>
      <StateFilter id={id} state={state} />
      <List
        state={list.state.value}
        label="Deliveries"
        row={(delivery) => <DeliveryRow key={delivery.id} delivery={delivery} act={act} />}
        more={list.more}
        retry={() => void read()}
        empty={<p class="big">{state ? `No delivery is ${state}.` : 'No delivery is kept.'}</p>}
      />
      <p class="quiet small">
        Deliveries are kept for a day after they are made, and for a week after they are given up.{' '}
        <a href="#/webhooks">All webhooks</a>
      </p>
    </>
  )
}

const MEANS: Readonly<Record<WebhookView['state'], string>> = {
  active: '',
  paused: 'An administrator has paused it. New events wait.',
  failing: 'It has failed for so long that the gateway paused it. New events wait.',
  gone: 'It answered 410 (gone). It receives no more events, and no event waits for it.',
}

function Summary({ webhook }: { readonly webhook: WebhookView }) {
  const { url, state, waiting, failing_since } = webhook
  return (
    <>
      <p class="mono">
        <AgentText text={url} />
      </p>
      <p class="line">
        <State state={state} /> {failing_since && <FailingSince at={failing_since} />}
        <span>{waiting} waiting</span>
        <span class="quiet">{eventsOf(webhook)}</span>
        {webhook.secrets > 1 && <span class="tag">two secrets: one is being replaced</span>}
      </p>
      {MEANS[state] && <p class="note warn">{MEANS[state]}</p>}
    </>
  )
}

function Acts({ webhook, act }: { readonly webhook: WebhookView; readonly act: Act }) {
  const active = webhook.state === 'active'
  return (
    <div class="line">
      <button
        onClick={() =>
          void (active
            ? act('pause', undefined, () => 'Paused: deliveries wait.')
            : act('resume', undefined, () => 'Resumed: waiting events are delivered.'))
        }
      >
        {active ? 'Pause' : 'Resume'}
      </button>
      <button onClick={() => void act('ping', undefined, () => 'The ping was sent.')}>Ping</button>
      <RedeliverSince
        redeliver={(since) =>
          void act<Redelivered>('redeliver', { since }, ({ count }) => `${count} will be delivered again.`)
        }
      />
    </div>
  )
}

function StateFilter({ id, state }: DestinationProps) {
  return (
    <div class="filters" role="group" aria-label="Filters">
      {DELIVERY_STATES.map((one) => (
        <button
          key={one}
          aria-pressed={state === one}
          onClick={() => refine({ page: 'webhooks', webhook: id, ...(state !== one && { state: one }) })}
        >
          {one}
        </button>
      ))}
    </div>
  )
}
