import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect } from 'preact/hooks'
import { handleKeys, helpShown } from './keyboard/keyboard.ts'
import { countChange, countSoon, loadCounts, loadNeeded, needsVote } from './session/counts.ts'
import { startOutbox, undo } from './outbox/outbox.ts'
import { UndoRow } from './outbox/undo-row.tsx'
import { besides, queueFilters, ReviewPage } from './review/review-page.tsx'
import type { Page, Route } from './route/route.ts'
import { route } from './route/router.ts'
import { loadProblem, me, startSession } from './session/session.ts'
import { SignInPage } from './sign-in/sign-in.tsx'
import { LiveRegion } from './shell/announce.tsx'
import { Header } from './shell/header.tsx'
import { Help } from './shell/help.tsx'
import { Later } from './shell/later.tsx'
import { Missed } from './shell/missed.tsx'
import { badge } from './shell/icon.ts'
import { notify } from './shell/notify.ts'
import { ProblemNote } from './wire/problem.tsx'
import { listen } from './wire/stream.ts'

export function App() {
  const who = me.value
  document.title = who ? titleOf(route.value.page) : 'Countersign'
  if (loadProblem.value) return <Unreachable />
  const here = route.value
  if (who === null || (here.page === 'sign-in' && here.token)) return <SignInPage />
  if (who === undefined) return <main aria-busy="true" />
  return <SignedIn key={who.reviewer} />
}

/** The title of the tab: the number of calls that need the reviewer's vote, and the page. */
function titleOf(page: Page): string {
  const where =
    page === 'queue' || page === 'sign-in' ? '' : `${page.replace(/^./, (first) => first.toUpperCase())} · `
  return `${needsVote.value === undefined ? '' : `(${needsVote.value}) `}${where}Countersign`
}

function SignedIn() {
  const who = me.value
  useEffect(startOutbox, [])
  useEffect(() => badge(needsVote.value), [needsVote.value])
  useLayoutEffect(() => handleKeys({ undo }), [])
  useEffect(() => {
    void loadCounts()
    void loadNeeded()
    // the table opens without a connection, too
    severalPane().catch(() => {})
    return listen({
      changed: (change) => {
        countSoon()
        countChange(change)
        if (change.type === 'review.pending' && change.thread.mine) notify(change.thread)
      },
      stale: () => {
        countSoon()
        void loadNeeded()
      },
    })
  }, [])
  if (!who) return null
  const here = route.value
  const panes = here.page === 'queue' || 'thread' in here
  const main = panes ? (besides(here) ? 'two' : 'one') : undefined
  return (
    <div class={panes ? 'app' : undefined}>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Header me={who} />
      <main id="main" tabIndex={-1} class={main}>
        <div class="missed">
          <Missed />
          {!panes && <UndoRow />}
        </div>
        <Current />
      </main>
      <LiveRegion />
      <Helped />
    </div>
  )
}

const Helped = () => (helpShown.value ? <Help /> : null)

/** Moves the focus to the content without changing the fragment, which contains the address of the page. */
function skip(event: Event): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

function Current() {
  const here = route.value
  switch (here.page) {
    case 'thread':
      return <ReviewPage filters={queueFilters()} thread={here.thread} />
    case 'several':
      return (
        <ReviewPage
          filters={queueFilters()}
          thread={here.thread}
          several={(props) => later(here, severalPane, ({ SeveralPane }) => <SeveralPane {...props} />)}
        />
      )
    case 'queue':
      return <ReviewPage filters={here.filters} />
    case 'sign-in':
      return <ReviewPage filters={{}} />
    case 'history':
      return later(here, historyPage, ({ HistoryPage }) => <HistoryPage filters={here.filters} />)
    case 'policies':
      return later(here, policiesPage, ({ PoliciesPage }) => <PoliciesPage {...here} />)
    case 'playground':
      return later(here, playgroundPage, ({ PlaygroundPage }) => <PlaygroundPage link={here.link} />)
    case 'agents':
      return later(here, agentsPage, ({ AgentsPage }) => <AgentsPage />)
    case 'chats':
      return later(here, chatsPage, ({ ChatsPage }) => <ChatsPage proposal={here.proposal} />)
    case 'webhooks':
      return later(here, webhooksPage, ({ WebhooksPage }) => <WebhooksPage key={here.webhook} {...here} />)
  }
}

const later = <T,>({ page }: Route, load: () => Promise<T>, show: (loaded: T) => ComponentChildren) => (
  <Later key={page} name={page === 'playground' ? 'The playground' : 'The page'} load={load} show={show} />
)

const historyPage = () => import('./history/history-page.tsx')
const policiesPage = () => import('./policies/policies-page.tsx')
const playgroundPage = () => import('./playground/playground-page.tsx')
const agentsPage = () => import('./agents/agents-page.tsx')
const chatsPage = () => import('./chats/chats-page.tsx')
const webhooksPage = () => import('./webhooks/webhooks-page.tsx')
const severalPane = () => import('./several/several-pane.tsx')

function Unreachable() {
  return (
    <main id="main" class="door">
      <h1>Countersign</h1>
      {loadProblem.value && <ProblemNote problem={loadProblem.value} retry={() => void startSession()} />}
    </main>
  )
}
