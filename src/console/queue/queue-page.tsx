import { signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import type { ThreadChange, ThreadSummary } from '../../contract/reviewer.ts'
import { List } from '../list/list.tsx'
import { RiskMark } from '../risk/risk-mark.tsx'
import { me } from '../session/session.ts'
import { announce } from '../shell/announce.tsx'
import { Heading } from '../shell/heading.tsx'
import { listen } from '../wire/stream.ts'
import { waiting } from '../session/counts.ts'
import { FilterBar } from './filter-bar.tsx'
import { foldEqual, type Row } from './equal-calls.ts'
import { type Filters, queryOf } from '../route/filters.ts'
import { merge } from './merge.ts'
import { ThreadRow } from './thread-row.tsx'
import { addressOf, createThreads } from './threads.ts'

const list = createThreads()
const latest = signal<ThreadSummary | undefined>(undefined)
const fresh = signal<ReadonlySet<string>>(new Set())
/** The groups of equal calls that are unfolded. */
const unfolded = signal<ReadonlySet<string>>(new Set())
/** Changes that arrived during a load. The answer to the load may be older. */
const meanwhile: ThreadChange[] = []

/** The live list of waiting threads, oldest first. Changes never move the focus or the rows above it. */
export function QueuePage({ filters }: { readonly filters: Filters }) {
  const asked = { ...filters, status: 'pending_review' }
  const catchUp = (): void => {
    if (!list.state.value.loading) meanwhile.splice(0).forEach((change) => apply(change, asked))
  }
  const load = (): void => {
    // another reviewer may have decided the thread while this page did not listen
    latest.value = undefined
    void list.load(addressOf(asked)).then(catchUp)
  }
  // runs before the first paint, so that rows of another address never appear
  useLayoutEffect(() => {
    load()
    return listen({
      changed: (change) => {
        if (list.state.value.loading) meanwhile.push(change)
        apply(change, asked)
      },
      stale: load,
    })
  }, [queryOf(filters)])
  const shown = Object.keys(filters).length > 0
  return (
    <>
      <div class="title">
        <Heading>Queue</Heading>
        <Arrived />
      </div>
      <FilterBar filters={filters} />
      <List
        state={{ ...list.state.value, items: foldEqual(list.state.value.items) }}
        label="Waiting threads"
        row={(row) => <Rows key={row.first.thread_id} {...row} />}
        more={() => list.more().then(catchUp)}
        retry={load}
        empty={shown ? <NothingHere /> : <AllDone />}
      />
    </>
  )
}

/** Equal calls in one row that unfolds. Each call is decided separately. */
function Rows({ first, others }: Row) {
  const key = first.equal ?? ''
  const open = unfolded.value.has(key)
  const toggle = (): void => {
    const next = new Set(unfolded.value)
    if (!next.delete(key)) next.add(key)
    unfolded.value = next
  }
  const count = others.length + 1
  const more = others.length > 0 && (
    <button class="small" aria-expanded={open} onClick={toggle}>
      {open ? 'Fold' : `${count} equal calls`}
    </button>
  )
  return (
    <>
      {[first, ...(open ? others : [])].map((thread) => (
        <ThreadRow
          key={thread.thread_id}
          thread={thread}
          fresh={fresh.value.has(thread.thread_id)}
          more={thread === first && more}
        />
      ))}
    </>
  )
}

function apply({ type, thread }: ThreadChange, filters: Filters): void {
  const { arrived, ...loaded } = merge(list.state.value, thread, filters, me.value?.reviewer ?? '')
  list.state.value = { ...list.state.value, ...loaded }
  // a decided thread is no longer a new arrival
  if (thread.thread_id === latest.value?.thread_id && thread.status !== 'pending_review')
    latest.value = undefined
  if (!arrived || type !== 'review.pending') return
  latest.value = thread
  fresh.value = new Set([...fresh.value, thread.thread_id])
  announce(`New: ${thread.risk} ${thread.tool_name} by ${thread.agent}`)
}

/** The newest arrival, which is shown separately because its row may be pages below. */
function Arrived() {
  const thread = latest.value
  return (
    <p class="arrived">
      {thread && (
        <a href={`#/thread/${thread.thread_id}`}>
          Just arrived: <RiskMark risk={thread.risk} /> {thread.tool_name}
        </a>
      )}
    </p>
  )
}

function AllDone() {
  return (
    <>
      <p class="big">You're all caught up.</p>
      <p class="quiet">New calls appear here by themselves.</p>
    </>
  )
}

function NothingHere() {
  return (
    <>
      <p class="big">Nothing here.</p>
      <p>
        {waiting.value} in all. <a href="#/queue">Show every waiting call</a>
      </p>
    </>
  )
}
