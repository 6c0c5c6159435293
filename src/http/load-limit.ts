/** What one look at the gateway found. */
export interface Load {
  /** How long a turn of the event loop takes, weighted by time, ms: whatever arrives waits for the turn to end. A tick is the least. */
  readonly turnMs: number
  /** Mean time from the arrival of a request to its answer, ms; 0 when there were none. */
  readonly servedMs: number
  /** Most requests under way at once. */
  readonly most: number
}

/** What the limit is to keep. */
export interface Goals {
  readonly turnMs: number
  readonly servedMs: number
}

export const LOAD_LIMIT = {
  /** So many requests are always let in: a gateway that is slow for another reason goes on. */
  LEAST: 128,
  /** So many at the most: a burst is not an overload. */
  MOST: 512,
  TICK_MS: 5,
  TURN_MS: 15,
  /** Of the time that a call of the store may take: what takes longer is soon too late. */
  SERVED_SHARE: 0.25,
  LOOK_EVERY_MS: 50,
} as const

const SHRINK_AT_MOST = 0.5
const GROW = 1.2
/** Between this and 1 of a goal the limit stands still. */
const CALM = 0.8

/**
 * How many requests may be under way from now on. The queue of this server is not a list: it is what the event loop has taken in and not answered.
 * While a turn takes too long the processor is what is short, while answers do the store is; either way fewer at once serve as many in a second, sooner.
 * Answered requests a second are `limit / servedMs`, so the limit shrinks in proportion to what is too much, and from what was in use. What a step does to turns is
 * seen at once; what it does to answers, when those who came in after it are answered: the longer that takes, the smaller the steps.
 */
export function nextLimit(limit: number, { turnMs, servedMs, most }: Load, goals: Goals): number {
  const ofTurns = turnMs / goals.turnMs
  const ofAnswers = servedMs / goals.servedMs
  const pace = Math.min(1, LOAD_LIMIT.LOOK_EVERY_MS / servedMs)
  const shrink = Math.min(shareFor(ofTurns), shareFor(ofAnswers) ** pace)
  const next =
    shrink < 1
      ? Math.min(limit, most) * shrink
      : Math.max(ofTurns, ofAnswers) < CALM
        ? limit * GROW ** pace
        : limit
  return Math.min(LOAD_LIMIT.MOST, Math.max(LOAD_LIMIT.LEAST, Math.round(next)))
}

const shareFor = (strain: number): number => (strain > 1 ? Math.max(SHRINK_AT_MOST, 1 / strain) : 1)
