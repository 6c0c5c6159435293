import type { ThreadView, VoteDecision } from '../../contract/reviewer.ts'
import { isGrave, RiskMark } from '../risk/risk-mark.tsx'
import { Dialog } from '../shell/dialog.tsx'
import { ApproveButton } from '../seen/approve-button.tsx'
import { ENTER } from '../seen/parts.ts'
import { partName } from '../text/because-text.ts'
import { CommentField, NotSeen, READY, RequestChanges, Saved, Write } from '../thread/action-bar.tsx'
import { Keys } from '../thread/confirm.tsx'
import { COMMENT } from '../thread/deciding.ts'
import type { Acts } from './acts.ts'
import { CallsList } from './calls-table.tsx'
import { callOf, type Several } from './several-state.ts'
import { tableOf } from './table.ts'

interface BarProps {
  readonly several: Several
  readonly acts: Acts
  readonly view: ThreadView
}

/** The decision for all chosen calls. */
export function SeveralBar({ several, acts, view }: BarProps) {
  const { comment, chosen, sending } = several
  const count = chosen.value.length
  const writing = acts.writing.value || comment.value !== '' || document.activeElement?.id === COMMENT
  const act = (decision: VoteDecision) => ({
    disabled: sending.value,
    'aria-disabled': count === 0,
    onClick: () => acts.start(decision),
  })
  return (
    <section class={`bar${writing ? ' writing' : ''}`} aria-label="Your decision">
      <Saved comments={view.review.comments} insert={acts.insert} />
      <Ready several={several} />
      <CommentField
        comment={comment}
        placeholder={
          acts.wanted.value ||
          (count === 1 ? 'Comment for the agent' : `One comment for all ${count > 0 ? `${count} ` : ''}calls`)
        }
      />
      <div class="acts">
        <Write of={acts} open={writing} />
        <button class="reject" {...act('reject')}>
          Reject {count} <kbd>r</kbd>
        </button>
        <button {...act('request_changes')}>
          <RequestChanges count={count} />
        </button>
        <ApproveButton
          parts={several.parts}
          label={`Approve ${count}${isGrave(view.risk) ? '…' : ''}`}
          none={count === 0}
          disabled={sending.value}
          act={() => acts.start('approve')}
        />
      </div>
      <Confirm several={several} acts={acts} view={view} />
    </section>
  )
}

const NAMED = 3

/** How many are chosen, with the sum of their numbers, or the parts of the chosen calls that were not seen. */
function Ready({ several }: Pick<BarProps, 'several'>) {
  const { parts, chosen, shown, table } = several
  const count = chosen.value.length
  const missing = count === 0 ? [] : parts.missing.value
  if (missing.length > 0) {
    const rows = new Map(
      shown.value.map(({ view }, i) => [several.rowName(view.thread_id), table.value.names[i] ?? '']),
    )
    const names = new Map(missing.map((part) => [part, rows.get(part) ?? partName(part)]))
    return <NotSeen parts={parts} names={names} most={NAMED} />
  }
  const numbers = count === 0 ? undefined : mainNumbers(several)
  return (
    <p class={count === 0 ? 'ready' : 'ready all'} id={READY}>
      {parts.armed.value && `${ENTER} `}
      {count} of {shown.value.length} chosen{numbers && `, ${numbers.name} ${numbers.sum}`}
    </p>
  )
}

/** The column of numbers that made a rule fire, or else the first one, of the chosen calls. */
function mainNumbers({ chosen }: Several): { readonly name: string; readonly sum: string } | undefined {
  const columns = tableOf(chosen.value.map(callOf)).columns.filter(({ numeric }) => numeric)
  const main = columns.find(({ decides }) => decides) ?? columns[0]
  return main?.sum === undefined
    ? undefined
    : { name: `sum of ${main.name}`, sum: main.written?.[2] ?? main.sum }
}

/** The second act, with the list of the chosen calls. */
function Confirm({ several, acts, view }: BarProps) {
  const decision = acts.asking.value
  if (decision === undefined) return null
  const shown = several.chosen.value
  const count = `${shown.length} ${shown.length === 1 ? 'call' : 'calls'}`
  const approve = decision === 'approve'
  const key = approve ? 'y' : 'x'
  const last = shown.every(({ view: { approvals } }) => approvals.required - approvals.given <= 1)
  return (
    <Dialog
      wider
      title={`${approve ? 'Approve' : 'Reject'} ${count} of ${view.risk} risk?`}
      close={acts.cancel}
    >
      <Keys letter={key} act={acts.confirm} />
      <p class="line">
        <RiskMark risk={view.risk} /> <span class="tool">{view.tool_name}</span> by {view.agent}.
        {approve && last && ' Your approval is the last one that each of them needs.'}
        {!approve && ' One reject ends each thread.'}
      </p>
      <CallsList table={tableOf(shown.map(callOf))} shown={shown} />
      <p class="quiet small">
        The votes are sent at once and cannot be taken back. Each is judged on its own.
      </p>
      <div class="acts">
        <button onClick={acts.cancel}>Cancel</button>
        <button class={approve ? undefined : 'reject'} onClick={acts.confirm}>
          {approve ? 'Approve' : 'Reject'} {count} <kbd>{key}</kbd>
        </button>
      </div>
    </Dialog>
  )
}
