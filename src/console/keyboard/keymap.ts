import type { Page } from '../route/route.ts'

/** The actions that keys can have. Keys with held modifiers, and keys typed into a field, have no effect. */
export type Action = (typeof ROWS)[number]['action'] | `comment ${number}`

export interface Stroke {
  readonly key: string
  readonly typing: boolean
  readonly modified: boolean
  readonly repeated: boolean
}

export interface Struck {
  readonly action?: Action
  /** True after `g` was pressed. The next key then names the page to open. */
  readonly pending: boolean
}

interface Row {
  readonly keys: string
  readonly action: string
  readonly does: string
  readonly on?: readonly Page[]
}

/** The queue is beside the call on a wide window, so its keys work on both pages. */
const REVIEW: readonly Page[] = ['queue', 'thread', 'several']
/** A call, or several at once. */
const CALLS: readonly Page[] = ['thread', 'several']
const LISTS: readonly Page[] = [...REVIEW, 'history', 'webhooks']

const ROWS = [
  { keys: 'j', action: 'next', does: 'Next', on: LISTS },
  { keys: 'k', action: 'previous', does: 'Previous', on: LISTS },
  { keys: 'a', action: 'approve', does: 'Show the next screen; after the last, approve', on: CALLS },
  { keys: 'Space', action: 'page', does: 'Show the next screen', on: CALLS },
  { keys: 'r', action: 'reject', does: 'Reject', on: CALLS },
  { keys: 'c', action: 'request_changes', does: 'Request changes', on: CALLS },
  { keys: 'v', action: 'reveal', does: 'Reveal the hidden values', on: CALLS },
  { keys: 'd', action: 'diff', does: 'What changed since another revision', on: ['thread'] },
  { keys: 'i', action: 'context', does: 'Open or close the context', on: ['thread'] },
  { keys: 'x', action: 'choose', does: 'Choose this call, of several that are alike', on: REVIEW },
  {
    keys: 'X',
    action: 'choose_all',
    does: 'Show the calls that are alike; there: choose all that were seen',
    on: REVIEW,
  },
  { keys: 'o', action: 'open', does: 'Open the row of the table; Escape returns', on: ['several'] },
  { keys: 'n', action: 'news', does: 'Add the new calls to the list', on: REVIEW },
  { keys: 'u', action: 'undo', does: 'Take the last vote back, within five seconds' },
  { keys: '/', action: 'search', does: 'Search' },
  { keys: 'g q', action: 'go queue', does: 'Go to the queue' },
  { keys: 'g h', action: 'go history', does: 'Go to the history' },
  { keys: 'g p', action: 'go policies', does: 'Go to the policies' },
  { keys: 'g a', action: 'go agents', does: 'Go to the agents' },
  { keys: 'g w', action: 'go webhooks', does: 'Go to the webhooks' },
  { keys: '?', action: 'help', does: 'This help' },
  { keys: 'Escape', action: 'back', does: 'Leave a field, or go back' },
] as const satisfies readonly Row[]

/** All keys, as the help lists them. */
export const BINDINGS: readonly (Row & { readonly action: Action })[] = ROWS

/** The actions that a key repeats while it is held down. */
const MOVES: readonly Action[] = ['next', 'previous']

/** The keys of the saved comments. */
const SAVED = /^[1-9]$/

const savedComment = ({ key, repeated }: Stroke): Struck =>
  repeated ? { pending: false } : { action: `comment ${Number(key)}`, pending: false }

export function strike(stroke: Stroke, page: Page, pending: boolean): Struck {
  if (stroke.modified || (stroke.typing && stroke.key !== 'Escape')) return { pending: false }
  if (stroke.key === 'g' && !pending) return { pending: true }
  if (CALLS.includes(page) && SAVED.test(stroke.key)) return savedComment(stroke)
  const keys = pending ? `g ${stroke.key}` : stroke.key
  const found = BINDINGS.find((one) => one.keys === keys && (one.on?.includes(page) ?? true))
  if (found === undefined || (stroke.repeated && !MOVES.includes(found.action))) return { pending: false }
  return { action: found.action, pending: false }
}
