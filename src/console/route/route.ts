import type { DeliveryView } from '../../contract/webhook.ts'
import { type Filters, filtersOf, searchOf } from './filters.ts'

/** The page in the fragment of the address. */
export type Route =
  | { readonly page: 'queue' | 'history'; readonly filters: Filters }
  /** `filters` belong to the queue beside the call. */
  | { readonly page: 'thread'; readonly thread: string; readonly filters?: Filters }
  /** The calls that are alike, of which `thread` is one. */
  | { readonly page: 'several'; readonly thread: string; readonly filters?: Filters }
  /** `file` is a rule file, shown at a line. */
  | { readonly page: 'policies'; readonly file?: string; readonly line?: number }
  | { readonly page: 'agents' }
  /** `proposal` is the answer of the chat, which names the two accounts of a link. */
  | { readonly page: 'chats'; readonly proposal?: string }
  /** `link` names a recipe or contains a bundle (src/playground/link.ts). */
  | { readonly page: 'playground'; readonly link?: string }
  | { readonly page: 'webhooks'; readonly webhook?: string; readonly state?: DeliveryState }
  | { readonly page: 'sign-in'; readonly token?: string; readonly problem?: string }

export type Page = Route['page']
export type DeliveryState = DeliveryView['state']
export const DELIVERY_STATES: readonly DeliveryState[] = ['waiting', 'delivered', 'dead']

/** Reads a fragment. An unknown fragment leads to the queue. */
export function routeOf(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#?\/?/, '').split(/\?(.*)/s)
  const [page, rest = ''] = path.split(/\/(.*)/s)
  if (isOfCalls(page) && rest !== '') return callRoute(page, decoded(rest), filtersOf(search))
  const read = page !== undefined && Object.hasOwn(PAGES, page) ? PAGES[page] : undefined
  return read?.(rest, search) ?? { page: 'queue', filters: filtersOf(search) }
}

const PAGES: Readonly<Record<string, (rest: string, search: string) => Route>> = {
  history: (_, search) => ({ page: 'history', filters: filtersOf(search) }),
  policies: (_, search) => policiesRoute(new URLSearchParams(search)),
  agents: () => ({ page: 'agents' }),
  chats: (rest) => ({ page: 'chats', ...(rest !== '' && { proposal: rest }) }),
  playground: (_, search) => playgroundRoute(search),
  webhooks: (rest, search) => webhooksRoute(decoded(rest), new URLSearchParams(search).get('state')),
  'sign-in': (rest, search) => signInRoute(decoded(rest), new URLSearchParams(search).get('problem')),
}

const isOfCalls = (page: string | undefined): page is 'thread' | 'several' =>
  page === 'thread' || page === 'several'

function callRoute(page: 'thread' | 'several', thread: string, filters: Filters): Route {
  return { page, thread, ...(Object.keys(filters).length > 0 && { filters }) }
}

function policiesRoute(search: URLSearchParams): Route {
  const [file, line] = [search.get('file'), Number(search.get('line'))]
  return { page: 'policies', ...(file && { file }), ...(file && line > 0 && { line }) }
}

const playgroundRoute = (link: string): Route => ({ page: 'playground', ...(link !== '' && { link }) })

function signInRoute(token: string, problem: string | null): Route {
  return {
    page: 'sign-in',
    ...(token !== '' && { token }),
    ...(problem !== null && /^\w{1,40}$/.test(problem) && { problem }),
  }
}

function webhooksRoute(webhook: string, asked: string | null): Route {
  const state = DELIVERY_STATES.find((one) => one === asked)
  return { page: 'webhooks', ...(webhook !== '' && { webhook, ...(state && { state }) }) }
}

export function hashOf(route: Route): string {
  if ('thread' in route)
    return `#/${route.page}/${encodeURIComponent(route.thread)}${searchOf(route.filters ?? {})}`
  if (route.page === 'webhooks' && route.webhook !== undefined)
    return `#/webhooks/${encodeURIComponent(route.webhook)}${route.state ? `?state=${route.state}` : ''}`
  if (route.page === 'playground' && route.link !== undefined) return `#/playground?${route.link}`
  if (route.page === 'policies' && route.file !== undefined)
    return `#/policies?file=${encodeURIComponent(route.file)}${route.line ? `&line=${route.line}` : ''}`
  return `#/${route.page}${'filters' in route ? searchOf(route.filters) : ''}`
}

/** The page to which Escape leads. For a thread, this is the `list` from which the thread was opened. */
export function above(route: Route, list: Route): Route {
  if ('thread' in route) return list
  if (route.page === 'playground') return { page: 'policies' }
  return 'webhook' in route ? { page: 'webhooks' } : { page: 'queue', filters: {} }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
