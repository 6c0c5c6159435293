import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { handleKeys } from '../keyboard/keyboard.ts'
import { me } from '../session/session.ts'
import { ProblemNote } from '../wire/problem.tsx'
import type { ListState } from './list-state.ts'
import { ThreadRow } from './thread-row.tsx'

interface ListProps {
  readonly state: ListState
  readonly label: string
  readonly more: () => Promise<void>
  readonly retry: () => void
  readonly fresh?: ReadonlySet<string>
  readonly empty: ComponentChildren
}

/** Threads with one of them in focus: j and k move it, Enter opens it. */
export function ThreadList({ state, label, more, retry, fresh, empty }: ListProps) {
  useEffect(() => handleKeys({ next: () => move(1), previous: () => move(-1) }), [])
  useEffect(returnToRow, [state.threads.length > 0])
  const { threads, loading, problem, cursor } = state
  return (
    <section aria-label={label} aria-busy={loading}>
      {problem && <ProblemNote problem={problem} retry={retry} />}
      {threads.length > 0 && (
        <ol class="rows">
          {threads.map((thread) => (
            <ThreadRow
              key={thread.thread_id}
              thread={thread}
              me={me.value?.reviewer ?? ''}
              fresh={fresh?.has(thread.thread_id) ?? false}
            />
          ))}
        </ol>
      )}
      {threads.length === 0 &&
        !problem &&
        (loading ? <p class="empty">Loading…</p> : <div class="empty">{empty}</div>)}
      {cursor && (
        <button class="more" disabled={loading} onClick={() => void moreFrom(threads.length, more)}>
          Load more
        </button>
      )}
    </section>
  )
}

/** Reading goes on where the new threads begin. */
async function moreFrom(count: number, more: () => Promise<void>): Promise<void> {
  await more()
  rows()[count]?.focus()
}

const rows = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>('.rows .open')]

function move(by: number): void {
  const all = rows()
  const at = all.findIndex((row) => row === document.activeElement)
  const next = all[at === -1 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))]
  next?.focus()
}

/** The thread that was open last: coming back to a list puts the focus there. */
let left: string | undefined

export function leaveFrom(thread: string): void {
  left = thread
}

function returnToRow(): void {
  const row = rows().find((one) => one.getAttribute('href') === `#/thread/${left}`)
  if (row === undefined) return
  left = undefined
  row.focus()
}
