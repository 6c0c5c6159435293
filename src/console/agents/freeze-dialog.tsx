import { type Signal, useSignal } from '@preact/signals'
import type { FreezeView } from '../../contract/freeze.ts'
import { me } from '../session/session.ts'
import { Dialog } from '../shell/dialog.tsx'
import { announce } from '../shell/announce.tsx'
import { tellMissed, useLeft } from '../shell/missed.tsx'
import { call, isUnknown, type Refusal } from '../wire/call.ts'
import { ProblemNote } from '../wire/problem.tsx'

export type Scope = Pick<FreezeView, 'agent' | 'tool' | 'reviewer'>

export interface Asked {
  readonly act: 'freeze' | 'unfreeze'
  readonly scope: Scope
}

interface FreezeDialogProps extends Asked {
  /**
   * @param done called when the freezes have changed or may have changed
   * @param unknown a name that the policy does not have
   */
  readonly close: (done: boolean, unknown?: string) => void
}

const MEANS = {
  freeze:
    'New calls are rejected from now on. Held calls and unused approvals end for good, even when the freeze is lifted later.',
  unfreeze: 'Policy decides on new calls again. Calls that the freeze ended stay ended.',
} as const

const MEANS_REVIEWER = {
  freeze: 'The reviewer is signed out and refused from now on. Earlier votes on waiting calls become void.',
  unfreeze: 'The reviewer may sign in and vote again. Earlier votes stay void.',
} as const

export const nameOf = ({ agent, tool, reviewer }: Scope): string => agent ?? tool ?? reviewer ?? 'everything'

/** Asks for the reason before it freezes or unfreezes, and for the name of a tool or reviewer that is empty. */
export function FreezeDialog({ act, scope, close }: FreezeDialogProps) {
  const reason = useSignal('')
  const name = useSignal('')
  const refused = useSignal<Refusal | undefined>(undefined)
  const busy = useSignal(false)
  const left = useLeft()
  const verb = act === 'freeze' ? 'Freeze' : 'Unfreeze'
  const kind = scope.reviewer === undefined ? 'tool' : 'reviewer'
  const asksName = scope[kind] === ''
  const send = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    if (busy.value) return
    busy.value = true
    const named = asksName ? { [kind]: name.value.trim() } : scope
    const body = { tenant: me.value?.tenant, ...named, reason: reason.value }
    const answer = await call<{ readonly known: boolean } | undefined>('POST', `admin/${act}`, { body })
    busy.value = false
    refused.value = answer.problem
    if (answer.problem && left.current) {
      tellMissed(`${verb} ${nameOf(named)}`, answer.problem)
      leave()
    }
    if (!answer.ok) return
    announce(`${nameOf(named)}: done.`)
    close(true, answer.body?.known === false ? nameOf(named) : undefined)
  }
  const leave = (): void => close(isUnknown(refused.value))
  return (
    <Dialog title={asksName ? `${verb} a ${kind}` : `${verb} ${nameOf(scope)}`} close={leave}>
      <form class="stack" onSubmit={(event) => void send(event)}>
        <p>{(kind === 'reviewer' ? MEANS_REVIEWER : MEANS)[act]}</p>
        {asksName && (
          <label>
            {kind === 'tool' ? 'Tool' : 'Reviewer'}
            <input
              required
              value={name.value}
              onInput={(event) => {
                name.value = event.currentTarget.value
              }}
            />
          </label>
        )}
        <Why reason={reason} />
        {refused.value && <ProblemNote problem={refused.value} />}
        <div class="acts">
          <button type="button" onClick={leave}>
            Cancel
          </button>
          <button class={act === 'freeze' ? 'reject' : 'main'}>{verb}</button>
        </div>
      </form>
    </Dialog>
  )
}

const Why = ({ reason }: { readonly reason: Signal<string> }) => (
  <label>
    Why (the agent and reviewers will read it)
    <textarea
      required
      value={reason.value}
      onInput={(event) => {
        reason.value = event.currentTarget.value
      }}
    />
  </label>
)
