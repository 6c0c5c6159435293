import type { FreezeView } from '../../contract/freeze.ts'
import type { AgentList, AgentView } from '../../contract/agent-list.ts'
import { useSignal } from '@preact/signals'
import { isAdmin } from '../session/session.ts'
import { Heading, startReading } from '../shell/heading.tsx'
import { duration } from '../time/elapsed.ts'
import { Ago } from '../time/countdown.tsx'
import { ProblemNote } from '../wire/problem.tsx'
import { useResource } from '../wire/resource.ts'
import { type Asked, FreezeDialog, nameOf, type Scope } from './freeze-dialog.tsx'
import { AgentText } from '../text/agent-text.tsx'
import type { LegalHoldView } from '../../contract/legal-hold.ts'
import { LegalHoldText } from '../shell/legal-hold-text.tsx'

/** The agents of the tenant, with the owners, tools and freezes of each, and the legal holds. */
export function AgentsPage() {
  const { body, problem, load } = useResource<AgentList>('review/agents')
  const asked = useSignal<Asked | undefined>(undefined)
  const ask = (act: Asked['act'], scope: Scope): void => {
    asked.value = { act, scope }
  }
  const unknown = useSignal<string | undefined>(undefined)
  const shown = asked.value
  const close = (done: boolean, name?: string): void => {
    // another dialog may be open when a late answer arrives
    if (asked.value === shown) asked.value = undefined
    unknown.value = name
    // the pressed button disappears with the new answer
    if (done) void load().then(startReading)
  }
  const frozen = body?.freezes ?? []
  return (
    <>
      <div class="title">
        <Heading>Agents</Heading>
        {isAdmin() && (
          <>
            <button onClick={() => ask('freeze', { tool: '' })}>Freeze a tool</button>
            <button onClick={() => ask('freeze', { reviewer: '' })}>Freeze a reviewer</button>
            <button onClick={() => ask('freeze', {})}>Freeze everything</button>
          </>
        )}
      </div>
      {shown && <FreezeDialog {...shown} close={close} />}
      {unknown.value && (
        <p class="note bad" role="alert">
          Frozen, but the policy has no <code>{unknown.value}</code>: check the spelling.
        </p>
      )}
      {frozen
        .filter(({ agent }) => body?.agents.every(({ id }) => id !== agent))
        .map((one) => (
          <Frozen key={`${one.agent}/${one.tool}/${one.reviewer}`} freeze={one} ask={ask} />
        ))}
      {problem && <ProblemNote problem={problem} retry={() => void load()} />}
      {body?.agents.length === 0 && <p class="empty">The directory names no agent.</p>}
      <ul class="cards">
        {body?.agents.map((agent) => (
          <Agent
            key={agent.id}
            agent={agent}
            freeze={frozen.find((one) => one.agent === agent.id)}
            ask={ask}
          />
        ))}
      </ul>
      <LegalHolds holds={body?.legal_holds ?? []} />
    </>
  )
}

interface AgentProps {
  readonly agent: AgentView
  readonly freeze: FreezeView | undefined
  readonly ask: (act: Asked['act'], scope: Scope) => void
}

function Agent({ agent, freeze, ask }: AgentProps) {
  const { id, owners, tools, rate } = agent
  return (
    <li class="card">
      <h2>
        <a href={`#/history?agent=${encodeURIComponent(id)}`}>{id}</a>
        {isAdmin() && !freeze && (
          <button class="small" aria-label={`Freeze ${id}`} onClick={() => ask('freeze', { agent: id })}>
            Freeze
          </button>
        )}
      </h2>
      {freeze && <Frozen freeze={freeze} ask={ask} />}
      <dl class="facts">
        <dt>Owner</dt>
        <dd>
          {owners.map(({ reviewer, name }) => name ?? reviewer).join(', ') || 'no reviewer'}
          {!agent.prevent_self_review && ' (may vote on its calls, too)'}
        </dd>
        <dt>May use</dt>
        <dd class="mono">{tools.join(', ')}</dd>
        <dt>Rate</dt>
        <dd>{rate ? `${rate.calls} calls in ${duration(rate.within_ms)}` : 'not limited'}</dd>
        <dt>Approvals</dt>
        <dd>
          {agent.signed_approvals
            ? `one-time proof, valid for ${duration(agent.token_ttl_ms)}`
            : 'without a proof'}
        </dd>
        <dt>Key</dt>
        <dd>
          {agent.key_issued_at ? (
            <>
              issued <Ago at={agent.key_issued_at} />
            </>
          ) : (
            'none'
          )}
        </dd>
      </dl>
    </li>
  )
}

/** One freeze with its time, author and reason. Administrators may end the freeze. */
function Frozen({ freeze, ask }: Pick<AgentProps, 'ask'> & { readonly freeze: FreezeView }) {
  const { agent, tool, reviewer, reason, frozen_at, by } = freeze
  const name = nameOf(freeze)
  return (
    <div class="note warn">
      <p>
        <strong>{tool ? `The tool ${tool}` : (agent ?? reviewer ?? 'Everything')} is frozen</strong>,{' '}
        <Ago at={frozen_at} /> by {by.replace(/^reviewer:/, '').replace(/^admin:.*/, 'the admin key')}:{' '}
        <AgentText text={reason} />
      </p>
      {isAdmin() && (
        <button
          aria-label={`Unfreeze ${name}`}
          onClick={() =>
            ask('unfreeze', { ...(agent && { agent }), ...(tool && { tool }), ...(reviewer && { reviewer }) })
          }
        >
          Unfreeze
        </button>
      )}
    </div>
  )
}

/** The legal holds of the tenant. Only the admin key changes them. */
function LegalHolds({ holds }: { readonly holds: readonly LegalHoldView[] }) {
  if (holds.length === 0) return null
  return (
    <section aria-labelledby="legal-holds">
      <h2 id="legal-holds">Legal holds</h2>
      <ul class="plain">
        {holds.map((hold) => (
          <li key={`${hold.thread_id}/${hold.task_id}/${hold.agent}`}>
            <Named hold={hold} />, <LegalHoldText hold={hold} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function Named({ hold: { thread_id, task_id, agent } }: { readonly hold: LegalHoldView }) {
  if (thread_id !== undefined)
    return (
      <>
        Thread <a href={`#/thread/${thread_id}`}>{thread_id}</a>
      </>
    )
  if (task_id !== undefined)
    return (
      <>
        Task <a href={`#/history?task_id=${encodeURIComponent(task_id)}`}>{task_id}</a>
      </>
    )
  return <>{agent === undefined ? 'All threads' : `Threads of ${agent}`}</>
}
