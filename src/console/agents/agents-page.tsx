import type { AgentList, AgentView } from '../../contract/reviewer.ts'
import { Heading } from '../shell/heading.tsx'
import { duration } from '../time/elapsed.ts'
import { Ago } from '../time/countdown.tsx'
import { ProblemNote } from '../wire/problem.tsx'
import { useResource } from '../wire/resource.ts'

/** The agents of the tenant: who answers for each, and what it may use. */
export function AgentsPage() {
  const { body, problem, load } = useResource<AgentList>('review/agents')
  return (
    <>
      <div class="title">
        <Heading>Agents</Heading>
      </div>
      {problem && <ProblemNote problem={problem} retry={() => void load()} />}
      {body?.agents.length === 0 && <p class="empty">The directory names no agent.</p>}
      <ul class="cards">
        {body?.agents.map((agent) => (
          <Agent key={agent.id} agent={agent} />
        ))}
      </ul>
    </>
  )
}

function Agent({ agent }: { readonly agent: AgentView }) {
  const { id, owners, tools, rate } = agent
  return (
    <li class="card">
      <h2>
        <a href={`#/history?agent=${encodeURIComponent(id)}`}>{id}</a>
      </h2>
      <dl class="facts">
        <dt>Answers for it</dt>
        <dd>
          {owners.map(({ reviewer, name }) => name ?? reviewer).join(', ') || 'nobody'}
          {!agent.prevent_self_review && ' (may vote on its calls, too)'}
        </dd>
        <dt>May use</dt>
        <dd class="mono">{tools.join(', ')}</dd>
        <dt>Rate</dt>
        <dd>{rate ? `${rate.calls} calls in ${duration(rate.within_ms)}` : 'not limited'}</dd>
        <dt>Approvals</dt>
        <dd>
          {agent.signed_approvals
            ? `proved by a token that lives ${duration(agent.token_ttl_ms)}`
            : 'without a token'}
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
