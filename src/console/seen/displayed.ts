import type { Displayed } from '../../contract/review-requests.ts'
import type { ThreadView } from '../../contract/reviewer.ts'
import { becauseName, isWithin, WARNINGS } from '../text/because-text.ts'

/** The places of a revision that were on the screen, as far as the page knows. */
export interface Looked {
  readonly seen: ReadonlySet<string>
  readonly missing: readonly string[]
  /** The places of hidden values that were not revealed. */
  readonly hidden: readonly string[]
  readonly ms: number
}

const MOST = 200
const LONGEST = 320

/**
 * The record of the parts that were on the screen before a vote (docs/review-api.md). Undefined where the browser
 * computes no digests, which is the case for an address without TLS.
 */
export async function displayedOf(view: ThreadView, looked: Looked): Promise<Displayed | undefined> {
  if (globalThis.crypto?.subtle === undefined) return undefined
  const places = placesOf(view, looked)
  const seen = places.filter(([, was]) => was).map(([place]) => place)
  const unseen = places.filter(([, was]) => !was).map(([place]) => place)
  const { revision_digest, bundle, level, reviewer, template } = view.display
  const { thread_id, revision } = view
  // in the order of RFC 8785
  const text = JSON.stringify({
    bundle,
    level,
    reviewer,
    revision,
    revision_digest,
    seen,
    template,
    thread_id,
  })
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return { digest: hexOf(digest), seen, unseen, ms: Math.round(looked.ms) }
}

/** Each place, and whether it was on the screen: first the parts to see of the gateway, then those of the page. */
export function placesOf({ display }: Pick<ThreadView, 'display'>, looked: Looked): [string, boolean][] {
  const { seen, missing, hidden } = looked
  const whole = missing.length === 0
  const fields = [...seen].filter(isPlace)
  const wasSeen = (place: string): boolean =>
    !hidden.includes(place) &&
    (whole ||
      seen.has(becauseName(place)) ||
      fields.some((field) => isWithin(place, field)) ||
      (!isPlace(place) && seen.has(WARNINGS)))
  const all = new Set([...display.parts, ...fields, ...missing.filter(isPlace)])
  return [...all]
    .filter((place) => place.length <= LONGEST)
    .slice(0, MOST)
    .map((place) => [place, wasSeen(place) && !missing.includes(place)])
}

const isPlace = (name: string): boolean => name.startsWith('payload')

const hexOf = (bytes: ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')
