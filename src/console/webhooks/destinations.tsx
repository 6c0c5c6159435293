import { useSignal } from '@preact/signals'
import type { ChatList } from '../../contract/chat.ts'
import type { WebhookList, WebhookView } from '../../contract/webhook.ts'
import { List } from '../list/list.tsx'
import { me } from '../session/session.ts'
import { Field } from '../shell/field.tsx'
import { AgentText } from '../text/agent-text.tsx'
import { Ago } from '../time/countdown.tsx'
import { call, type Refusal } from '../wire/call.ts'
import { ProblemNote } from '../wire/problem.tsx'
import { useResource } from '../wire/resource.ts'
import { useFollowing } from './following.ts'

/** All destinations of the tenant, with the state of each. */
export function Destinations() {
  const tenant = me.value?.tenant ?? ''
  const { body, problem, load } = useResource<WebhookList>(`admin/webhooks?tenant=${tenant}`)
  const { body: chats } = useResource<ChatList>('review/chats')
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
      {chats?.chat && <ChannelForm chat={chats.chat} tenant={tenant} made={load} />}
      <p class="note">
        Create and delete webhooks and their secrets with the command line or the API:{' '}
        <code>countersign api create_webhook -f tenant={tenant} -f url=https://YOURS</code>,{' '}
        <code>rotate_webhook_secret -f id=ID</code>, <code>delete_webhook -f id=ID</code>. A secret is shown
        once, and never on this page.
      </p>
    </>
  )
}

interface ChannelFormProps {
  readonly chat: string
  readonly tenant: string
  readonly made: () => Promise<void>
}

/** Makes the webhook of a channel. Its secret signs nothing, so the page drops it. */
function ChannelForm({ chat, tenant, made }: ChannelFormProps) {
  const channel = useSignal('')
  const refused = useSignal<Refusal | undefined>(undefined)
  const busy = useSignal(false)
  const make = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (busy.value) return
    busy.value = true
    const body = { tenant, format: 'slack-app', channel: channel.value }
    refused.value = (await call('POST', 'admin/webhooks', { body })).problem
    if (!refused.value) channel.value = ''
    busy.value = false
    // without an answer, the list says whether it was made
    await made()
  }
  return (
    <form class="since" onSubmit={(event) => void make(event)}>
      {refused.value && <ProblemNote problem={refused.value} />}
      <label>
        Id of a channel of {chat}{' '}
        <Field type="text" required value={channel.value} set={(value) => (channel.value = value)} />
      </label>
      <button>Post held calls there</button>
    </form>
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
