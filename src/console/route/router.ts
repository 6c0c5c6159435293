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
  const whole = withList(next)
  if (whole !== next) history.replaceState(null, '', hashOf(whole))
  enter(whole)
}

/** The address of a call with the filters of the queue beside it, so that a reload and a bookmark keep them. */
function withList(next: Route): Route {
  if (!('thread' in next) || next.filters || list.page !== 'queue') return next
  const { filters } = list
  return Object.keys(filters).length > 0 ? { ...next, filters } : next
}

/** The table of several calls from which a call was opened. */
export let table: Route | undefined

/** The page that was open before the sign-in page. */
export let before: Route = route.value

function enter(next: Route): void {
  if (next.page !== 'sign-in') before = next
  if (next.page !== 'thread') table = next.page === 'several' ? next : undefined
  if (next.page === 'queue' || next.page === 'history') list = next
  else if ('thread' in next && next.filters) list = { page: 'queue', filters: next.filters }
  route.value = next
}

export function go(next: Route): void {
  location.hash = hashOf(withList(next))
}

/** Replaces the address of the same page, so that filters add no entries to the history. */
export function refine(next: Route): void {
  const whole = withList(next)
  history.replaceState(null, '', hashOf(whole))
  enter(whole)
}
