/** What people read: a line of text, or a card of Microsoft Teams. */
export type ChatFormat = 'chat' | 'teams'

/** Somewhere that deliveries go to. */
export interface Destination {
  readonly id: string
  readonly url: string
  /** All when absent. */
  readonly events?: readonly string[]
  readonly payload: 'thin' | 'full'
  /** Instead of the event. */
  readonly format?: ChatFormat
  /** The current one first; an earlier one signs too until its time is over. */
  readonly secrets: readonly { readonly secret: string; readonly until?: number }[]
  readonly created_at: number
  readonly paused?: { readonly at: number; readonly reason: 'admin' | 'failing' | 'gone' }
  /** The first failure since the last success, ms since 1970. */
  readonly failing_since?: number
}

/** Is the destination told of such an event? One that is gone is told nothing any more; one that is paused, later. */
export function subscribesTo({ events, paused }: Destination, event: string): boolean {
  return paused?.reason !== 'gone' && (events === undefined || events.includes(event))
}

const SHOWN_OF_SECRET = 4

/** What it is told is for people, not for programs. */
export const isChat = (format: string | undefined): format is ChatFormat =>
  format === 'chat' || format === 'teams'

/** Whoever knows the URL of a chat can write into it, so people and evidence see no more than tells two of them apart. */
export function shownUrl({ url, format }: Pick<Destination, 'url' | 'format'>): string {
  return isChat(format) ? `${new URL(url).origin}/...${url.slice(-SHOWN_OF_SECRET)}` : url
}

export function secretsInForce({ secrets }: Destination, now: number): string[] {
  return secrets.filter(({ until }) => until === undefined || now < until).map(({ secret }) => secret)
}

/** Destinations that fail so long without a success are paused. */
const FAILING_MS = 120 * 3_600_000

/** The destination after a try, and whether it is another one than before. */
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
