import type { LastApproved, Precedents } from '../../contract/precedents.ts'
import type { ThreadView } from '../../contract/reviewer.ts'
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { me } from '../session/session.ts'
import { Part as Seen } from '../seen/part.tsx'
import { Panel } from '../shell/panel.tsx'
import { AgentText } from '../text/agent-text.tsx'
import { placeName } from '../text/because-text.ts'
import { LongText } from '../text/long-text.tsx'
import { Ago, moment } from '../time/countdown.tsx'
import { useResource } from '../wire/resource.ts'

type Earlier = ReturnType<typeof useEarlier>

/** Earlier decisions, read again for each revision. */
export const useEarlier = ({ thread_id, revision }: Pick<ThreadView, 'thread_id' | 'revision'>) =>
  useResource<Precedents>(`review/threads/${encodeURIComponent(thread_id)}/precedents`, revision)

/** True while the parts are open, from one call to the next. */
const open = signal(false)

export function toggleContext(): void {
  open.value = !open.value
}

/** Earlier calls to compare with. Each part loads on its own, and the closed lines have the facts. */
export function Context({ id, earlier }: { readonly id: string; readonly earlier: Earlier }) {
  return (
    <Panel title="Context" kind="context">
      <Last id={id} />
      <Decisions earlier={earlier} />
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
function Decisions({ earlier: { body, problem } }: { readonly earlier: Earlier }) {
  const title = 'Last decisions'
  if (!body) return <Part title={title} fact={problem ? UNREADABLE : LOADING} />
  const { decisions } = body
  if (decisions.length === 0) return <Part title={title} fact="no equal reason" />
  const approved = decisions.filter(({ decision }) => decision === 'approve').length
  return (
    <Part title={title} fact={`${approved} of ${decisions.length} approved`}>
      {decisions.map((one) => (
        <Said key={one.thread_id} of={one} did={SAID[one.decision]} />
      ))}
    </Part>
  )
}

/** The last rejections of equal and of nearly equal calls, which no fold hides. */
export function Rejections({ earlier: { body } }: { readonly earlier: Earlier }) {
  const rejections = body?.rejections ?? []
  if (rejections.length === 0) return null
  return (
    <section class="note warn" aria-label="Rejected before">
      {rejections.map((one) => (
        <Said
          key={one.thread_id}
          of={one}
          did={one.differs.length === 0 ? 'rejected an equal call' : 'rejected a nearly equal call'}
        >
          of {one.agent}
          {one.differs.map((field, i) => (
            <>
              {i === 0 ? ', with another ' : ' and '}
              <AgentText key={field} text={placeName(field)} />
            </>
          ))}
        </Said>
      ))}
    </section>
  )
}

/** A newer call for the same subject that ran: a part to see. */
export function Newer({ earlier: { body } }: { readonly earlier: Earlier }) {
  const newer = body?.newer
  if (newer === undefined) return null
  const { thread_id, agent, at, field, value = 'not given' } = newer
  return (
    <div class="note warn">
      <Seen name="newer">
        <a href={`#/thread/${thread_id}`}>
          {field === undefined ? 'An equal newer call' : <AgentText text={`${placeName(field)} ${value}`} />}
        </a>{' '}
        of {agent} ran at {moment(at)}.
      </Seen>
    </div>
  )
}

interface SaidProps {
  readonly of: Omit<Precedents['rejections'][number], 'agent' | 'differs'>
  readonly did: string
  readonly children?: ComponentChildren
}

function Said({ of: { thread_id, reviewer, name, comment, at }, did, children }: SaidProps) {
  return (
    <div class="said-by">
      <p>
        <b>{reviewer === me.value?.reviewer ? 'You' : (name ?? reviewer)}</b>{' '}
        <a href={`#/thread/${thread_id}`}>{did}</a> {children}{' '}
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
  )
}
