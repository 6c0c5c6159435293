import { defined } from '../../contract/defined.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { LastApproved, Precedents } from '../../contract/precedents.ts'
import { canonicalJson } from '../../domain/digest.ts'
import type { Thread } from '../../domain/thread.ts'
import { payloadName } from '../../policy/language/fields.ts'
import { reviewerEntry } from '../auth/standing.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { isoTime } from '../core/event-record.ts'
import { INDEX } from '../core/indexes.ts'
import { read, revisionId } from '../core/records.ts'
import { storeCall } from '../core/transact.ts'
import { readableThreads } from '../thread/thread-records.ts'
import { findThread } from './obstacles.ts'
import { shownPayload } from './show-payload.ts'
import { nameOf } from './thread-summary.ts'

/** Earlier calls that a reviewer compares with a call. Both reads are bounded, and the page does not wait for them. */

/** Decided calls of the tool that are looked at. */
const MOST = 200
const CHUNK = 50
const DECISIONS = 5
const FIELDS = 50
const TEXT_CHARS = 200

/**
 * The last approved call of the same agent and tool, field by field.
 *
 * @throws GatewayError `not_found`
 */
export async function lastApproved(deps: Deps, caller: Caller, thread_id: string): Promise<LastApproved> {
  reviewerEntry(deps.policies.current(), caller)
  const { value: thread } = await findThread(deps, caller.tenant, thread_id)
  return storeCall(async () => {
    const isApproved = (one: Thread): boolean =>
      one.agent === thread.agent && one.approval !== undefined && one.approval.rules === undefined
    const [found] = await decidedBefore(deps, thread, isApproved, 1)
    if (found === undefined) return {}
    const [before, now] = await Promise.all([found, thread].map((one) => revisionOf(deps, caller, one)))
    if (before === undefined || now === undefined) return {}
    const { votes, revision } = found
    const approvals = votes.filter((one) => one.decision === 'approve' && one.revision === revision)
    const tenant = deps.policies.current()?.directory.tenants.get(thread.tenant)
    const by = approvals.map(({ reviewer }) => nameOf(tenant, reviewer).name ?? reviewer)
    const at = isoTime(found.approval?.at ?? found.created_at)
    return { call: { thread_id: found.thread_id, at, by, fields: fieldsOf(before, now) } }
  })
}

/**
 * The last decisions on calls of the same tool that fired the same rules for the same first value.
 *
 * @throws GatewayError `not_found`
 */
export async function precedents(deps: Deps, caller: Caller, thread_id: string): Promise<Precedents> {
  reviewerEntry(deps.policies.current(), caller)
  const { value: thread } = await findThread(deps, caller.tenant, thread_id)
  const reason = canonicalJson([thread.rules_digest, (thread.because ?? null) as JsonValue])
  const isEqual = (one: Thread): boolean =>
    one.status !== 'pending_review' &&
    canonicalJson([one.rules_digest, (one.because ?? null) as JsonValue]) === reason
  return storeCall(async () => {
    const found = await decidedBefore(deps, thread, isEqual, DECISIONS)
    const tenant = deps.policies.current()?.directory.tenants.get(thread.tenant)
    const decisions = found.flatMap(({ thread_id: id, votes }) => {
      const last = votes.at(-1)
      if (last === undefined) return []
      const { reviewer, decision, comment, at } = last
      const who = { reviewer, ...nameOf(tenant, reviewer) }
      return [{ thread_id: id, ...who, decision, at: isoTime(at), ...defined({ comment }) }]
    })
    return { decisions }
  })
}

/** Other decided calls of the tool that fit, latest first. */
async function decidedBefore(
  deps: Deps,
  { tenant, tool, thread_id }: Thread,
  fits: (thread: Thread) => boolean,
  most: number,
): Promise<Thread[]> {
  const bounds = { reverse: true, limit: MOST }
  const entries = await deps.store.range(tenant, INDEX.decided(tool), bounds)
  const ids = entries.map(({ member }) => member).filter((id) => id !== thread_id)
  const found: Thread[] = []
  for (let at = 0; at < ids.length && found.length < most; at += CHUNK)
    found.push(...(await readableThreads(deps, tenant, ids.slice(at, at + CHUNK))).filter(fits))
  return found.slice(0, most)
}

interface Shown {
  readonly payload: JsonObject
  readonly shown: JsonObject
  /** Names of members that are hidden, or that have a hidden part. */
  readonly hidden: ReadonlySet<string>
}

async function revisionOf(deps: Deps, caller: Caller, thread: Thread): Promise<Shown | undefined> {
  const { tenant, thread_id, revision } = thread
  const record = await read(deps.store, tenant, 'revision', revisionId(thread_id, revision))
  if (record === undefined) return undefined
  const { payload } = record.value
  const { payload: shown, masked } = shownPayload(deps, caller, thread, record.value)
  const hidden = masked.map((pointer) =>
    (pointer.split('/')[1] ?? '').replaceAll('~1', '/').replaceAll('~0', '~'),
  )
  return { payload, shown: shown as JsonObject, hidden: new Set(hidden) }
}

type Field = NonNullable<LastApproved['call']>['fields'][number]

function fieldsOf(before: Shown, now: Shown): Field[] {
  const names = [...new Set([...Object.keys(now.payload), ...Object.keys(before.payload)])].toSorted()
  return names.slice(0, FIELDS).map((name): Field => {
    const [old, current] = [before.payload[name], now.payload[name]]
    const same = old !== undefined && current !== undefined && canonicalJson(old) === canonicalJson(current)
    const field = payloadName([name])
    if (before.hidden.has(name) || now.hidden.has(name)) return { field, hidden: true }
    return { field, same, ...defined({ before: textOf(before.shown[name]), now: textOf(now.shown[name]) }) }
  })
}

function textOf(value: JsonValue | undefined): string | undefined {
  if (value === undefined) return undefined
  const text = typeof value === 'string' ? value : canonicalJson(value)
  const characters = Array.from(text.slice(0, 2 * TEXT_CHARS + 2))
  return characters.length > TEXT_CHARS ? `${characters.slice(0, TEXT_CHARS).join('')}…` : text
}
