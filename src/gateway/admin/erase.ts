import { setImmediate as nextTurn } from 'node:timers/promises'
import { GatewayError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { readDisclosures } from '../../domain/disclosure.ts'
import { isAbout, namesToErase, payloadHas, type Selection } from '../../domain/erasure.ts'
import type { Holdable } from '../../domain/legal-hold.ts'
import { Ranges } from '../../domain/ranges.ts'
import type { Thread } from '../../domain/thread.ts'
import { payloadPath } from '../../policy/language/payload-path.ts'
import type { IndexEntry } from '../../store/store.ts'
import { ADMIN } from '../../domain/evidence.ts'
import type { Deps } from '../core/deps.ts'
import { disclosedEvents } from '../core/disclosures.ts'
import { record } from '../core/event-record.ts'
import { ALL, purgeAt } from '../core/expiry-index.ts'
import { type KnownLegalHolds, legalHoldsNow } from '../core/legal-holds.ts'
import { INDEX } from '../core/indexes.ts'
import { put, read, revisionId, unchanged, unlessBroken } from '../core/records.ts'
import { type Plan, storeCall, transact } from '../core/transact.ts'

/*
 * Erases what a selection names (docs/how-to/erase-data.md). A record of evidence comes first, as an intention that any
 * later run finishes. The log keeps its commitments, and each erased member leaves its hash.
 */

export interface Erasure {
  /** Records of evidence with erased members. */
  readonly records: number
  readonly members: number
  /** Deleted threads; those that still wait are withdrawn first. */
  readonly threads: number
  readonly waiting: number
  /** Times of the first and the last of these records, RFC 3339. */
  readonly since?: string
  readonly until?: string
}

interface Found extends Erasure {
  readonly ranges: Ranges
  readonly ids: readonly string[]
  /** The calls of the selection, each once. */
  readonly subjects: readonly Holdable[]
}

/** Counts the data that `erase` would delete now. */
export async function previewErasure(deps: Deps, tenant: string, selection: Selection): Promise<Erasure> {
  const {
    ranges: _,
    ids: __,
    subjects: ___,
    ...erasure
  } = await storeCall(() => find(deps, tenant, selection))
  return erasure
}

/**
 * Records the erasure and what it has to do, which `finishErasure` does. An earlier erasure must be finished.
 *
 * @throws GatewayError `not_found` for a selection without data, `under_legal_hold` when a legal hold covers a part of it
 */
export async function erase(
  deps: Deps,
  {
    tenant,
    selection,
    reason,
  }: { readonly tenant: string; readonly selection: Selection; readonly reason: string },
): Promise<Erasure> {
  const { ranges, ids, subjects, ...erasure } = await storeCall(() => find(deps, tenant, selection))
  if (erasure.records + erasure.threads === 0)
    throw new GatewayError('not_found', 'the gateway has no data of this selection')
  const parts = inParts(ranges.pairs())
  await transact(deps, tenant, async (): Promise<Plan<void>> => {
    const holds = await legalHoldsNow(deps, tenant)
    refuseHeld(holds, subjects)
    const now = deps.store.now()
    const state = { selection, threads: ids, deleted: ids, deliveries: false, records: ranges.pairs() }
    return {
      answer: undefined,
      guards: [unchanged('erasure', ALL, undefined), holds.guard],
      writes: [put('erasure', ALL, state), purgeAt('erasure', ALL, now)],
      evidence: parts.map((records, i) => {
        const members = i === 0 ? erasure.members - countIn(parts.slice(1).flat()) : countIn(records)
        const details = { members, reason, records, threads: i === 0 ? erasure.threads : 0 }
        return record(now, ADMIN, { tenant }, { type: 'disclosures.erased', details })
      }),
    }
  })
  return erasure
}

function refuseHeld(holds: KnownLegalHolds, subjects: readonly Holdable[]): void {
  for (const subject of subjects) {
    const hold = holds.over(subject)
    if (hold === undefined) continue
    const detail = `a legal hold keeps a part of this selection: ${hold.reason}`
    throw new GatewayError('under_legal_hold', detail)
  }
}

type Pairs = ReturnType<Ranges['pairs']>

/** Pairs of one record of evidence, which stays far below the limit of an entry in the log. */
const PAIRS = 1_000

const inParts = (pairs: Pairs): Pairs[] =>
  Array.from({ length: Math.max(1, Math.ceil(pairs.length / PAIRS)) }, (_, i) =>
    pairs.slice(i * PAIRS, (i + 1) * PAIRS),
  )

const countIn = (pairs: Pairs): number => pairs.reduce((sum, [first, last]) => sum + last - first + 1, 0)

const PAGE = 200

async function find(deps: Deps, tenant: string, selection: Selection): Promise<Found> {
  const threads = await threadsOf(deps, tenant, selection)
  const ids = new Set(threads.map(({ thread_id }) => thread_id))
  const subjects = new Subjects()
  for (const { thread_id, task_id, agent } of threads) subjects.add({ thread_id, task_id, agent })
  const ranges = new Ranges()
  let members = 0
  let times: { readonly since: string; readonly until: string } | undefined
  for (let after = 0; ;) {
    const events = await disclosedEvents(deps.store, tenant, after, PAGE)
    for (const { number, body, disclosures } of events) {
      const about = JSON.parse(body) as About
      subjects.note(about)
      const held = disclosures === undefined ? undefined : readDisclosures(disclosures)
      if (held === undefined) continue
      if (!isSelected(about, held.members, selection, ids)) continue
      const names = namesToErase(held.members, selection)
      if (names.length === 0) continue
      subjects.add(subjects.of(about))
      members += names.length
      ranges.add(number)
      times = { since: times?.since ?? about.at, until: about.at }
    }
    const last = events.at(-1)
    if (last === undefined) break
    after = last.number
    await nextTurn()
  }
  const waiting = threads.filter(({ status }) => status === 'pending_review').length
  const known = [...threads].map(({ thread_id }) => thread_id)
  const counts = { records: ranges.size, members, threads: known.length, waiting, ...times }
  return { ...counts, ranges, ids: known, subjects: subjects.all() }
}

/** The calls of a selection, and the agents of their threads. Only the first record of a thread is its agent's. */
class Subjects {
  readonly #agents = new Map<string, string>()
  readonly #all = new Map<string, Holdable>()

  note({ actor, thread_id }: About): void {
    if (actor.kind === 'agent' && thread_id !== undefined) this.#agents.set(thread_id, actor.id)
  }

  of({ actor, task_id = '', thread_id = '' }: About): Holdable {
    return { thread_id, task_id, agent: this.#agents.get(thread_id) ?? actor.id }
  }

  add(subject: Holdable): void {
    this.#all.set(JSON.stringify(subject), subject)
  }

  all(): Holdable[] {
    return [...this.#all.values()]
  }
}

/** The members of a record that say what it is about. */
interface About {
  readonly at: string
  readonly actor: { readonly kind: string; readonly id: string }
  readonly task_id?: string
  readonly thread_id?: string
}

function isSelected(
  { actor, task_id, thread_id }: About,
  members: JsonObject,
  selection: Selection,
  threads: Set<string>,
): boolean {
  const isOwn =
    'task_id' in selection
      ? task_id === selection.task_id
      : 'thread_id' in selection
        ? thread_id === selection.thread_id
        : 'agent' in selection
          ? actor.kind === 'agent' && actor.id === selection.agent
          : isAbout(members, { ...selection, path: payloadPath(selection.field) })
  // later records of a thread belong to it, also of a thread that was deleted before
  if (isOwn && thread_id !== undefined) threads.add(thread_id)
  return isOwn || (thread_id !== undefined && threads.has(thread_id))
}

/** Threads of the selection that are still in the store. */
async function threadsOf(deps: Deps, tenant: string, selection: Selection): Promise<Thread[]> {
  const found: Thread[] = []
  let after: IndexEntry | undefined
  do {
    const page = await deps.store.range(tenant, INDEX.threads, { limit: PAGE, ...(after && { after }) })
    for (const { member } of page) {
      const thread = await unlessBroken(read(deps.store, tenant, 'thread', member))
      if (thread !== 'broken' && thread !== undefined && (await isOf(deps, thread.value, selection)))
        found.push(thread.value)
    }
    after = page.at(-1)
    await nextTurn()
  } while (after !== undefined)
  return found
}

async function isOf(deps: Deps, thread: Thread, selection: Selection): Promise<boolean> {
  if ('task_id' in selection) return thread.task_id === selection.task_id
  if ('thread_id' in selection) return thread.thread_id === selection.thread_id
  if ('agent' in selection) return thread.agent === selection.agent
  const path = payloadPath(selection.field)
  if (path === undefined) return false
  for (let number = 1; number <= thread.revision; number++) {
    const revision = await read(deps.store, thread.tenant, 'revision', revisionId(thread.thread_id, number))
    if (revision !== undefined && payloadHas(revision.value.payload, path, selection.equals)) return true
  }
  return false
}
