import type { JsonObject } from '../../contract/json.ts'
import { readDisclosures, withoutMembers } from '../../domain/disclosure.ts'
import { hasValue, namesToErase } from '../../domain/erasure.ts'
import { TIMER } from '../../domain/evidence.ts'
import type { Range } from '../../events/record/field.ts'
import { mayCover } from '../../domain/legal-hold.ts'
import type { Thread } from '../../domain/thread.ts'
import { readFieldValue } from '../../policy/language/field-value.ts'
import type { Guard, Write } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { disclosedEvents } from '../core/disclosures.ts'
import type { EvidenceRecord } from '../core/event-record.ts'
import { ALL, neverPurge, purgeAt } from '../core/expiry-index.ts'
import { freezesNow } from '../core/freezes.ts'
import { INDEX } from '../core/indexes.ts'
import { legalHoldsNow } from '../core/legal-holds.ts'
import { put, read, type Records, remove, unchanged, unlessBroken, type Versioned } from '../core/records.ts'
import { type Plan, storeCall, transact } from '../core/transact.ts'
import { endOfReview } from '../thread/close-thread.ts'
import { settleThread } from '../thread/settle-thread.ts'
import { deletionOf } from './forget-threads.ts'

/*
 * The steps of an erasure that its record of evidence has announced: threads, then deliveries, then disclosures. Each
 * step is one commit that guards the state of the erasure. Any instance can therefore continue after a crash.
 */

type State = Records['erasure']

/** Records of one commit. */
const TOGETHER = 50
/** Deliveries that one step looks at. */
const PAGE = 500
/** Steps of one round of the timer. */
const STEPS = 50
/** Time after which another instance continues, ms. */
const LEASE_MS = 5_000

/** Finishes the part that has begun, if any. @throws GatewayError as `transact` does */
export async function finishErasure(deps: Deps, tenant: string): Promise<void> {
  while (await isUnfinished(deps, tenant)) await transact(deps, tenant, () => eraseSome(deps, tenant))
}

/** The timer's part: some steps of the erasure of an instance that has ended. */
export async function resumeErasure(deps: Deps, tenant: string): Promise<Plan<void>> {
  for (let steps = 0; steps < STEPS && (await isUnfinished(deps, tenant)); steps++)
    await transact(deps, tenant, () => eraseSome(deps, tenant))
  const known = await read(deps.store, tenant, 'erasure', ALL)
  return {
    answer: undefined,
    guards: [unchanged('erasure', ALL, known)],
    writes: [known === undefined ? neverPurge('erasure', ALL) : purgeAt('erasure', ALL, deps.store.now())],
  }
}

const isUnfinished = async (deps: Deps, tenant: string): Promise<boolean> =>
  (await storeCall(() => read(deps.store, tenant, 'erasure', ALL))) !== undefined

/** Does the next step. */
async function eraseSome(deps: Deps, tenant: string): Promise<Plan<void>> {
  const known = await read(deps.store, tenant, 'erasure', ALL)
  if (known === undefined) return { answer: undefined }
  const { threads, deliveries, records } = known.value
  const holds = await holdsSince(deps, tenant, known.value)
  if (threads.length > 0) return eraseThread(deps, tenant, { known, holds })
  const [destination] = deliveries.destinations
  if (destination !== undefined) return eraseDeliveries(deps, tenant, { known, holds, destination })
  if (records.length > 0) return eraseRecords(deps, tenant, { known, holds })
  return {
    answer: undefined,
    guards: [unchanged('erasure', ALL, known)],
    writes: [remove('erasure', ALL), neverPurge('erasure', ALL)],
  }
}

/** Legal holds since the part began, which keep the data that is still there. Earlier ones were checked before. */
interface LaterHolds {
  readonly keep: (data: Parameters<typeof mayCover>[1]) => boolean
  readonly guard: Guard
}

async function holdsSince(deps: Deps, tenant: string, { begun_at }: State): Promise<LaterHolds> {
  const { all, guard } = await legalHoldsNow(deps, tenant)
  const later = all.holds.filter(({ at }) => at >= begun_at)
  return { guard, keep: (data) => later.some((hold) => mayCover(hold, data)) }
}

