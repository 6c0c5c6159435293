/** Formats for chats: a line of text, or a Microsoft Teams card. */
export type ChatFormat = 'chat' | 'teams'

/** Apps of chats (docs/chat.md). Their messages are rewritten, and may have buttons. */
export type ChatAppFormat = 'slack-app'
export const isChatApp = (format: string | undefined): format is ChatAppFormat => format === 'slack-app'

/** A call must fit each member. */
export interface OnlyCalls {
  readonly groups?: readonly string[]
  readonly risks?: readonly string[]
  readonly tools?: readonly string[]
}

/** A destination of webhooks. */
export interface Destination {
  readonly id: string
  readonly url: string
  /** The subscribed events; all when absent. */
  readonly events?: readonly string[]
  readonly payload: 'thin' | 'full'
  /** The chat format that replaces the event's JSON. */
  readonly format?: ChatFormat | ChatAppFormat
  /** The channel of an app, which posts and rewrites messages there. */
  readonly channel?: string
  /** The calls about which an app posts; all when absent. */
  readonly only?: OnlyCalls
  /** The current secret first, then an earlier secret, which also signs until it expires. */
  readonly secrets: readonly { readonly secret: string; readonly until?: number }[]
  readonly created_at: number
  readonly paused?: { readonly at: number; readonly reason: 'admin' | 'failing' | 'gone' }
  /** Time of the first failure since the last success, ms since 1970. */
  readonly failing_since?: number
}

/**
 * True when the destination receives such an event. A gone destination receives no events, and a paused destination
 * receives them later.
 */
export function subscribesTo({ events, paused }: Destination, event: string): boolean {
  return paused?.reason !== 'gone' && (events === undefined || events.includes(event))
}

const SHOWN_OF_SECRET = 4

/** True for messages to people, not to programs. */
export const isChat = (format: string | undefined): format is ChatFormat =>
  format === 'chat' || format === 'teams'

/**
 * The shortened URL of a chat, because anyone who knows the full URL can post there. The shortened URL is enough to
 * distinguish two chats.
 */
export function shownUrl({ url, format }: Pick<Destination, 'url' | 'format'>): string {
  return isChat(format) ? `${new URL(url).origin}/...${url.slice(-SHOWN_OF_SECRET)}` : url
}

export function secretsInForce({ secrets }: Destination, now: number): string[] {
  return secrets.filter(({ until }) => until === undefined || now < until).map(({ secret }) => secret)
}

/** Time without success after which a failing destination is paused. */
const FAILING_MS = 120 * 3_600_000

/** The destination after an attempt; the same object when the attempt changed nothing. */
export function afterTry(
  destination: Destination,
  outcome: 'success' | 'failure' | 'gone',
  now: number,
): Destination {
  if (outcome === 'success') {
    if (destination.failing_since === undefined) return destination
    const { failing_since: _, ...working } = destination
    return working
  }
  if (outcome === 'gone')
    return destination.paused?.reason === 'gone'
      ? destination
      : { ...destination, paused: { at: now, reason: 'gone' } }
  const { failing_since = now, paused } = destination
  const over = now - failing_since >= FAILING_MS && paused === undefined
  if (destination.failing_since !== undefined && !over) return destination
  return {
    ...destination,
    failing_since,
    ...(over ? { paused: { at: now, reason: 'failing' } as const } : {}),
  }
}
