import type { WebhookList, WebhookView } from '../../contract/webhook.ts'
import { List } from '../list/list.tsx'
import { me } from '../session/session.ts'
import { AgentText } from '../text/agent-text.tsx'
import { Ago } from '../time/countdown.tsx'
import { useResource } from '../wire/resource.ts'
import { useFollowing } from './following.ts'

/** All destinations of the tenant, with the state of each. */
export function Destinations() {
  const tenant = me.value?.tenant ?? ''
  const { body, problem, load } = useResource<WebhookList>(`admin/webhooks?tenant=${tenant}`)
  useFollowing(load)
  return (
    <>
      <List
        state={{
          items: body?.webhooks ?? [],
          cursor: undefined,
          unreadable: [],
          loading: body === undefined,
          ...(problem && { problem }),
        }}
        label="Webhooks"
        row={(webhook) => <DestinationRow key={webhook.id} webhook={webhook} />}
        retry={() => void load()}
        empty={<p class="big">No webhook receives events yet.</p>}
      />
      <p class="note">
        Create and delete webhooks and their secrets with the command line or the API:{' '}
        <code>countersign api create_webhook -f tenant={tenant} -f url=https://YOURS</code>, or{' '}
        <code>-f format=slack-app -f channel=ID</code> for a chat; <code>rotate_webhook_secret -f id=ID</code>
        , <code>delete_webhook -f id=ID</code>. A secret is shown once, and never on this page.
      </p>
    </>
  )
}

function DestinationRow({ webhook }: { readonly webhook: WebhookView }) {
  const { id, url, state, waiting, failing_since } = webhook
  return (
    <li class="row">
      <State state={state} />
      <a href={`#/webhooks/${id}`} class="open mono">
        <AgentText text={url} />
      </a>
      <span class="by">{eventsOf(webhook)}</span>
      <span class="where">{waiting} waiting</span>
      <span class="when">{failing_since && <FailingSince at={failing_since} />}</span>
    </li>
  )
}

export function State({ state }: { readonly state: string }) {
  return <span class={`risk status ${state}`}>{state}</span>
}

export function FailingSince({ at }: { readonly at: string }) {
  return (
    <span class="tag warn">
      failing since <Ago at={at} />
    </span>
  )
}

export const eventsOf = ({ events, payload, format }: WebhookView): string =>
  `${events?.join(', ') ?? 'every event'}${payload === 'full' ? ', with the payload' : format !== 'event' ? ', for a chat' : ''}`
