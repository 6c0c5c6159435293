import type { Displayed } from '../../contract/review-requests.ts'
import type { ThreadView } from '../../contract/reviewer.ts'
import { defined } from '../../contract/defined.ts'
import { GatewayError } from '../../contract/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { LIMITS } from '../../contract/limits.ts'
import { canonicalJson, displayedDigest } from '../../domain/digest.ts'
import type { Thread } from '../../domain/thread.ts'
import { payloadName } from '../../policy/language/fields.ts'
import { payloadPath } from '../../policy/language/payload-path.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { read, revisionId, type RevisionRecord } from '../core/records.ts'
import { picturesOf, shownPayload } from './show-payload.ts'
import { placeOf, type Shown, warningsIn } from './text-warnings.ts'
import { lookedMs } from './view-time.ts'

/*
 * The parts of a revision that a reviewer must see before an approval, and the record of those that were on the screen
 * (docs/review-api.md).
 */

export interface Revisions {
  readonly record: RevisionRecord
  readonly previous: RevisionRecord | undefined
  readonly shown: Shown
}

/** The members of the digest that the gateway knows, and the parts to see. */
export function displayOf(
  { id: reviewer }: Pick<Caller, 'id'>,
  thread: Thread,
  revisions: Revisions,
): ThreadView['display'] {
  const { record } = revisions
  return {
    revision_digest: record.digest,
    bundle: record.policy_revision,
    level: thread.risk,
    reviewer,
    ...defined({ template: record.heading.template }),
    parts: [...(thread.raised ? ['raised'] : []), ...partsOf(revisions)],
  }
}

/** Reasons, hidden values, warnings and changes since the previous revision, as places, each once. */
function partsOf({ record, previous, shown }: Revisions): string[] {
  const places = new Set<string>()
  for (const { mode, because = [] } of record.fired)
    if (mode === 'enforced') for (const { field } of because) places.add(field)
  for (const place of notRead(record.payload)) places.add(place)
  for (const pointer of shown.masked) places.add(placeOf(record.payload, pointer))
  for (const { place } of warningsIn(record, shown))
    places.add(place.startsWith('payload') ? placeOf(record.payload, place.slice('payload'.length)) : place)
  if (previous) for (const place of changesIn(previous.payload, record.payload)) places.add(place)
  return bounded([...places].sort((a, b) => (a < b ? -1 : 1)))
}

/** The files of a command whose bytes the hook did not read (docs/hooks.md). */
function notRead({ files }: JsonObject): string[] {
  const all = Array.isArray(files) ? (files as readonly JsonValue[]) : []
  return all.flatMap((one, index) =>
    isObject(one) && one['sha256'] === 'not read' ? [payloadName(['files', index])] : [],
  )
}

function bounded(places: readonly string[]): string[] {
  const fitting: string[] = []
  let room = LIMITS.PLACES_BYTES / 2
  for (const place of places) {
    if (place.length > LIMITS.PART_CHARS || fitting.length === LIMITS.PARTS) continue
    room -= bytesOf([place])
    if (room >= 0) fitting.push(place)
  }
  return fitting.length === places.length ? fitting : [...fitting.slice(0, LIMITS.PARTS - 1), 'payload']
}

const bytesOf = (places: readonly string[]): number => Buffer.byteLength(JSON.stringify(places))

function* changesIn(before: JsonObject, after: JsonObject): Generator<string> {
  const textOf = (value: JsonValue | undefined): string | undefined =>
    value === undefined ? undefined : canonicalJson(value)
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
    if (textOf(before[name]) !== textOf(after[name])) yield payloadName([name])
}

/** The record of the display in a vote: its extent for the log, and the places beside the log. */
export interface Recorded {
  readonly extent: 'all' | 'some' | 'none'
  readonly display?: JsonObject & Required<Displayed>
}

/**
 * Checks the parts that a vote says were displayed. Parts to see count as unseen when the vote omits them.
 *
 * @throws GatewayError `invalid_request` for places that no record of evidence could hold, or that the call lacks
 * @throws GatewayError `stale_revision` for a digest of anything else than the current revision, and
 * `displayed_required` when the level requires that each part was seen
 */
