import type { InstancesView } from '../../contract/admin.ts'
import { defined } from '../../contract/defined.ts'
import { withdrawalText } from '../../policy/language/snapshot.ts'
import type { Write } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { isoTime } from '../core/event-record.ts'
import {
  type InstanceRecord,
  type LoadState,
  put,
  read,
  remove,
  SYSTEM,
  unlessBroken,
} from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import { storeCall, transact } from '../core/transact.ts'

/** One of the instances that share the store. */
export interface Instance {
  readonly id: string
  readonly host: string
  readonly version: string
  /** ms since 1970. */
  readonly startedAt: number
  /** Tiles that it cannot read, and since when, ms since 1970. */
  readonly loss?: InstanceRecord['loss'] | undefined
  readonly unreadable?: readonly { readonly what: string; readonly since: number }[]
}

/** An instance without a report for this time is not listed, because it has stopped or cannot write. */
const GONE_MS = 30_000
/** Retention of an instance's record. */
const FORGET_MS = 3_600_000
const MOST = 1_000

/**
 * Reports the bundle that this instance uses for decisions, for `countersign policies status`. The commit also tests
 * whether the store accepts writes when nothing else was written (src/app/reports.ts).
 *
 * @returns the time of the report, ms since 1970
 * @throws GatewayError `store_unavailable`, `outcome_unknown`
 */
export async function reportInstance(deps: Deps, instance: Instance): Promise<number> {
  const now = deps.store.now()
  const { id, host, version, startedAt: started_at, unreadable = [], loss } = instance
  const snapshot = deps.policies.current()
  const { loadedAt, commit, lastLoad } = deps.policies.status()
  const record = {
    host,
    version,
    started_at,
    seen_at: now,
    load_ok: lastLoad?.ok === true,
    load: stateOf(lastLoad),
    ...defined({
      revision: snapshot?.revision,
      commit,
      loaded_at: loadedAt,
      withdrawals: snapshot?.withdrawal && withdrawalText(snapshot),
      loss,
      tiles_unreadable:
        unreadable.map(({ what, since }) => `${what} since ${isoTime(since)}`).join('; ') || undefined,
    }),
  }
  const old = await storeCall(() =>
    deps.store.range(SYSTEM, INDEX.instances, { max: now - FORGET_MS, limit: 100 }),
  )
  const writes: Write[] = [
    put('instance', id, record),
    { op: 'index', index: INDEX.instances, member: id, to: now },
    ...old.filter(({ member }) => member !== id).flatMap(({ member }) => forgotten(member)),
  ]
  await transact(deps, SYSTEM, () => Promise.resolve({ answer: undefined, writes }))
  return now
}

const stateOf = (lastLoad: { readonly ok: boolean } | undefined): LoadState => {
  if (lastLoad === undefined) return 'loading'
  return lastLoad.ok ? 'loaded' : 'failed'
}

/** Removes a stopping instance from the list. */
export async function retireInstance(deps: Deps, id: string): Promise<void> {
  await transact(deps, SYSTEM, () => Promise.resolve({ answer: undefined, writes: forgotten(id) }))
}

const forgotten = (id: string): Write[] => [
  remove('instance', id),
  { op: 'index', index: INDEX.instances, member: id },
]

/** The instances that reported within the last half minute. */
export async function instancesNow(deps: Deps): Promise<(InstanceRecord & { readonly id: string })[]> {
  const min = deps.store.now() - GONE_MS
  const entries = await storeCall(() => deps.store.range(SYSTEM, INDEX.instances, { min, limit: MOST }))
  const reading = entries.map(({ member }) => unlessBroken(read(deps.store, SYSTEM, 'instance', member)))
  const found = await storeCall(() => Promise.all(reading))
  return found.flatMap((one, i) =>
    one === undefined || one === 'broken' ? [] : [{ id: entries[i]?.member ?? '', ...one.value }],
  )
}

/** These instances in order of their start. */
export async function listInstances(deps: Deps): Promise<InstancesView> {
  const instances = await instancesNow(deps)
  return {
    instances: instances
      .toSorted((a, b) => a.started_at - b.started_at)
      .map(({ started_at, seen_at, loaded_at, ...rest }) => ({
        ...defined({ ...rest, loss: undefined }),
        started_at: isoTime(started_at),
        seen_at: isoTime(seen_at),
        ...defined({ loaded_at: loaded_at === undefined ? undefined : isoTime(loaded_at) }),
      })),
  }
}

/** Bundles that differ between the running gateways. */
export interface Difference {
  /** The instances whose bundle fewer instances have; among equally many, the bundle that was loaded first. */
  readonly odd: readonly Listed[]
  /** ms since 1970: the newest load, before which the difference may have been another one. */
  readonly since: number
}

type Listed = InstancesView['instances'][number]

/** Compares the bundles in force. Undefined while they are equal, and for a single gateway. */
export function differenceOf(instances: readonly Listed[]): Difference | undefined {
  const bundles = new Map<string, Listed[]>()
  for (const one of instances)
    bundles.set(one.revision ?? '', [...(bundles.get(one.revision ?? '') ?? []), one])
  if (bundles.size < 2) return undefined
  const loaded = (group: readonly Listed[]): number =>
    Math.max(0, ...group.map(({ loaded_at }) => Date.parse(loaded_at ?? '1970-01-01T00:00:00Z')))
  const [most = [], ...others] = [...bundles.values()].toSorted(
    (a, b) => b.length - a.length || loaded(b) - loaded(a),
  )
  return { odd: others.flat(), since: loaded([...most, ...others.flat()]) }
}
