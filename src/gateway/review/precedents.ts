import { setImmediate as nextTurn } from 'node:timers/promises'
import { defined } from '../../contract/defined.ts'
import { type JsonValue, pointerNames } from '../../contract/json.ts'
import type { LastApproved, Precedents } from '../../contract/precedents.ts'
import { canonicalJson } from '../../domain/digest.ts'
import type { Thread, Vote } from '../../domain/thread.ts'
import { payloadName } from '../../policy/language/fields.ts'
import type { Tenant } from '../../policy/language/snapshot.ts'
import { reviewerEntry } from '../auth/standing.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { isoTime } from '../core/event-record.ts'
import { storeCall } from '../core/transact.ts'
import { comparable, type Comparable, decidedBefore, nearlyEqual } from './decided.ts'
import { newerThatRan } from './newer.ts'
import { findThread } from './obstacles.ts'
import { nameOf } from './thread-summary.ts'

/** Earlier calls that a reviewer compares with a call. Both reads are bounded, and the page does not wait for them. */

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
    const [before, now] = await Promise.all([found, thread].map((one) => comparable(deps, caller, one)))
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
 * The last decisions on calls of the same tool that fired the same rules for the same first value. Also the last
 * rejections of equal and of nearly equal calls, and a newer call for the same subject that ran.
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
      return last === undefined ? [] : [{ thread_id: id, ...decisionOf(last, tenant) }]
    })
    const rejected = await rejections(deps, caller, thread, tenant)
    return {
      decisions,
      rejections: rejected,
      ...defined({ newer: await newerThatRan(deps, caller, thread) }),
    }
  })
}

function decisionOf({ reviewer, decision, comment, at }: Vote, tenant: Tenant | undefined) {
  return { reviewer, ...nameOf(tenant, reviewer), decision, at: isoTime(at), ...defined({ comment }) }
}

/** Rejected calls that are compared, and those compared in one turn of the event loop. */
const REJECTED = 50
const TOGETHER = 5

async function rejections(
  deps: Deps,
  caller: Caller,
  thread: Thread,
  tenant: Tenant | undefined,
): Promise<Precedents['rejections']> {
  const isRejected = ({ status, votes }: Thread): boolean =>
    status === 'rejected' && votes.at(-1)?.decision === 'reject'
  const rejected = await decidedBefore(deps, thread, isRejected, REJECTED)
  const now = rejected.length === 0 ? undefined : await comparable(deps, caller, thread)
  const found: Precedents['rejections'] = []
  for (let at = 0; now !== undefined && at < rejected.length && found.length < DECISIONS; at += TOGETHER) {
    if (at > 0) await nextTurn()
    const some = rejected.slice(at, at + TOGETHER)
    const calls = await Promise.all(some.map((one) => comparable(deps, caller, one)))
    for (const [i, { thread_id, agent, votes }] of some.entries()) {
      const [before, last] = [calls[i], votes.at(-1)]
      const differs = before && nearlyEqual(before, now)
      if (!differs || !last) continue
      const { decision: _, ...said } = decisionOf(last, tenant)
      found.push({ thread_id, agent, ...said, differs: differs.map((field) => textOf(field) ?? '') })
    }
  }
  return found.slice(0, DECISIONS)
}

type Field = NonNullable<LastApproved['call']>['fields'][number]

function fieldsOf(before: Comparable, now: Comparable): Field[] {
  const hidden = new Set([...before.masked, ...now.masked].map((pointer) => pointerNames(pointer)[0]))
  const names = [...new Set([...Object.keys(now.payload), ...Object.keys(before.payload)])].toSorted()
  return names.slice(0, FIELDS).map((name): Field => {
    const [old, current] = [before.payload[name], now.payload[name]]
    const same = old !== undefined && current !== undefined && canonicalJson(old) === canonicalJson(current)
    const field = payloadName([name])
    if (hidden.has(name)) return { field, hidden: true }
    return { field, same, ...defined({ before: textOf(old), now: textOf(current) }) }
  })
}

function textOf(value: JsonValue | undefined): string | undefined {
  if (value === undefined) return undefined
  const text = typeof value === 'string' ? value : canonicalJson(value)
  const characters = Array.from(text.slice(0, 2 * TEXT_CHARS + 2))
  return characters.length > TEXT_CHARS ? `${characters.slice(0, TEXT_CHARS).join('')}…` : text
}
