import type { RiskLevel } from '../../contract/agent.ts'

/** A risk, shown by a word and a shape. The colour is only a third signal. */
export function RiskMark({ risk }: { readonly risk: RiskLevel }) {
  return (
    <span class={`risk ${risk}`}>
      <i aria-hidden="true" />
      {risk}
    </span>
  )
}

/** Only the shape, where words beside it name the risk. */
export function RiskShape({ risk }: { readonly risk: RiskLevel }) {
  return (
    <span class={`risk ${risk}`} aria-hidden="true">
      <i />
    </span>
  )
}

export const RISKS = ['critical', 'high', 'medium', 'low'] as const satisfies readonly RiskLevel[]

/** True when an approval needs a second, deliberate act. */
export const isGrave = (risk: RiskLevel): boolean => risk === 'high' || risk === 'critical'
