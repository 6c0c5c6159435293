import { useSignal } from '@preact/signals'
import { AgentText } from './agent-text.tsx'
import { fold } from './fold.ts'
import { useHindrance } from './hindrance.ts'

/** A string of any length. Long text is folded, with a count of the rest, and one press unfolds it. */
export function LongText({ text }: { readonly text: string }) {
  const open = useSignal(false)
  const { shown, rest } = fold(text)
  const control = useHindrance<HTMLButtonElement>(rest !== undefined && !open.value, () => {
    open.value = true
  })
  return (
    <span class="long">
      <AgentText text={open.value ? text : shown} />
      {rest && (
        <button
          ref={control}
          class="small"
          aria-expanded={open.value}
          onClick={() => {
            open.value = !open.value
          }}
        >
          {open.value ? 'Fold' : `Show ${rest}`}
        </button>
      )}
    </span>
  )
}
