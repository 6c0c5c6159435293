import { useLayoutEffect } from 'preact/hooks'
import type { ThreadState } from '../call/thread-state.ts'
import { handleKeys } from '../keyboard/keyboard.ts'
import { QueuePane } from '../queue/queue-pane.tsx'
import {
  catchUpQueue,
  fromQueue,
  hear,
  loadQueue,
  nextFor,
  openInstead,
  queue,
} from '../queue/queue-state.ts'
import { type Filters, queryOf } from '../route/filters.ts'
import type { Route } from '../route/route.ts'
import { list } from '../route/router.ts'
import { spoken } from '../text/because-text.ts'
import { announce } from '../shell/announce.tsx'
import { takeFocus } from '../shell/heading.tsx'
import { advances, wide } from '../shell/preferences.ts'
import { CallPane } from '../thread/call-pane.tsx'
import { listen } from '../wire/stream.ts'

interface ReviewProps {
  readonly filters: Filters
  /** The open call. */
  readonly thread?: string
}

/** True when the list is shown beside the call. */
export const besides = (here: Route): boolean => wide.value && (here.page === 'queue' || fromQueue())

/** The filters of the queue that lies beside or behind a call. */
export const queueFilters = (): Filters => (list.page === 'queue' ? list.filters : {})

/** The queue and a call: side by side in a wide window, otherwise one of them. */
export function ReviewPage({ filters, thread }: ReviewProps) {
  // runs before the first paint, so that rows of another address never appear
  useLayoutEffect(() => {
    void loadQueue(filters)
    return listen({ changed: hear, stale: () => void catchUpQueue() })
  }, [queryOf(filters)])
  const both = wide.value && fromQueue()
  useLayoutEffect(
    () => handleKeys({ news: () => void loadQueue(), ...(both && thread !== undefined && { back: toRow }) }),
    [both, thread],
  )
  return (
    <>
      {(both || thread === undefined) && <QueuePane filters={filters} />}
      {thread !== undefined && (
        <CallPane key={thread} id={thread} voted={(voted) => advance(thread, voted)} />
      )}
      {both && thread === undefined && queue.state.value.items.length > 0 && (
        <div class="state">
          <h2>Choose a call, or open the first one with the key j.</h2>
        </div>
      )}
    </>
  )
}

/** Leads from the call to its row. */
const toRow = (): void => document.querySelector<HTMLElement>('.item [aria-current]')?.focus()

/** Opens the next call that needs this reviewer's vote, unless the reviewer has left the call. */
function advance(id: string, { left }: ThreadState): void {
  const next = nextFor(id)
  if (!advances.value || left || next === undefined || !fromQueue()) return
  const said = document.querySelector('.note strong')?.textContent ?? ''
  openInstead(next.thread_id)
  announce(`${said} Now: ${next.risk}, ${spoken(next.heading.line)}`)
  if (wide.value) takeFocus(document.querySelector<HTMLElement>(`.item a[href="#/thread/${next.thread_id}"]`))
}
