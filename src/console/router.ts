import { signal } from '@preact/signals'
import { hashOf, type Route, routeOf } from './route.ts'

/** Where one is. The address is the truth; this follows it. */
export const route = signal<Route>({ page: 'queue', filters: {} })
/** The list one was in last, as it was narrowed: what was opened from it leads back there. */
export let list: Route = route.value

export function startRouter(): void {
  addEventListener('hashchange', follow)
  follow()
}

function follow(): void {
  const next = routeOf(location.hash)
  // a one-time token stays neither in the address nor in the history
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

/** Another address for the same page: filters are no steps to go back by. */
export function refine(next: Route): void {
  history.replaceState(null, '', hashOf(next))
  enter(next)
}
