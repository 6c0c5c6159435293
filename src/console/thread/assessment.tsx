import type { ThreadRevision, ThreadView } from '../../contract/reviewer.ts'
import { becauseName, isWhole } from '../text/because-text.ts'
import { hashOf } from '../route/route.ts'
import { RiskMark } from '../risk/risk-mark.tsx'
import { Part } from '../seen/part.tsx'
import { Panel } from '../shell/panel.tsx'
import { BecauseLine } from './because-line.tsx'

type Rule = ThreadRevision['rules'][number]

interface AssessmentProps {
  readonly view: ThreadView
  readonly revision: ThreadRevision
}

/** The gateway's own assessment of the call. The agent's claims can raise the risk, never lower it. */
export function Assessment({ view, revision }: AssessmentProps) {
  const enforced = revision.rules.filter((rule) => rule.mode === 'enforced')
  const shadow = revision.rules.filter((rule) => rule.mode === 'shadow')
  return (
    <Panel title="What policy says" kind="policy">
      <p class="line">
        <RiskMark risk={revision.risk} />
        {revision.policy_risk !== revision.risk && <span>policy alone: {revision.policy_risk}</span>}
        {view.reversibility && <span class="tag">{view.reversibility}</span>}
        {view.labels.map((label) => (
          <span key={label} class="tag">
            {label}
          </span>
        ))}
      </p>
      {!enforced.some((rule) => revision.message.includes(rule.reason)) && <p>{revision.message}</p>}
      {enforced.length > 0 && (
        <ul class="rules">
          {enforced.map((rule) => (
            <Rule key={rule.id} rule={rule} view={view} />
          ))}
        </ul>
      )}
      {shadow.length > 0 && (
        <details>
          <summary>{shadow.length} in shadow mode: they only watch</summary>
          <ul class="rules">
            {shadow.map((rule) => (
              <Rule key={rule.id} rule={rule} view={view} />
            ))}
          </ul>
        </details>
      )}
      <p class="digest">
        policy{' '}
        <code data-rest={revision.policy_revision.slice(12)}>{revision.policy_revision.slice(0, 12)}</code>
      </p>
    </Panel>
  )
}

/** The way to the text of a rule. */
export const RuleLink = ({ rule: { id, file, line } }: { readonly rule: Rule }) => (
  <a class="rule-link" href={hashOf({ page: 'policies', file, line })}>
    {id} · {file}:{line}
  </a>
)

/** Values of a rule that only watches are no parts to see. */
function Rule({ rule, view: { heading, payload } }: { readonly rule: Rule; readonly view: ThreadView }) {
  return (
    <li>
      <span class={`verdict ${rule.verdict}`}>{rule.verdict}</span> {rule.reason}
      {rule.unknown && <span class="tag warn">could not be checked</span>}
      {rule.because?.map((one, i) =>
        rule.mode === 'shadow' ? (
          <BecauseLine key={i} of={one} heading={heading} />
        ) : (
          <Part
            key={i}
            name={becauseName(one.field)}
            shows={isWhole(payload, one.field, String(one.value)) ? [one.field] : []}
          >
            <BecauseLine of={one} heading={heading} />
          </Part>
        ),
      )}{' '}
      <RuleLink rule={rule} />
    </li>
  )
}
