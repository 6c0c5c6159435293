import type { ThreadRevision, ThreadView } from '../../contract/reviewer.ts'
import { Part } from '../seen/part.tsx'
import { Select } from '../shell/field.tsx'
import { Panel } from '../shell/panel.tsx'
import { revisionIn, type ThreadState } from '../call/thread-state.ts'
import { useHindrance } from '../text/hindrance.ts'
import { ChangeList } from './change-list.tsx'
import { changesBetween } from './changes.ts'

interface ChangesProps {
  readonly view: ThreadView
  readonly thread: ThreadState
}

/** The changes of the shown revision: in the payload, and in the agent's claims. */
export function RevisionChanges({ view, thread }: ChangesProps) {
  const number = thread.diffFrom.value
  const from = number === undefined ? undefined : revisionIn(view, number)
  const to = thread.current.value
  if (from === undefined || to === undefined)
    return view.revision > 1 ? <ChangesHidden show={thread.toggleDiff} /> : null
  const { [from.number]: seenFrom = from, [to.number]: seenTo = to } = thread.revealed.value
  // compares revealed values only with revealed values: equal values have equal tags, but a value differs from its tag
  const bare = seenFrom !== from && seenTo !== to
  const payload = changesBetween((bare ? seenFrom : from).payload, (bare ? seenTo : to).payload)
  const claims = changesBetween(claimsOf(from), claimsOf(to))
  return (
    <Panel
      title="What changed"
      kind="changes"
      note={
        <label class="since">
          since{' '}
          <Select
            value={number}
            set={(value) => (thread.diffFrom.value = Number(value))}
            options={view.revisions.slice(0, -1).map((one) => [one.number, `revision ${one.number}`])}
          />
        </label>
      }
    >
      <Part name="changes">
        <h3>Payload</h3>
        <ChangeList changes={payload} none="Nothing: the payload is the same." />
        <h3>Agent's claims</h3>
        <ChangeList changes={claims} none="Nothing." />
      </Part>
    </Panel>
  )
}

/** The changes of a revised call, folded. They are a part to see. */
function ChangesHidden({ show }: { readonly show: () => void }) {
  return (
    <Part name="changes">
      <ShowChanges show={show} />
    </Part>
  )
}

function ShowChanges({ show }: { readonly show: () => void }) {
  const control = useHindrance<HTMLButtonElement>(true, show)
  return (
    <button ref={control} class="small" onClick={show}>
      Show the changes
    </button>
  )
}

function claimsOf(revision: ThreadRevision): object {
  const { subject, preview, summary, workflow_name, task_label, risk_level, images } = revision
  return { subject, preview, summary, workflow_name, task_label, risk_level, images }
}
