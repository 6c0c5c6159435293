import type { LastApproved, Precedents } from '../../contract/precedents.ts'
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { me } from '../session/session.ts'
import { Panel } from '../shell/panel.tsx'
import { AgentText } from '../text/agent-text.tsx'
import { placeName } from '../text/because-text.ts'
import { LongText } from '../text/long-text.tsx'
import { Ago } from '../time/countdown.tsx'
import { useResource } from '../wire/resource.ts'

/** True while the parts are open, from one call to the next. */
const open = signal(false)

export function toggleContext(): void {
  open.value = !open.value
}

/** Earlier calls to compare with. Each part loads on its own, and the closed lines have the facts. */
export function Context({ id }: { readonly id: string }) {
  return (
    <Panel title="Context" kind="context">
      <Last id={id} />
      <Decisions id={id} />
      <a class="button small" href={`#/playground?thread=${id}`}>
        Try it in the playground
      </a>
    </Panel>
  )
}

interface PartProps {
  readonly title: string
  readonly fact: string
  readonly children?: ComponentChildren
}

function Part({ title, fact, children }: PartProps) {
  return (
    <details open={open.value}>
      <summary>
        <span>{title}</span> <span>{fact}</span>
      </summary>
      {children}
    </details>
  )
}

const LOADING = '…'
const UNREADABLE = 'could not be read'

/** The difference to the last approved call of this agent and tool. */
function Last({ id }: { readonly id: string }) {
  const path = `review/threads/${encodeURIComponent(id)}/last-approved` as const
  const { body, problem } = useResource<LastApproved>(path)
  const call = body?.call
  const title = 'Last approved'
  if (!call) return <Part title={title} fact={problem ? UNREADABLE : body ? 'no such call' : LOADING} />
  const differ = call.fields.filter(({ same }) => same === false).length
  return (
    <Part title={title} fact={`${differ} of ${call.fields.length} fields differ`}>
      <table class="versus">
        <caption class="sr">The last approved call of this agent and tool, and this call</caption>
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">
              <a href={`#/thread/${call.thread_id}`}>
                <Ago at={call.at} />
              </a>
              , {call.by.join(' and ')}
            </th>
            <th scope="col">This call</th>
          </tr>
        </thead>
        <tbody>
          {call.fields.map((one) => (
            <Field key={one.field} of={one} />
          ))}
        </tbody>
      </table>
    </Part>
  )
}

type Compared = NonNullable<LastApproved['call']>['fields'][number]

function Field({ of: { field, same, hidden, before, now } }: { readonly of: Compared }) {
  return (
    <tr class={same === false ? 'differs' : undefined}>
      <th scope="row">
        <AgentText text={placeName(field)} />
      </th>
      {hidden ? (
        <td colSpan={2}>hidden</td>
      ) : (
        <>
          <Value text={before} />
          <Value text={now} />
        </>
      )}
    </tr>
  )
}

const Value = ({ text }: { readonly text: string | undefined }) => (
  <td>{text === undefined ? <i>not given</i> : <AgentText text={text} />}</td>
)

const SAID = { approve: 'approved', reject: 'rejected', request_changes: 'asked for changes' } as const

/** The last decisions on calls of this tool with the same rules and the same first value. */
function Decisions({ id }: { readonly id: string }) {
  const path = `review/threads/${encodeURIComponent(id)}/precedents` as const
  const { body, problem } = useResource<Precedents>(path)
  const title = 'Last decisions'
  if (!body) return <Part title={title} fact={problem ? UNREADABLE : LOADING} />
  const { decisions } = body
  if (decisions.length === 0) return <Part title={title} fact="no equal reason" />
  const approved = decisions.filter(({ decision }) => decision === 'approve').length
  return (
    <Part title={title} fact={`${approved} of ${decisions.length} approved`}>
      {decisions.map(({ thread_id, reviewer, name, decision, comment, at }) => (
        <div key={thread_id} class="said-by">
          <p>
            <b>{reviewer === me.value?.reviewer ? 'You' : (name ?? reviewer)}</b>{' '}
            <a href={`#/thread/${thread_id}`}>{SAID[decision]}</a>{' '}
            <small>
              <Ago at={at} />
            </small>
          </p>
          {comment && (
            <p class="small">
              <LongText text={comment} />
            </p>
          )}
        </div>
      ))}
    </Part>
  )
}
