import type { ConditionView, ExplanationView } from '../../contract/admin.ts'
import { RiskMark } from '../risk/risk-mark.tsx'
import { AgentText } from '../text/agent-text.tsx'

/** A decision: its verdict and risk, who may approve, and the result of each rule and limit. */
export function Explanation({ view: { outcome, rules, limits } }: { readonly view: ExplanationView }) {
  return (
    <>
      <p class="line">
        <span class={`verdict ${outcome.verdict}`}>{outcome.verdict}</span> <RiskMark risk={outcome.risk} />
      </p>
      <p>{outcome.message}</p>
      {outcome.requirement && (
        <p class="quiet">
          {outcome.requirement.seats
            .map(({ group, approvals }) => `${approvals} from ${group}`)
            .join(' and ')}
        </p>
      )}
      <ul class="rules">
        {rules.map((rule) => (
          <li key={rule.id} class={rule.fired ? '' : 'void'}>
            <span class={`verdict ${rule.verdict}`}>{rule.verdict}</span> {rule.reason}{' '}
            <span class="tag">{rule.result}</span> {rule.mode === 'shadow' && <span class="tag">shadow</span>}
            <Condition view={rule.conditions} />
            <small class="mono">
              {rule.id} · {rule.file}:{rule.line}
            </small>
          </li>
        ))}
        {limits.map((limit) => (
          <li key={limit.id}>
            <span class={`verdict ${limit.verdict}`}>{limit.verdict}</span> {limit.reason}{' '}
            <span class="tag">{limit.result}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

/** The conditions of a rule, with the values read and the results. */
function Condition({ view }: { readonly view: unknown }) {
  const { kind, answer, items = [], field, test, read, problem } = view as ConditionView
  if (kind === 'test') {
    return (
      <div class="cond">
        <span class="tag">{answer}</span> <code>{field}</code> {test}{' '}
        {read !== undefined && (
          <>
            · read: <AgentText text={read} />
          </>
        )}{' '}
        {problem}
      </div>
    )
  }
  if (items.length === 0) return null
  return (
    <div class="cond">
      <span class="tag">{answer}</span> {kind} of
      {items.map((item, i) => (
        <Condition key={i} view={item} />
      ))}
    </div>
  )
}