interface Step {
  readonly known: Versioned<State>
  readonly holds: LaterHolds
}

/** The plan with the next state of the erasure. */
function continued(
  deps: Deps,
  known: Versioned<State>,
  next: Partial<State>,
  plan: Partial<Plan<void>>,
): Plan<void> {
  return {
    ...plan,
    answer: undefined,
    guards: [unchanged('erasure', ALL, known), ...(plan.guards ?? [])],
    writes: [
      ...(plan.writes ?? []),
      put('erasure', ALL, { ...known.value, ...next }),
      purgeAt('erasure', ALL, deps.store.now() + LEASE_MS),
    ],
  }
}

/** Ends the next thread if it still waits, and deletes it if it is over. */
async function eraseThread(deps: Deps, tenant: string, { known, holds }: Step): Promise<Plan<void>> {
  const { threads } = known.value
  let looked = 0
  let found: Versioned<Thread> | undefined
  for (const id of threads.slice(0, PAGE)) {
    looked += 1
    found = await read(deps.store, tenant, 'thread', id)
    if (found !== undefined) break
  }
  const rest = { threads: threads.slice(looked) }
  if (found === undefined) return continued(deps, known, rest, {})
  if (holds.keep(found.value)) return continued(deps, known, rest, { guards: [holds.guard] })
  const ended = await endOf(deps, found)
  const { guards = [], writes = [], evidence = [] } = ended ?? (await deletionPlan(deps, tenant, found))
  const isGone = writes.some((write) => write.op === 'delete' && write.type === 'thread')
  if (isGone) deps.threads.delete(found.value.thread_id)
  // no notices: a notice has the heading or the payload of the call
  const plan = { guards: [holds.guard, ...guards], writes, evidence }
  return continued(deps, known, isGone ? rest : {}, plan)
}

async function deletionPlan(deps: Deps, tenant: string, found: Versioned<Thread>): Promise<Plan<void>> {
  const { thread_id: id, created_at, approval } = found.value
  const forgotten = await read(deps.store, tenant, 'forgotten', ALL)
  const opened_until = Math.max(forgotten?.value.opened_until ?? 0, created_at)
  const hash = approval?.token_hash
  return {
    answer: undefined,
    guards: [unchanged('thread', id, found), unchanged('forgotten', ALL, forgotten)],
    writes: [
      ...(await deletionOf(deps, found.value)),
      ...(hash === undefined ? [] : [remove('token', hash), neverPurge('token', hash)]),
      { op: 'index', index: INDEX.due, member: id },
      put('forgotten', ALL, { opened_until }),
    ],
  }
}

/** The end of a thread on which an agent or a reviewer could still act; undefined for a thread that is over. */
async function endOf(deps: Deps, found: Versioned<Thread>): Promise<Plan<Thread> | undefined> {
  const { status, approval } = found.value
  if (status === 'rejected' || approval?.collected_at !== undefined) return undefined
  const settled = await settleThread(deps, found, await freezesNow(deps, found.value.tenant))
  if (settled !== undefined) return settled
  return endOfReview(found, {
    trigger: 'withdraw',
    event: { type: 'review.withdrawn', reason: undefined },
    actor: TIMER,
    message: 'withdrawn: the data of the call was erased',
    at: deps.store.now(),
  })
}

/** Deletes deliveries about the selection, whether they arrived or not. */
async function eraseDeliveries(
  deps: Deps,
  tenant: string,
  { known, holds, destination }: Step & { readonly destination: string },
): Promise<Plan<void>> {
  const { deleted, calls, deliveries } = known.value
  const { after } = deliveries
  const index = INDEX.deliveries(destination)
  const page = await deps.store.range(tenant, index, { limit: PAGE, ...(after && { after }) })
  const found = new Set([...deleted, ...calls])
  const writes: Write[] = []
  for (const { member } of page) {
    const delivery = await unlessBroken(read(deps.store, tenant, 'delivery', member))
    if (delivery === undefined || delivery === 'broken') continue
    const { agent_id: agent, task_id, thread_id = '' } = delivery.value
    if (!concerns(delivery.value, known.value, found)) continue
    if (holds.keep({ agent, task_id, thread_id })) continue
    writes.push(
      remove('delivery', member),
      { op: 'index', index, member },
      { op: 'index', index: INDEX.outbox(destination), member },
      neverPurge('delivery', member),
    )
  }
  const last = page.at(-1)
  const next =
    last === undefined
      ? { destinations: deliveries.destinations.slice(1) }
      : { destinations: deliveries.destinations, after: last }
  return continued(deps, known, { deliveries: next }, { guards: [holds.guard], writes })
}

