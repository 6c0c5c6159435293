import { type ComponentChildren, Fragment } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { handleKeys } from '../keyboard/keyboard.ts'
import { openCall, QueuePane } from '../queue/queue-pane.tsx'
import {
  alikeTo,
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
import { go, list, refine, route, table } from '../route/router.ts'
import { spoken } from '../text/because-text.ts'
import { announce } from '../shell/announce.tsx'
import { takeFocus } from '../shell/heading.tsx'
import { advances, wide } from '../shell/preferences.ts'
import type { SeveralProps } from '../several/several-pane.tsx'
import { CallPane } from '../thread/call-pane.tsx'
import { listen } from '../wire/stream.ts'

interface ReviewProps {
  readonly filters: Filters
  /** The open call. */
  readonly thread?: string
  /** Draws the table of the calls that are like the call. */
  readonly several?: (props: SeveralProps) => ComponentChildren
}

/** True when the list is shown beside the call. */
export const besides = (here: Route): boolean => wide.value && (here.page === 'queue' || fromQueue())

/** The filters of the queue that lies beside or behind a call. */
export const queueFilters = (): Filters => (list.page === 'queue' ? list.filters : {})

/** The queue and a call: side by side in a wide window, otherwise one of them. */
export function ReviewPage({ filters, thread, several }: ReviewProps) {
  // runs before the first paint, so that rows of another address never appear
  useLayoutEffect(() => {
    void loadQueue(filters)
    return listen({ changed: hear, stale: () => void catchUpQueue() })
  }, [queryOf(filters)])
  const both = wide.value && fromQueue()
  useLayoutEffect(
    () =>
      handleKeys({
        news: () => void loadQueue(),
        choose: () => openAlike(true),
        choose_all: () => openAlike(false),
        ...(both && thread !== undefined && { back: toRow }),
        ...(table && !several && { back: () => table && go(table) }),
      }),
    [both, thread, several !== undefined],
  )
  return (
    <>
      {(both || thread === undefined) && <QueuePane filters={filters} />}
      {thread !== undefined && several && (
        <Fragment key={`several ${thread}`}>
          {several({
            id: thread,
            first: preselected === thread ? thread : undefined,
            voted: () => advance(thread),
          })}
        </Fragment>
      )}
      {thread !== undefined && !several && (
        <CallPane key={thread} id={thread} voted={({ left }) => left || advance(thread)} />
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

/** The call that the reviewer chose before its table opened. */
let preselected: string | undefined

/** Opens the table of the calls that are like the open one, or like the one with the focus. */
function openAlike(chosen: boolean): void {
  const focused = document.activeElement?.closest('.item')?.querySelector('a')?.getAttribute('href')
  const id = openCall() ?? focused?.replace('#/thread/', '')
  const call = queue.state.value.items.find(({ thread_id }) => thread_id === id)
  if (call === undefined) return
  if (alikeTo(call).length < 2) return announce('No other call is like this one')
  preselected = chosen ? call.thread_id : undefined
  const table = { page: 'several', thread: call.thread_id } as const
  if (route.value.page === 'thread') refine(table)
  else go(table)
}

/** Opens the next call that needs this reviewer's vote. */
function advance(id: string): void {
  const next = nextFor(id)
  if (!advances.value || next === undefined || !fromQueue()) return
  const said = document.querySelector('.note strong')?.textContent ?? ''
  openInstead(next.thread_id)
  announce(`${said} Now: ${next.risk}, ${spoken(next.heading.line)}`)
  if (wide.value) takeFocus(document.querySelector<HTMLElement>(`.item a[href="#/thread/${next.thread_id}"]`))
}