export async function checkDisplayed(
  deps: Deps,
  caller: Caller,
  thread: Thread,
  { decision, displayed }: { readonly decision: string; readonly displayed?: Displayed | undefined },
): Promise<Recorded> {
  const isNeeded = thread.requirement.require_displayed === true && decision === 'approve'
  if (displayed === undefined) {
    if (isNeeded) throw required(thread, '`displayed`')
    return { extent: 'none' }
  }
  const tooMany = bytesOf([...displayed.seen, ...displayed.unseen]) > LIMITS.PLACES_BYTES
  if (tooMany) throw new GatewayError('invalid_request', 'the vote names too many long places')
  const revisions = await revisionsOf(deps, caller, thread)
  const { parts, ...known } = displayOf(caller, thread, revisions)
  const { thread_id, revision } = thread
  const seen = displayed.seen
  if (displayedDigest({ thread_id, revision, ...known, seen }) !== displayed.digest)
    throw new GatewayError(
      'stale_revision',
      'something else was displayed: look at the thread again before you vote',
    )
  requirePlaces([...seen, ...displayed.unseen], parts, revisions)
  const unseen = [...new Set([...parts, ...displayed.unseen])].filter((place) => !seen.includes(place))
  const needed = parts.filter((place) => !isOptional(deps, thread, revisions, place))
  const missing = needed.filter((place) => unseen.includes(place))
  if (isNeeded && missing.length > 0)
    throw required(thread, `that you see ${missing.slice(0, NAMED).join(', ')}`)
  const ms = displayed.ms ?? lookedMs(deps, caller, thread)
  const extent = missing.length === 0 ? 'all' : missing.length === needed.length ? 'none' : 'some'
  return { extent, display: { digest: displayed.digest, seen, unseen, ms } }
}

/** The display of a message that held these places, with a digest for the reviewer who clicked it. */
export async function displayIn(
  deps: Deps,
  caller: Caller,
  thread: Thread,
  { places, since }: { readonly places: readonly string[]; readonly since: number },
): Promise<Displayed> {
  const { parts, ...known } = displayOf(caller, thread, await revisionsOf(deps, caller, thread))
  const { thread_id, revision } = thread
  const seen = [...places]
  return {
    digest: displayedDigest({ thread_id, revision, ...known, seen }),
    seen,
    unseen: parts.filter((place) => !seen.includes(place)),
    ms: Math.max(0, deps.store.now() - since),
  }
}

/** Refuses other texts than places of the call as its reader sees it, because evidence keeps them. */
function requirePlaces(places: readonly string[], parts: readonly string[], { shown }: Revisions): void {
  const members = new Set(Object.keys(shown.payload).map((name) => payloadName([name])))
  const isPlace = (place: string): boolean => {
    if (place === 'payload' || members.has(place) || parts.includes(place)) return true
    const steps = payloadPath(place)
    return (
      steps !== undefined &&
      payloadName(steps) === place &&
      valueAt(shown.payload as JsonValue, steps) !== undefined
    )
  }
  const other = places.find((place) => !isPlace(place))
  if (other !== undefined)
    throw new GatewayError('invalid_request', '`displayed` names a place that the call does not have')
}

/** The value at these keys and indexes; undefined where the call has none. */
export function valueAt(
  value: JsonValue | undefined,
  [step, ...rest]: readonly (string | number)[],
): JsonValue | undefined {
  if (step === undefined) return value
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, step)) return undefined
  return Array.isArray(value) === (typeof step === 'number')
    ? valueAt((value as JsonObject)[step], rest)
    : undefined
}

/** The maximum number of missing parts that a refusal names. */
const NAMED = 5

const required = ({ risk }: Thread, what: string): GatewayError =>
  new GatewayError('displayed_required', `an approval of a call of ${risk} risk needs ${what}`)

/** True for a hidden value that the level does not ask reviewers to reveal. */
function isOptional(deps: Deps, { risk }: Thread, { record, shown }: Revisions, place: string): boolean {
  const isHidden = shown.masked.some((pointer) => placeOf(record.payload, pointer) === place)
  return isHidden && deps.policies.current()?.views[risk].reveal === 'optional'
}

export async function revisionsOf(deps: Deps, caller: Caller, thread: Thread): Promise<Revisions> {
  const { thread_id, tenant, revision } = thread
  const [record, previous] = await Promise.all(
    [revision, revision - 1].map((number) =>
      read(deps.store, tenant, 'revision', revisionId(thread_id, number)),
    ),
  )
  if (record === undefined) throw new TypeError('a thread without its revision')
  const shown = {
    ...shownPayload(deps, caller, thread, record.value),
    pictures: picturesOf(record.value),
  }
  return { record: record.value, previous: previous?.value, shown }
}
