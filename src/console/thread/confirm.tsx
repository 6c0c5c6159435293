import { useLayoutEffect } from 'preact/hooks'
import type { ThreadView } from '../../contract/reviewer.ts'
import { RiskMark } from '../risk/risk-mark.tsx'
import { Dialog } from '../shell/dialog.tsx'
import { BecauseLine } from './because-line.tsx'
import type { Deciding } from './deciding.ts'

/**
 * A dialog in which the reviewer confirms an irreversible decision with a second act. The focus is on the heading, so
 * that Enter, Space and the key that opened the dialog have no effect.
 */
export function Confirm({ deciding, view }: { readonly deciding: Deciding; readonly view: ThreadView }) {
  const decision = deciding.asking.value
  if (decision === undefined) return null
  const approve = decision === 'approve'
  const key = approve ? 'y' : 'x'
  const because = view.rules
    .flatMap((rule) => (rule.mode === 'enforced' ? (rule.because ?? []) : []))
    .filter(
      ({ field, read }, i, all) => all.findIndex((one) => one.field === field && one.read === read) === i,
    )
  return (
    <Dialog title={approve ? 'Approve this call?' : 'Reject this call?'} close={deciding.cancel}>
      <Keys letter={key} act={deciding.confirm} />
      <dl class="facts">
        {because.length > 0 && (
          <>
            <dt>Because</dt>
            <dd>
              {because.map((one, i) => (
                <BecauseLine key={i} of={one} heading={view.heading} />
              ))}
            </dd>
          </>
        )}
        <dt>Risk</dt>
        <dd>
          <RiskMark risk={view.risk} />
          {view.reversibility && ` ${view.reversibility}`}
        </dd>
        <dt>Tool</dt>
        <dd class="mono">{view.tool_name}</dd>
        <dt>Agent</dt>
        <dd class="mono">{view.agent}</dd>
        <dt>Revision</dt>
        <dd>{view.revision}</dd>
      </dl>
      <p>{approve ? approving(view) : 'One reject ends the thread. The agent receives your comment.'}</p>
      <div class="acts">
        <button onClick={deciding.cancel}>Cancel</button>
        <button class={approve ? undefined : 'reject'} onClick={deciding.confirm}>
          {approve ? `Approve ${view.risk} risk` : 'Reject'} <kbd>{key}</kbd>
        </button>
      </div>
    </Dialog>
  )
}

function approving({ approvals: { given, required } }: ThreadView): string {
  const left = required - given - 1
  if (left <= 0) return 'Yours is the last approval that is needed: the agent may then run the call.'
  return `${left} more ${left === 1 ? 'approval is' : 'approvals are'} needed after yours.`
}

/** The key of the second act. */
export function Keys({ letter, act }: { readonly letter: string; readonly act: () => void }) {
  // registered before the first paint, so that a quick second key is not lost
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key !== letter || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return
      event.preventDefault()
      act()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
  return null
}