/** True for a delivery of the selection. Its text is not searched: a chat's text is cut, and has other characters. */
function concerns(delivery: Records['delivery'], state: State, found: ReadonlySet<string>): boolean {
  const { agent_id, task_id, thread_id = '', call = '', body } = delivery
  const { selection } = state
  // a delivery to an app of a chat holds nothing of the call, and takes the call out of the chat
  if (body === '') return false
  if (found.has(thread_id) || found.has(call)) return true
  if ('agent' in selection) return agent_id === selection.agent
  if ('task_id' in selection) return task_id === selection.task_id
  return 'field' in selection && (isInDoubt(delivery, state) || holdsValue(delivery, selection))
}

/** True for a delivery of a call without a thread in the time of the erased records. */
const isInDoubt = ({ call, created_at }: Records['delivery'], { times }: State): boolean =>
  call !== undefined && times !== undefined && created_at >= times[0] && created_at <= times[1]

/** Also true for a call whose rules did not read the field: its record does not have the value. */
function holdsValue({ body }: Records['delivery'], { field, equals }: Sought): boolean {
  const target = readFieldValue(field, equals)
  if (typeof target === 'string' || target.path === undefined) return false
  return hasValue((JSON.parse(body) as JsonObject)['payload'], target.path, equals)
}

type Sought = Extract<State['selection'], { readonly field: string }>

/** Replaces the erased members of some records by their hashes. */
async function eraseRecords(deps: Deps, tenant: string, { known, holds }: Step): Promise<Plan<void>> {
  const { selection, records } = known.value
  const disclosed = await read(deps.store, tenant, 'disclosed', ALL)
  const [some, rest] = firstOf(records, TOGETHER)
  const events = (
    await Promise.all(
      some.map(([first, last]) => disclosedEvents(deps.store, tenant, first - 1, last - first + 1)),
    )
  ).flat()
  const named = events.filter(({ number }) => some.some(([first, last]) => first <= number && number <= last))
  const writes = named.flatMap(({ number, body, disclosures }): Write[] => {
    const held = disclosures === undefined ? undefined : readDisclosures(disclosures)
    if (held === undefined) return []
    const { actor, task_id = '', thread_id = '' } = JSON.parse(body) as EvidenceRecord
    // the thread is gone, which named the agent
    const agent = actor.kind === 'agent' || thread_id === '' ? actor.id : undefined
    if (holds.keep({ agent, task_id, thread_id })) return []
    const left = withoutMembers(held, new Set(namesToErase(held.members, selection)))
    if (left === undefined) return []
    const member = String(number)
    return [
      { op: 'forget', number },
      put('erased', member, left),
      { op: 'index', index: INDEX.erased, member, to: number },
    ]
  })
  const guards = [unchanged('disclosed', ALL, disclosed), holds.guard]
  return continued(deps, known, { records: rest }, { guards, writes })
}

/** Splits ranges after some numbers. */
function firstOf(ranges: readonly Range[], most: number): readonly [first: Range[], rest: Range[]] {
  const first: Range[] = []
  let room = most
  for (const [i, [from, to]] of ranges.entries()) {
    const size = to - from + 1
    if (size > room) {
      const left: Range[] = [[from + room, to], ...ranges.slice(i + 1)]
      return room === 0
        ? [first, [[from, to], ...ranges.slice(i + 1)]]
        : [[...first, [from, from + room - 1]], left]
    }
    first.push([from, to])
    room -= size
  }
  return [first, []]
}
