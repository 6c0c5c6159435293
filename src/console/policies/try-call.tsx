import { useSignal } from '@preact/signals'
import type { ExplanationView } from '../../contract/admin.ts'
import { Panel } from '../shell/panel.tsx'
import { call, type Refusal } from '../wire/call.ts'
import { ProblemNote } from '../wire/problem.tsx'
import { Explanation } from './explanation.tsx'

const EXAMPLE = `{
  "tool_name": "payments.refund",
  "payload": { "charge": "ch_1", "amount_cents": 12000, "currency": "eur" }
}`

/** The decision of the policy in force on a hypothetical call. */
export function TryCall() {
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
        A request as an agent would send it. The gateway only explains it.
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
      {answer.value && (
        <div role="status">
          <Explanation view={answer.value} />
        </div>
      )}
    </Panel>
  )
}
