import { signal } from '@preact/signals'
import { hashOf, type Route, routeOf } from './route.ts'

/** The current page. The value follows the address. */
export const route = signal<Route>({ page: 'queue', filters: {} })
/** The last list with its filters. Pages that were opened from the list lead back to it. */
export let list: Route = route.value

export function startRouter(): void {
  addEventListener('hashchange', follow)
  follow()
}

function follow(): void {
  const next = routeOf(location.hash)
  // keeps the one-time token out of the address and the history
  if (next.page === 'sign-in') history.replaceState(null, '', '#/queue')
  enter(next)
}

function enter(next: Route): void {
  if ('filters' in next) list = next
  route.value = next
}

export function go(next: Route): void {
  location.hash = hashOf(next)
}

/** Replaces the address of the same page, so that filters add no entries to the history. */
export function refine(next: Route): void {
  history.replaceState(null, '', hashOf(next))
  enter(next)
}
