import { useSignal } from '@preact/signals'
import type { ConditionView, ExplanationView } from '../../contract/admin.ts'
import { RiskMark } from '../risk/risk-mark.tsx'
import { AgentText } from '../text/agent-text.tsx'
import { Panel } from '../thread/panel.tsx'
import { call, type Refusal } from '../wire/call.ts'
import { ProblemNote } from '../wire/problem.tsx'

const EXAMPLE = `{
  "tool_name": "payments.refund",
  "payload": { "charge": "ch_1", "amount_cents": 12000, "currency": "eur" }
}`

/** The decision of policy on a hypothetical call. */
export function Playground() {
  const text = useSignal(EXAMPLE)
  const answer = useSignal<ExplanationView | undefined>(undefined)
  const problem = useSignal<Refusal | undefined>(undefined)
  const busy = useSignal(false)
  const ask = async (): Promise<void> => {
    if (busy.value) return
    busy.value = true
    const outcome = await call<ExplanationView>('POST', 'admin/policies/explain', { body: text.value })
    busy.value = false
    answer.value = outcome.body
    problem.value = outcome.problem
  }
  return (
    <Panel title="Try a call">
      <label htmlFor="proposal" class="quiet">
        A request as an agent would send it. It goes nowhere.
      </label>
      <textarea
        id="proposal"
        class="mono"
        rows={8}
        spellcheck={false}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value
        }}
      />
      <p>
        <button class="main" disabled={busy.value} onClick={() => void ask()}>
          Explain
        </button>
      </p>
      {problem.value && <ProblemNote problem={problem.value} />}
      {answer.value && <Explanation view={answer.value} />}
    </Panel>
  )
}

function Explanation({ view: { outcome, rules, limits } }: { readonly view: ExplanationView }) {
  return (
    <div role="status">
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
    </div>
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
