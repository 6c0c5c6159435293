import type { JsonObject } from '../../contract/json.ts'
import { readDisclosures, withoutMembers } from '../../domain/disclosure.ts'
import { contains, namesToErase, type Selection } from '../../domain/erasure.ts'
import { TIMER } from '../../domain/evidence.ts'
import type { Range } from '../../events/record/field.ts'
import type { Thread } from '../../domain/thread.ts'
import type { Write } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { disclosedEvents } from '../core/disclosures.ts'
import { ALL, neverPurge, purgeAt } from '../core/expiry-index.ts'
import { freezesNow } from '../core/freezes.ts'
import { INDEX } from '../core/indexes.ts'
import { legalHoldsNow } from '../core/legal-holds.ts'
import { put, read, type Records, remove, unchanged, type Versioned } from '../core/records.ts'
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
/** Writes of one commit that deletes deliveries. */
const MOST_WRITES = 2_000
/** Time after which another instance continues, ms. */
const LEASE_MS = 5_000

/** Finishes the erasure that has begun, if any. @throws GatewayError as `transact` does */
export async function finishErasure(deps: Deps, tenant: string): Promise<void> {
  while ((await storeCall(() => read(deps.store, tenant, 'erasure', ALL))) !== undefined)
    await transact(deps, tenant, () => eraseSome(deps, tenant))
}

/** The timer's part: finishes the erasure of an instance that has ended. */
export async function resumeErasure(deps: Deps, tenant: string): Promise<Plan<void>> {
  await finishErasure(deps, tenant)
  // another erasure may have begun meanwhile
  const guards = [unchanged('erasure', ALL, undefined)]
  return { answer: undefined, guards, writes: [neverPurge('erasure', ALL)] }
}

/** Does the next step. */
async function eraseSome(deps: Deps, tenant: string): Promise<Plan<void>> {
  const known = await read(deps.store, tenant, 'erasure', ALL)
  if (known === undefined) return { answer: undefined }
  const { threads, deliveries, records } = known.value
  const [thread] = threads
  if (thread !== undefined) return eraseThread(deps, tenant, known, thread)
  if (!deliveries) return eraseDeliveries(deps, tenant, known)
  const [range] = records
  if (range !== undefined) return eraseRecords(deps, tenant, known, range)
  return {
    answer: undefined,
    guards: [unchanged('erasure', ALL, known)],
    writes: [remove('erasure', ALL), neverPurge('erasure', ALL)],
  }
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

/** Ends a thread that still waits, and deletes a thread that is over. */
async function eraseThread(
  deps: Deps,
  tenant: string,
  known: Versioned<State>,
  id: string,
): Promise<Plan<void>> {
  const found = await read(deps.store, tenant, 'thread', id)
  const rest = { threads: known.value.threads.slice(1) }
  if (found === undefined) return continued(deps, known, rest, {})
  const ended = await endOf(deps, found)
  // no notices: a notice has the heading or the payload of the call
  if (ended !== undefined) {
    const { guards = [], writes = [], evidence = [] } = ended
    return continued(deps, known, {}, { guards, writes, evidence })
  }
  const holds = await legalHoldsNow(deps, tenant)
  // a legal hold that came after the erasure began keeps the thread
  if (holds.over(found.value) !== undefined) return continued(deps, known, rest, { guards: [holds.guard] })
  const forgotten = await read(deps.store, tenant, 'forgotten', ALL)
  const opened_until = Math.max(forgotten?.value.opened_until ?? 0, found.value.created_at)
  const { token_hash } = found.value.approval ?? {}
  const deletion = await deletionOf(deps, found.value)
  const isWhole = deletion.some((write) => write.op === 'delete' && write.type === 'thread')
  deps.threads.delete(id)
  return continued(deps, known, isWhole ? rest : {}, {
    guards: [holds.guard, unchanged('thread', id, found), unchanged('forgotten', ALL, forgotten)],
    writes: [
      ...deletion,
      ...(token_hash === undefined ? [] : [remove('token', token_hash), neverPurge('token', token_hash)]),
      { op: 'index', index: INDEX.due, member: id },
      put('forgotten', ALL, { opened_until }),
    ],
  })
}

/** The end of a thread on which an agent or a reviewer could still act; undefined for a thread that is over. */
async function endOf(deps: Deps, found: Versioned<Thread>): Promise<Plan<Thread> | undefined> {
  const { status, approval } = found.value
  if (status === 'rejected' || approval?.collected_at !== undefined) return undefined
  const settled = await settleThread(deps, found, await freezesNow(deps, found.value.tenant))
  if (settled !== undefined) return settled
  return endOfReview(found, {
    trigger: 'withdraw',
    event: { type: 'review.withdrawn', reason: 'erased' },
    actor: TIMER,
    message: 'withdrawn: the data of the call was erased',
    at: deps.store.now(),
  })
}

/** Deletes deliveries about the selection, whether they arrived or not. */
async function eraseDeliveries(deps: Deps, tenant: string, known: Versioned<State>): Promise<Plan<void>> {
  const { selection, deleted } = known.value
  const list = (await read(deps.store, tenant, 'destinations', ALL))?.value.destinations ?? []
  const writes: Write[] = []
  for (const { id: destination } of list) {
    const index = INDEX.deliveries(destination)
    for (const { member } of await deps.store.range(tenant, index, { limit: Number.MAX_SAFE_INTEGER })) {
      if (writes.length >= MOST_WRITES) return continued(deps, known, {}, { writes })
      const delivery = await read(deps.store, tenant, 'delivery', member)
      if (delivery === undefined || !concerns(delivery.value, selection, deleted)) continue
      writes.push(
        remove('delivery', member),
        { op: 'index', index, member },
        { op: 'index', index: INDEX.outbox(destination), member },
        neverPurge('delivery', member),
      )
    }
  }
  return continued(deps, known, { deliveries: true }, { writes })
}

function concerns(
  { thread_id = '', body }: Pick<Records['delivery'], 'thread_id' | 'body'>,
  selection: Selection,
  deleted: readonly string[],
): boolean {
  if (deleted.includes(thread_id)) return true
  const event = JSON.parse(body) as JsonObject
  if ('field' in selection) return contains(event, selection.equals)
  if ('agent' in selection) return event['agent_id'] === selection.agent
  return 'task_id' in selection && event['task_id'] === selection.task_id
}

/** Replaces the erased members of some records by their hashes. */
async function eraseRecords(
  deps: Deps,
  tenant: string,
  known: Versioned<State>,
  [first, last]: Range,
): Promise<Plan<void>> {
  const { selection, records } = known.value
  const disclosed = await read(deps.store, tenant, 'disclosed', ALL)
  const to = Math.min(last, first + TOGETHER - 1)
  const events = await disclosedEvents(deps.store, tenant, first - 1, to - first + 1)
  const writes = events.flatMap(({ number, disclosures }): Write[] => {
    const held = disclosures === undefined ? undefined : readDisclosures(disclosures)
    if (held === undefined || number > to) return []
    const left = withoutMembers(held, new Set(namesToErase(held.members, selection)))
    if (left === undefined) return []
    const member = String(number)
    return [
      { op: 'forget', number },
      put('erased', member, left),
      { op: 'index', index: INDEX.erased, member, to: number },
    ]
  })
  const rest: Range[] = to < last ? [[to + 1, last], ...records.slice(1)] : records.slice(1)
  return continued(
    deps,
    known,
    { records: rest },
    { guards: [unchanged('disclosed', ALL, disclosed)], writes },
  )
}
