import type { Me } from '../../contract/session.ts'
import { needsVote } from '../session/counts.ts'
import { isAdmin } from '../session/session.ts'
import type { Page } from '../route/route.ts'
import { list, route } from '../route/router.ts'
import { link } from '../wire/stream.ts'
import { ProfileMenu } from './profile-menu.tsx'

const PAGES: readonly (readonly [Page, string])[] = [
  ['queue', 'Queue'],
  ['history', 'History'],
  ['policies', 'Policies'],
  ['agents', 'Agents'],
  ['webhooks', 'Webhooks'],
]

export function Header({ me }: { readonly me: Me }) {
  return (
    <header>
      <a class="brand" href="#/queue">
        <span aria-hidden="true" class="seal" />
        Countersign
      </a>
      <nav aria-label="Pages">
        {PAGES.filter(([page]) => page !== 'webhooks' || isAdmin()).map(([page, name]) => (
          <a key={page} href={`#/${page}`} aria-current={isHere(page) ? 'page' : undefined}>
            {name}
            {page === 'queue' && needsVote.value !== undefined && (
              <span class="count">{needsVote.value}</span>
            )}
          </a>
        ))}
      </nav>
      <Connection />
      <ProfileMenu me={me} />
    </header>
  )
}

/** True for the page that is open. A call belongs to the list from which it was opened. */
const isHere = (page: Page): boolean => ('thread' in route.value ? list.page : route.value.page) === page

function Connection() {
  const state = link.value
  if (state === 'connecting') return <span class="link" />
  return (
    <span class={`link ${state}`} role="status">
      {state === 'live' ? 'Live' : 'Connection lost: trying again'}
    </span>
  )
}
