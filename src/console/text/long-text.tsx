import { useContext } from 'preact/hooks'
import { signal, useSignal } from '@preact/signals'
import { AgentText } from './agent-text.tsx'
import { fold } from './fold.ts'
import { PartContext, useHindrance } from './hindrance.ts'

/** The longest text that a part to see has unfolded, in characters. */
const UNFOLDED = 16_000

/** True while the page is printed, which cuts no text. */
const prints = signal(false)

export function startPrinting(page: Pick<EventTarget, 'addEventListener'>): void {
  page.addEventListener('beforeprint', () => {
    prints.value = true
  })
  page.addEventListener('afterprint', () => {
    prints.value = false
  })
}

/**
 * A string of any length. Long text is folded, with a count of the rest, and one press unfolds it. A reviewer who
 * decides must see all of it, so a part to see has it unfolded.
 */
export function LongText({ text }: { readonly text: string }) {
  const pressed = useSignal<boolean | undefined>(undefined)
  const isPart = useContext(PartContext) !== undefined
  const open = prints.value || (pressed.value ?? (isPart && text.length <= UNFOLDED))
  const { shown, rest } = fold(text)
  const control = useHindrance<HTMLButtonElement>(rest !== undefined && !open, () => {
    pressed.value = true
  })
  return (
    <span class={rest === undefined || open ? 'long' : 'long cut'}>
      <AgentText text={open ? text : shown} />
      {rest && (
        <button
          ref={control}
          class="small"
          aria-expanded={open}
          onClick={() => {
            pressed.value = !open
          }}
        >
          {open ? 'Fold' : `Show ${rest}`}
        </button>
      )}
    </span>
  )
}
