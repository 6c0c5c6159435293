import { Fragment } from 'preact'
import type { ThreadSummary } from '../../contract/reviewer.ts'
import { UndoRow } from '../outbox/undo-row.tsx'
import { List, move } from '../list/list.tsx'
import type { Filters } from '../route/filters.ts'
import { RISKS, RiskMark } from '../risk/risk-mark.tsx'
import { go, route } from '../route/router.ts'
import { neededOf, waiting } from '../session/counts.ts'
import { spoken } from '../text/because-text.ts'
import { announce } from '../shell/announce.tsx'
import { CALL, Heading } from '../shell/heading.tsx'
import { wide } from '../shell/preferences.ts'
import type { Row } from './equal-calls.ts'
import { FilterBar } from './filter-bar.tsx'
import { Item } from './item.tsx'
import {
  alikeTo,
  fromQueue,
  isOver,
  isUnfolded,
  loadQueue,
  moreOfQueue,
  needsMe,
  neighbour,
  news,
  openInstead,
  placeOf,
  queue,
  rows,
  sectionsOf,
  unfolded,
} from './queue-state.ts'

/** The open call; undefined when only the list is open. */
export const openCall = (): string | undefined => ('thread' in route.value ? route.value.thread : undefined)

/** Moves by one row. Beside a call, the next call opens; in a narrow window only the focus moves. */
export function stepBy(by: number): void {
  const from = openCall()
  if (from === undefined && !wide.value) return move(by)
  const next = neighbour(from, by)
  if (next !== undefined && fromQueue()) openRow(next)
}

/** Opens a call of the list, and leads to its row. */
export function openRow(next: ThreadSummary): void {
  openInstead(next.thread_id)
  const link = document.querySelector<HTMLElement>(`.item a[href="#/thread/${next.thread_id}"]`)
  link?.focus({ preventScroll: true })
  link?.scrollIntoView({ block: 'nearest' })
  const { at, of } = placeOf(next.thread_id)
  announce(`${at} of ${of}: ${next.risk}, ${spoken(next.heading.line)}, ${spoken(next.message)}`)
}

/** The live list of waiting calls. Nothing in it moves by itself. */
export function QueuePane({ filters }: { readonly filters: Filters }) {
  const { state } = queue
  const names = Object.keys(filters).filter((name) => name !== 'sort')
  const shown = names.length > 0
  const known = names.every((name) => name === 'risk')
    ? neededOf(RISKS.find((one) => one === filters.risk))
    : undefined
  return (
    <section class="pane list" aria-label="Queue">
      <div class="list-head">
        <Heading quiet={openCall() !== undefined}>Queue</Heading>
        <p class="small quiet">{needed(state.value.items, known)}</p>
        <FilterBar filters={filters}>
          <News />
        </FilterBar>
      </div>
      <div class="scroll" tabIndex={-1}>
        <List
          state={{ ...state.value, items: rows.value }}
          label="Waiting threads"
          name="the queue"
          rows={(all) => <Rows all={all} />}
          step={stepBy}
          more={moreOfQueue}
          retry={() => void loadQueue()}
          empty={shown ? <NothingHere /> : <AllDone />}
        />
      </div>
      {openCall() === undefined && <UndoRow />}
    </section>
  )
}

/** The number of the badge or of the filter by risk; with other filters, that of the list. */
function needed(items: readonly ThreadSummary[], known: string | undefined): string {
  const more = queue.state.value.cursor === undefined ? '' : '+'
  const count = known ?? `${items.filter(needsMe).length}${more}`
  return `${count} ${count === '1' ? 'needs' : 'need'} your vote`
}

/** The calls that arrived since the list was loaded. */
function News() {
  const { length } = news.value
  if (length === 0) return null
  const critical = news.value.filter(({ risk }) => risk === 'critical').length
  return (
    <button class={`small news${critical > 0 ? ' urgent' : ''}`} onClick={() => void loadQueue()}>
      {length} new{critical > 0 && `, ${critical} critical`}
      <span class="sr"> {length === 1 ? 'call' : 'calls'}, add to the list</span>{' '}
      <kbd aria-hidden="true">n</kbd>
    </button>
  )
}

function Rows({ all }: { readonly all: readonly Row[] }) {
  const current = openCall()
  const stop = all.find(({ first }) => first.thread_id === current)?.first ?? all[0]?.first
  return (
    <>
      {sectionsOf(all).map(({ of, rows: part }) => (
        <Fragment key={of}>
          {of !== '' && <Level of={of} count={part.length} />}
          <ol aria-labelledby={of === '' ? undefined : `level-${of}`}>
            {part.map((row) => (
              <Equal key={row.first.thread_id} {...row} current={current} stop={stop} named={of === ''} />
            ))}
          </ol>
        </Fragment>
      ))}
    </>
  )
}

function Level({ of, count }: { readonly of: string; readonly count: number }) {
  const risk = RISKS.find((one) => one === of)
  return (
    <h2 class="level" id={`level-${of}`}>
      {risk ? <RiskMark risk={risk} /> : 'Others decide'} <span>{count}</span>
    </h2>
  )
}

interface EqualProps extends Row {
  readonly named: boolean
  readonly current: string | undefined
  readonly stop: ThreadSummary | undefined
}

/** Equal calls in one row that unfolds. Each call is decided separately. */
function Equal({ first, others, current, stop, named }: EqualProps) {
  const open = isUnfolded(first)
  const toggle = (): void => {
    const next = new Set(unfolded.value)
    const key = first.equal ?? ''
    if (!next.delete(key)) next.add(key)
    unfolded.value = next
  }
  const count = [first, ...others].filter((one) => !isOver(one)).length
  const alike = alikeTo(first)
  const more = (
    <>
      {others.length > 0 && (
        <button class="tag" aria-expanded={open} onClick={toggle}>
          {open ? 'Fold' : `${count} equal`}
        </button>
      )}
      {alike.length > Math.max(count, 1) && alike[0] === first && (
        <button class="tag" onClick={() => go({ page: 'several', thread: first.thread_id })}>
          {alike.length} alike
        </button>
      )}
    </>
  )
  return (
    <>
      {[first, ...(open ? others : [])].map((thread) => (
        <Item
          key={thread.thread_id}
          thread={thread}
          current={thread.thread_id === current}
          stop={thread === stop}
          over={isOver(thread)}
          named={named || !thread.mine}
          more={thread === first && more}
          onOpen={(event) => enter(event, thread.thread_id)}
        />
      ))}
    </>
  )
}

/** A second press on the row of the open call leads into the call. */
function enter(event: MouseEvent, id: string): void {
  if (openCall() !== id) return
  event.preventDefault()
  document.getElementById(CALL)?.focus()
}

function AllDone() {
  return <h2>Nothing needs your vote; new calls appear here by themselves.</h2>
}

function NothingHere() {
  return (
    <>
      <h2>None of the {waiting.value} waiting calls fits these filters.</h2>
      <p class="acts">
        <a class="button" href="#/queue">
          Clear the filters
        </a>
      </p>
    </>
  )
}
