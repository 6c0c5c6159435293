import { useLayoutEffect } from 'preact/hooks'
import { List } from '../list/list.tsx'
import { takenBack } from '../outbox/outbox.ts'
import { type Filters, queryOf } from '../route/filters.ts'
import { hashOf } from '../route/route.ts'
import { addressOf, createThreads } from '../queue/threads.ts'
import { Heading } from '../shell/heading.tsx'
import { AgentText } from '../text/agent-text.tsx'
import { Ago } from '../time/countdown.tsx'
import { EndedRow } from './ended-row.tsx'
import { SearchForm, UNREPORTED } from './search-form.tsx'
import { Unreported } from './unreported.tsx'

const list = createThreads()

/** The threads that have ended, or those on which the reviewer voted, searched by words and by fields. */
export function HistoryPage({ filters }: { readonly filters: Filters }) {
  const mine = filters.voted === 'me'
  const shown: Filters = mine || filters.status ? filters : { ...filters, status: 'ended' }
  const isLate = filters.status === UNREPORTED
  const load = (): void => void (isLate || list.load(addressOf(shown)))
  // loads before the first paint, like the queue
  useLayoutEffect(load, [queryOf(shown)])
  return (
    <>
      <div class="title">
        <Heading>History</Heading>
        <p class="quiet small">
          The calls that have ended. The others wait in the <a href="#/queue">queue</a>.
        </p>
      </div>
      <div class="tabs" role="navigation" aria-label="Parts of the history">
        <Tab filters={{}} name="All" here={!mine} />
        <Tab filters={{ voted: 'me' }} name="My votes" here={mine} />
      </div>
      <SearchForm filters={filters} />
      {mine && <TakenBack />}
      {isLate ? (
        <Unreported />
      ) : (
        <List
          state={list.state.value}
          label="Threads"
          name="the history"
          rows={(all) => (
            <ol class="ended">
              {all.map((thread) => (
                <EndedRow key={thread.thread_id} thread={thread} />
              ))}
            </ol>
          )}
          more={list.more}
          retry={load}
          empty={<h2>Nothing that has ended fits this search.</h2>}
        />
      )}
    </>
  )
}

interface TabProps {
  readonly filters: Filters
  readonly name: string
  readonly here: boolean
}

const Tab = ({ filters, name, here }: TabProps) => (
  <a href={hashOf({ page: 'history', filters })} aria-current={here ? 'page' : undefined}>
    {name}
  </a>
)

const WORDS = { approve: 'approval', reject: 'rejection', request_changes: 'request for changes' } as const

/** The votes of this tab that never reached the gateway. */
function TakenBack() {
  if (takenBack.value.length === 0) return null
  return (
    <ul class="plain small taken">
      {takenBack.value.map(({ thread, line, decision, at }) => (
        <li key={at}>
          <span class="status">taken back</span> You took your {WORDS[decision]} back:{' '}
          <a href={`#/thread/${thread}`}>
            <AgentText text={line} />
          </a>{' '}
          <Ago at={at} />
        </li>
      ))}
    </ul>
  )
}
