import type { LegalHoldView } from '../../contract/legal-hold.ts'
import { AgentText } from '../text/agent-text.tsx'
import { Ago } from '../time/countdown.tsx'

/** When a legal hold began, and why. */
export const LegalHoldText = ({ hold: { started_at, reason } }: { readonly hold: LegalHoldView }) => (
  <>
    <Ago at={started_at} />: <AgentText text={reason} />
  </>
)
