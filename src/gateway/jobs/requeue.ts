import { setImmediate as nextTurn } from 'node:timers/promises'
import { RISKS } from '../../domain/decision.ts'
import type { Write } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { INDEX } from '../core/indexes.ts'
import { read, unchanged } from '../core/records.ts'
import { type Plan, storeCall, transact } from '../core/transact.ts'
import { queueEntries, threadOfMember } from '../thread/thread-indexes.ts'

/*
 * Repairs the orders of the queue. Gateways of earlier versions list waiting threads by status and risk only. During a
 * rolling upgrade, they leave threads out of the queue, and leave ended ones in it.
 */

const EVERY_MS = 60_000
const CHUNK = 1_000

/** Compares the queue of the tenant with its waiting threads, once a minute and at the start. */
export async function requeue(deps: Deps, tenant: string): Promise<void> {
  const now = deps.store.now()
  const due = (deps.requeued.get(tenant) ?? -Infinity) + EVERY_MS
  if (now < due) return
  deps.requeued.set(tenant, now)
  for (const [thread, left] of await misplaced(deps, tenant))
    await transact(deps, tenant, () => placed(deps, { tenant, thread, left }))
}

/** Each order of the queue, beside the index whose threads it must have. */
const ORDERS: readonly (readonly [waiting: string, order: string])[] = [
  ...RISKS.map((risk) => [INDEX.pending(risk), INDEX.queue(risk)] as const),
  ...(['agent', 'tool'] as const).map(
    (name) => [INDEX.status('pending_review'), INDEX.queueBy(name)] as const,
  ),
]

interface Place {
  readonly index: string
  readonly member: string
}

/** The threads that are missing from an order, or that have an entry without waiting; with these entries. */
async function misplaced(deps: Deps, tenant: string): Promise<ReadonlyMap<string, readonly Place[]>> {
  const found = new Map<string, Place[]>()
  const note = (thread: string, places: readonly Place[]): void =>
    void found.set(thread, [...(found.get(thread) ?? []), ...places])
  for (const [waiting, index] of ORDERS) {
    const missing = new Set(await membersOf(deps, tenant, waiting))
    for (const member of await membersOf(deps, tenant, index)) {
      const thread = threadOfMember(member)
      if (!missing.delete(thread)) note(thread, [{ index, member }])
    }
    for (const thread of missing) note(thread, [])
  }
  return found
}

async function membersOf(deps: Deps, tenant: string, index: string): Promise<string[]> {
  const members: string[] = []
  for (let after: { readonly score: number; readonly member: string } | undefined; ;) {
    const bounds = { limit: CHUNK, ...(after && { after }) }
    const entries = await storeCall(() => deps.store.range(tenant, index, bounds))
    members.push(...entries.map(({ member }) => member))
    if (entries.length < CHUNK) return members
    after = entries.at(-1)
    await nextTurn()
  }
}

interface Misplaced {
  readonly tenant: string
  readonly thread: string
  /** The entries that did not belong to a waiting thread. */
  readonly left: readonly Place[]
}

async function placed(deps: Deps, { tenant, thread, left }: Misplaced): Promise<Plan<undefined>> {
  const found = await read(deps.store, tenant, 'thread', thread)
  const wanted = queueEntries(found?.value)
  const isWanted = ({ index, member }: Place): boolean =>
    wanted.some((one) => one.index === index && one.member === member)
  const writes = [...left.filter((one) => !isWanted(one)), ...wanted]
  return {
    answer: undefined,
    guards: [unchanged('thread', thread, found)],
    writes: writes.map((entry): Write => ({ op: 'index', ...entry })),
  }
}
