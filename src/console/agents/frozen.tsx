import type { FreezeView } from '../../contract/freeze.ts'
import { isAdmin } from '../session/session.ts'
import { AgentText } from '../text/agent-text.tsx'
import { Ago } from '../time/countdown.tsx'
import { type Asked, nameOf, type Scope } from './freeze-dialog.tsx'

interface FrozenProps {
  readonly freeze: FreezeView
  readonly ask: (act: Asked['act'], scope: Scope) => void
}

/** One freeze with its time, author and reason. Administrators may end the freeze. */
export function Frozen({ freeze, ask }: FrozenProps) {
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
