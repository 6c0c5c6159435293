import type { ComponentChildren } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { handleKeys } from '../keyboard/keyboard.ts'
import { takeFocus } from '../shell/heading.tsx'
import { ProblemNote, ProblemState } from '../wire/problem.tsx'
import type { ListState } from './list-state.ts'

interface ListProps<T> {
  readonly state: Omit<ListState<T>, 'address'>
  readonly label: string
  /** The name of the list in a sentence; without it, `the list`. */
  readonly name?: string
  /** Draws one row. */
  readonly row?: (item: T) => ComponentChildren
  readonly retry: () => void
  /** Absent for a list that is loaded as a whole. */
  readonly more?: () => Promise<void>
  readonly empty: ComponentChildren
  /** Draws all rows, for a list in several parts. */
  readonly rows?: (items: readonly T[]) => ComponentChildren
  /** Moves by one row. Without it, only the focus moves. */
  readonly step?: (by: number) => void
}

/** Rows, one of which has the focus. The keys j and k move the focus, and Enter opens the row. */
export function List<T>({ state, label, row, rows: parts, step = move, ...others }: ListProps<T>) {
  const { retry, more, empty, name = 'the list' } = others
  const { items, loading, problem, cursor, unreadable } = state
  useLayoutEffect(() => handleKeys({ next: () => step(1), previous: () => step(-1) }), [])
  useLayoutEffect(returnToRow, [items.length > 0])
  return (
    <section aria-label={label} aria-busy={loading}>
      {problem && items.length > 0 && <ProblemNote problem={problem} retry={retry} />}
      {unreadable.length > 0 && (
        <p class="note bad">
          The store cannot read {unreadable.join(', ')}. Report this to the operator of the gateway.
        </p>
      )}
      {items.length > 0 && (
        <div onFocusIn={notePlace}>
          {parts ? parts(items) : <ol class="rows">{items.map((item) => row?.(item))}</ol>}
        </div>
      )}
      {items.length === 0 && <Nothing state={state} retry={retry} empty={empty} name={name} />}
      {more && cursor && (
        <button class="more" disabled={loading} onClick={() => void moreFrom(items.length, more)}>
          Load more
        </button>
      )}
    </section>
  )
}

type NothingProps = Pick<ListProps<unknown>, 'retry' | 'empty'> & {
  readonly state: Pick<ListState<unknown>, 'problem' | 'loading'>
  readonly name: string
}

/** A list without items: it could not be read, it still loads, or it is empty. */
function Nothing({ state: { problem, loading }, retry, empty, name }: NothingProps) {
  if (problem) return <ProblemState problem={problem} retry={retry} what={name} />
  return loading ? <Loading what={name} /> : <div class="state">{empty}</div>
}

/** Appears only after a moment, so that a quick answer makes nothing flash. */
export const Loading = ({ what }: { readonly what: string }) => (
  <div class="state loading">
    <h2>Loading {what}…</h2>
  </div>
)

/** Loads more, then moves the focus to the first new row, or to the error, which is far above. */
async function moreFrom(count: number, more: () => Promise<void>): Promise<void> {
  await more()
  takeFocus(rows()[count] ?? document.querySelector<HTMLElement>('.bad button'))
}

const ROW = '.row, .item'

/** The focusable element of each row: its link, or its first button. */
const rows = (): HTMLElement[] =>
  [...document.querySelectorAll(ROW)].flatMap((row) => row.querySelector<HTMLElement>('a, button') ?? [])

const focusedRow = (): number => rows().findIndex((row) => row.closest(ROW)?.matches(':focus-within'))

export function move(by: number): void {
  const all = rows()
  const at = focusedRow()
  const to = at === -1 ? (by > 0 ? place : place - 1) : Math.max(0, at + by)
  all.at(Math.min(all.length - 1, to))?.focus()
}

/**
 * The index of the reading position. When the focused row disappears, the focus does not move to its successor, because
 * Enter would open the successor. The next j or k continues from this position.
 */
let place = 0

function notePlace(): void {
  place = focusedRow()
}

/** Runs an act that may remove the focused row, and continues reading at the row that follows. */
export async function keepingPlace(act: () => Promise<void>): Promise<void> {
  const at = focusedRow()
  await act()
  if (at !== -1 && document.activeElement === document.body) (rows()[at] ?? rows().at(-1))?.focus()
}

/**
 * The last opened thread. When the reader returns to a list, the focus moves to that thread, or to the old reading
 * position.
 */
let left: string | undefined

export function leaveFrom(thread: string): void {
  left = thread
}

function returnToRow(): void {
  const all = rows()
  if (all.length === 0) return
  if (left === undefined) place = 0
  all.find((one) => one.getAttribute('href') === `#/thread/${left}`)?.focus()
  left = undefined
}
