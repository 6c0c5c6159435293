import { setImmediate as nextTurn } from 'node:timers/promises'
import { GatewayError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { readDisclosures } from '../../domain/disclosure.ts'
import { type FieldValue, hasValue, isAbout, namesToErase, type Selection } from '../../domain/erasure.ts'
import type { Holdable } from '../../domain/legal-hold.ts'
import type { Thread } from '../../domain/thread.ts'
import { readFieldValue } from '../../policy/language/field-value.ts'
import { payloadPath } from '../../policy/language/payload-path.ts'
import type { IndexEntry } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { disclosedEvents } from '../core/disclosures.ts'
import { callKey } from '../core/event-record.ts'
import { INDEX } from '../core/indexes.ts'
import { read, revisionId, unlessBroken } from '../core/records.ts'

/** Finds the data of a selection: in the log, beside it, and in threads. */

/** A selection, in which a field has its canonical name and, if it is in the payload, its path. */
type Target = Exclude<Selection, { readonly field: string }> | FieldValue

/** @throws GatewayError `invalid_request` for a name that is no field */
export function targetOf(selection: Selection): Target {
  if (!('field' in selection)) return selection
  const value = readFieldValue(selection.field, selection.equals)
  if (typeof value !== 'string') return value
  const errors = [{ pointer: '/field', message: value }]
  throw new GatewayError('invalid_request', 'the request does not fit the contract', { errors })
}

/** The place up to which the data was searched, and the threads of the selection, with their agents where known. */
export interface Start {
  readonly after: number
  readonly afterThread: IndexEntry | undefined
  readonly threads: ReadonlyMap<string, string | undefined>
}

export const startOf = (): Start => ({ after: 0, afterThread: undefined, threads: new Map() })

export interface Found {
  /** In order. `members`: the number of members to erase. */
  readonly records: readonly {
    readonly number: number
    readonly members: number
    /** The key of a call without a thread. */
    readonly call?: string
  }[]
  /** All threads of the selection, also those that are deleted already. */
  readonly threads: readonly string[]
  /** Those of them that are still in the store. */
  readonly existing: ReadonlySet<string>
  readonly waiting: number
  /** Times of the first and the last record, RFC 3339. */
  readonly times: { readonly since: string; readonly until: string } | undefined
  /** The calls of the selection, each once. */
  readonly subjects: readonly Holdable[]
  readonly next: Start
}

interface Search {
  readonly target: Target
  readonly from: Start
  /** True to leave out records that are only in tiles. */
  readonly inStore: boolean
  /** Calls after this time, ms since 1970, are not part of the selection; later records of its threads are. */
  readonly until?: number
}

const PAGE = 200

export async function findErasable(deps: Deps, tenant: string, search: Search): Promise<Found> {
  const { target, from } = search
  const threads = new Map(from.threads)
  const { found, last: afterThread } = await threadsOf(deps, tenant, search)
  const existing = new Map(found.map((thread) => [thread.thread_id, thread]))
  for (const { thread_id, agent } of found) threads.set(thread_id, agent)
  if ('thread_id' in target && !threads.has(target.thread_id)) threads.set(target.thread_id, undefined)
  const log = await searchLog(deps, tenant, { ...search, threads })
  const fresh = [...threads.keys()].filter((id) => !from.threads.has(id))
  // threads that only their records of evidence name
  for (const id of fresh) {
    const thread = existing.has(id) ? undefined : await unlessBroken(read(deps.store, tenant, 'thread', id))
    if (thread !== 'broken' && thread !== undefined) existing.set(id, thread.value)
  }
  const subjects = new Map<string, Holdable>()
  for (const { thread_id, task_id, agent } of [...log.subjects, ...existing.values()])
    subjects.set(JSON.stringify([thread_id, task_id, agent]), { thread_id, task_id, agent })
  return {
    records: log.records,
    threads: fresh,
    existing: new Set(existing.keys()),
    waiting: [...existing.values()].filter(({ status }) => status === 'pending_review').length,
    times: log.times,
    subjects: [...subjects.values()],
    next: { after: log.after, afterThread, threads },
  }
}

interface LogSearch extends Search {
  /** Gets the threads of the selection. */
  readonly threads: Map<string, string | undefined>
}

/** The records of the selection with members to erase. */
async function searchLog(
  deps: Deps,
  tenant: string,
  search: LogSearch,
): Promise<Pick<Found, 'records' | 'times' | 'subjects'> & { readonly after: number }> {
  const records: Found['records'][number][] = []
  const subjects = new Map<string, Holdable>()
  let times: Found['times']
  let after = await beginOf(deps, tenant, search)
  for (;;) {
    const events = await disclosedEvents(deps.store, tenant, after, PAGE)
    for (const { number, body, disclosures } of events) {
      const about = JSON.parse(body) as About
      const members = membersOf(disclosures)
      if (!isSelected(about, members, search)) continue
      const names = namesToErase(members, search.target)
      if (names.length === 0) continue
      const call = callOf(about, search.threads)
      subjects.set(JSON.stringify(call), call)
      records.push({
        number,
        members: names.length,
        ...(about.thread_id === undefined && { call: keyOf(about) }),
      })
      times = { since: times?.since ?? about.at, until: about.at }
    }
    const last = events.at(-1)
    if (last === undefined) return { records, times, subjects: [...subjects.values()], after }
    after = last.number
    await nextTurn()
  }
}

/** The records of a thread begin at its first mark. Earlier ones are not read: they may be in tiles that are away. */
async function beginOf(deps: Deps, tenant: string, { target, from, inStore }: Search): Promise<number> {
  if (from.after > 0) return from.after
  if (inStore) return (await deps.store.firstEvent(tenant)) - 1
  if (!('thread_id' in target)) return 0
  const [first] = await deps.store.range(tenant, INDEX.evidence(target.thread_id), { limit: 1 })
  return first === undefined ? 0 : first.score - 1
}

const membersOf = (disclosures: string | undefined): JsonObject =>
  (disclosures === undefined ? undefined : readDisclosures(disclosures)?.members) ?? {}

const keyOf = ({ at, actor, task_id }: About): string => callKey(at, actor.id, task_id)

const callOf = ({ task_id = '', thread_id = '', actor }: About, threads: Start['threads']): Holdable => ({
  thread_id,
  task_id,
  agent: threads.get(thread_id) ?? actor.id,
})

/** The members of a record that say what it is about. */
interface About {
  readonly at: string
  readonly actor: { readonly kind: string; readonly id: string }
  readonly task_id?: string
  readonly thread_id?: string
}

/** Notes the thread of a selected record, because later records of a thread belong to it. */
function isSelected(
  about: About,
  members: JsonObject,
  { target, threads, until = Infinity }: LogSearch,
): boolean {
  const { at, actor, thread_id } = about
  const isLater = thread_id !== undefined && threads.has(thread_id)
  if (!isLater && !(Date.parse(at) <= until && isOf(target, about, members))) return false
  if (thread_id !== undefined && threads.get(thread_id) === undefined)
    threads.set(thread_id, actor.kind === 'agent' ? actor.id : undefined)
  return true
}

function isOf(target: Target, { actor, task_id, thread_id }: About, members: JsonObject): boolean {
  if ('task_id' in target) return task_id === target.task_id
  if ('thread_id' in target) return thread_id === target.thread_id
  if ('agent' in target) return actor.kind === 'agent' && actor.id === target.agent
  return isAbout(members, target, payloadPath)
}

/** Threads of the selection that are still in the store, in the order of their creation. */
async function threadsOf(
  deps: Deps,
  tenant: string,
  { target, from, until }: Search,
): Promise<{ readonly found: readonly Thread[]; readonly last: IndexEntry | undefined }> {
  const found: Thread[] = []
  let last = from.afterThread
  for (;;) {
    const bounds = { limit: PAGE, ...(last && { after: last }), ...(until !== undefined && { max: until }) }
    const page = await deps.store.range(tenant, INDEX.threads, bounds)
    for (const { member } of page) {
      const thread = await unlessBroken(read(deps.store, tenant, 'thread', member))
      if (thread !== 'broken' && thread !== undefined && (await isThreadOf(deps, thread.value, target)))
        found.push(thread.value)
    }
    if (page.length === 0) return { found, last }
    last = page.at(-1)
    await nextTurn()
  }
}

async function isThreadOf(deps: Deps, thread: Thread, target: Target): Promise<boolean> {
  if ('task_id' in target) return thread.task_id === target.task_id
  if ('thread_id' in target) return thread.thread_id === target.thread_id
  if ('agent' in target) return thread.agent === target.agent
  const { path, equals } = target
  if (path === undefined) return false
  for (let number = 1; number <= thread.revision; number++) {
    const revision = await read(deps.store, thread.tenant, 'revision', revisionId(thread.thread_id, number))
    if (revision !== undefined && hasValue(revision.value.payload, path, equals)) return true
  }
  return false
}
