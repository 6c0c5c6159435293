import { go, list, route } from '../route/router.ts'
import { signal } from '@preact/signals'
import { above, type Route } from '../route/route.ts'
import { type Action, strike } from './keymap.ts'

/** The page's action for each key. A key without an action has no effect. An action that is false changed nothing. */
export type Handlers = Partial<Record<Action, () => unknown>>

export const helpShown = signal(false)

/** The handlers of the parts of the page. The part that opened last comes first. */
const parts: Handlers[] = []
let pending = false

/**
 * Registers the keys of a part of the page. Call this function before the first paint, because the user may press a key
 * immediately.
 */
export function handleKeys(handlers: Handlers): () => void {
  parts.unshift(handlers)
  return () => {
    parts.splice(parts.indexOf(handlers), 1)
  }
}

export function startKeyboard(): void {
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || document.querySelector('dialog[open], :popover-open')) return
    const { repeat: repeated } = event
    const key = event.key === ' ' ? 'Space' : event.key
    const modified = event.ctrlKey || event.metaKey || event.altKey || event.isComposing
    const struck = strike(
      {
        key,
        typing: isTyping(event.target) || (key === 'Space' && isPressed(event.target)),
        modified,
        repeated,
      },
      route.value.page,
      pending,
    )
    pending = struck.pending
    if (struck.action !== undefined && act(struck.action) !== false) event.preventDefault()
  })
}

function act(action: Action): unknown {
  const own = parts.find((part) => part[action] !== undefined)?.[action]
  if (action === 'back' && leaveField()) return true
  if (own !== undefined) return own()
  if (action === 'help') helpShown.value = true
  else if (action.startsWith('go ')) go({ page: action.slice(3), filters: {} } as Route)
  else if (action === 'search') search()
  else if (action === 'back' && route.value.page !== 'queue') go(above(route.value, list))
  return true
}

/** Focuses the search field of the page, or opens the history, which has a search field. */
function search(): void {
  const field = document.querySelector<HTMLElement>('input[type=search]')
  if (field) field.focus()
  else go({ page: 'history', filters: {} })
}

function leaveField(): boolean {
  const typing = isTyping()
  if (typing) (document.activeElement as HTMLElement).blur()
  return typing
}

/** True for an element that Space presses. */
const isPressed = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('button, summary, [type=checkbox], [type=radio]') !== null

export const isTyping = (target: EventTarget | null = document.activeElement): boolean =>
  target instanceof HTMLElement &&
  (target.matches('textarea, select, input:not([type=checkbox], [type=radio])') || target.isContentEditable)
