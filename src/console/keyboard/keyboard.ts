import { go, list, route } from '../route/router.ts'
import { signal } from '@preact/signals'
import { above, type Route } from '../route/route.ts'
import { type Action, strike } from './keymap.ts'

/** The page's action for each key. A key without an action has no effect. */
export type Handlers = Partial<Record<Action, () => void>>

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
    const { key, repeat: repeated } = event
    const modified = event.ctrlKey || event.metaKey || event.altKey || event.isComposing
    const struck = strike(
      { key, typing: isTyping(event.target), modified, repeated },
      route.value.page,
      pending,
    )
    pending = struck.pending
    if (struck.action === undefined) return
    event.preventDefault()
    act(struck.action)
  })
}

function act(action: Action): void {
  const own = parts.find((part) => part[action] !== undefined)?.[action]
  if (action === 'help') helpShown.value = true
  else if (action === 'back' && leaveField()) return
  else if (own !== undefined) own()
  else if (action.startsWith('go ')) go({ page: action.slice(3), filters: {} } as Route)
  else if (action === 'search') search()
  else if (action === 'back' && route.value.page !== 'queue') go(above(route.value, list))
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

export const isTyping = (target: EventTarget | null = document.activeElement): boolean =>
  target instanceof HTMLElement &&
  (target.matches('textarea, select, input:not([type=checkbox], [type=radio])') || target.isContentEditable)
