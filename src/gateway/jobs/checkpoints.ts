import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CheckpointList, CheckpointsQuery, VerifierKeys } from '../../contract/checkpoint.ts'
import { LIMITS } from '../../contract/limits.ts'
import { openCheckpoint, signCheckpoint, type SigningKey, verifierKey } from '../../domain/checkpoint.ts'
import { leafHash } from '../../domain/digest.ts'
import { EMPTY_TREE, grown, type MerkleTree, rootOf } from '../../domain/merkle.ts'
import type { IndexEntry, Write } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { isoTime } from '../core/event-record.ts'
import { ALL } from '../core/expiry-index.ts'
import { logOf } from '../core/log-number.ts'
import { FIRST_PAGE, nextPageSize } from '../core/page-size.ts'
import { type CheckpointRecord, put, read, remove, unchanged } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import { type Plan, readConfirmed, storeCall, transact } from '../core/transact.ts'
import type { LossWatch } from './loss-watch.ts'

/**
 * Checkpoints of evidence (docs/evidence.md). A reader who keeps a checkpoint elsewhere can later prove that no earlier
 * record was changed, dropped or added.
 */

/** The signing key and the name of this log, generated once, when the store is new. */
export interface LogIdentity {
  readonly name: string
  readonly key: SigningKey
}

const HEAD = 'head'
/** Maximum number of records hashed in one turn of the event loop. */
const PAGE = 100
/** Maximum number of new records in one checkpoint, because more records keep arriving under load. */
const MOST_RECORDS = 10_000
const HOUR_MS = 3_600_000

export interface Made {
  /** The number of records covered. */
  readonly size: number
  /** True when more records may exist already. */
  readonly more: boolean
  /** True when another key signed the previous checkpoint. */
  readonly rekeyed: boolean
}

const UNWATCHED = { least: () => ({ signed: 0, written: 0 }), requireReached: () => undefined }

/** The origin of a log of a tenant (docs/decisions/0016-checkpoints.md). */
export const originOf = ({ name }: LogIdentity, tenant: string, log: number): string =>
  `countersign/${name}/${tenant}${log === 1 ? '' : `/${log}`}`

/**
 * Signs the tenant's new evidence. Two instances that sign at the same time sign the same tree, and one commit wins. A
 * note is published only after its commit. The store keeps the last checkpoint of each hour.
 *
 * @param watch refuses to sign what contradicts an earlier signature or an earlier answer of this gateway
 * @throws GatewayError `store_unavailable`, `outcome_unknown`; Error when the tree is ahead of the records
 */
export async function makeCheckpoint(
  deps: Deps,
  identity: LogIdentity,
  tenant: string,
  watch: Pick<LossWatch, 'least' | 'requireReached'> = UNWATCHED,
): Promise<Made> {
  const { answer } = await transact(deps, tenant, async (): Promise<Plan<Made>> => {
    const least = watch.least(tenant)
    const known = await read(deps.store, tenant, 'tree', HEAD)
    const before = known?.value ?? EMPTY_TREE
    const tree = await extended(deps, tenant, before)
    const made = { size: tree.size, more: tree.size - before.size >= MOST_RECORDS }
    const records = made.more ? Infinity : tree.size
    watch.requireReached(tenant, least, { tree: before.size, records })
    if (tree.size === before.size) return { answer: { ...made, rekeyed: false } }
    const at = deps.store.now()
    const [size, root] = [tree.size, rootOf(tree)]
    const log = await logOf(deps.store, tenant)
    const origin = originOf(identity, tenant, log.number)
    const note = signCheckpoint({ origin, size, root, at: isoTime(at) }, identity.key)
    const last = (await read(deps.store, tenant, 'checkpoint', String(before.size)))?.value
    const id = String(size)
    return {
      answer: { ...made, rekeyed: last !== undefined && !isOurs(last.note, identity) },
      guards: [
        unchanged('log', ALL, log.version),
        unchanged('tree', HEAD, known),
        unchanged('checkpoint', id, undefined),
      ],
      writes: [
        put('tree', HEAD, tree),
        put('checkpoint', id, { size, root, at, note }),
        { op: 'index', index: INDEX.checkpoints, member: id, to: size },
        ...superseded(last, at),
      ],
    }
  })
  return answer
}

/** True for a note of any log that this key signed. */
function isOurs(note: string, { key }: LogIdentity): boolean {
  const [origin = ''] = note.split('\n', 1)
  return openCheckpoint(note, verifierKey(origin, key.public)) !== undefined
}

async function extended(deps: Deps, tenant: string, tree: MerkleTree): Promise<MerkleTree> {
  await holdsLast(deps, tenant, tree.size)
  let page = FIRST_PAGE
  for (let now = tree; ;) {
    const events = await deps.store.events(tenant, now.size, page)
    now = grown(
      now,
      events.map(({ body }) => leafHash(body)),
    )
    if (events.length < page || now.size - tree.size >= MOST_RECORDS) return now
    page = nextPageSize(page, events, PAGE)
    await nextTurn()
  }
}

/**
 * Checks that the tree's last record exists. Otherwise another record would get the lost record's number and be signed
 * in its place.
 *
 * @throws Error
 */
async function holdsLast(deps: Deps, tenant: string, size: number): Promise<void> {
  if (size === 0 || (await deps.store.events(tenant, size - 1, 1)).length > 0) return
  throw new Error(
    `the tree over the evidence of \`${tenant}\` has ${size} records, but the store has fewer; the gateway signs no more of it until the store is repaired`,
  )
}

/** Deletes the previous checkpoint if both are from the same hour. */
function superseded(last: CheckpointRecord | undefined, at: number): Write[] {
  if (last === undefined || hourOf(last.at) !== hourOf(at)) return []
  return deletionOf(last)
}

function deletionOf({ size }: CheckpointRecord): Write[] {
  const id = String(size)
  return [remove('checkpoint', id), { op: 'index', index: INDEX.checkpoints, member: id }]
}

/** Checkpoints that are older than this are kept once a day, ms. */
const HOURLY_MS = 30 * 24 * HOUR_MS
/** Checkpoints that one commit deletes at most. */
const MOST_THINNED = 1_000

/** Deletes old checkpoints, except the last of each day. */
export async function thinCheckpoints({ store }: Deps, tenant: string): Promise<Write[]> {
  const before = store.now() - HOURLY_MS
  const writes: Write[] = []
  let last: CheckpointRecord | undefined
  for (let after: IndexEntry | undefined; writes.length < MOST_THINNED;) {
    const page = await store.range(tenant, INDEX.checkpoints, { limit: PAGE, ...(after && { after }) })
    for (const { member } of page) {
      const found = (await read(store, tenant, 'checkpoint', member))?.value
      if (found === undefined) continue
      if (found.at >= before) return writes
      if (last !== undefined && dayOf(last.at) === dayOf(found.at)) writes.push(...deletionOf(last))
      last = found
    }
    if (page.length === 0) return writes
    after = page.at(-1)
  }
  return writes
}

const dayOf = (at: number): number => Math.floor(at / (24 * HOUR_MS))
const hourOf = (at: number): number => Math.floor(at / HOUR_MS)

/** Checkpoints of a tenant, newest first. */
export async function listCheckpoints(
  deps: Deps,
  identity: LogIdentity,
  { tenant, before, limit }: CheckpointsQuery,
): Promise<CheckpointList> {
  const { number } = await storeCall(() => logOf(deps.store, tenant))
  const origin = originOf(identity, tenant, number)
  const bounds = {
    reverse: true,
    limit: Math.min(Number(limit ?? LIMITS.PAGE_ITEMS), LIMITS.PAGE_ITEMS),
    ...(before === undefined ? {} : { max: Number(before) - 1 }),
  }
  const found = await readConfirmed(deps, tenant, async () => {
    const entries = await deps.store.range(tenant, INDEX.checkpoints, bounds)
    return Promise.all(entries.map(({ member }) => read(deps.store, tenant, 'checkpoint', member)))
  })
  return {
    origin,
    verifier_key: verifierKey(origin, identity.key.public),
    checkpoints: found.flatMap((one) => (one === undefined ? [] : [viewOf(one.value)])),
  }
}

const viewOf = ({ size, root, at, note }: CheckpointRecord): CheckpointList['checkpoints'][number] => ({
  size,
  root,
  at: isoTime(at),
  note,
})

/** Public information: the keys, without the names of tenants. */
export function verifierKeys({ name, key }: LogIdentity): VerifierKeys {
  return {
    origin: `countersign/${name}/`,
    keys: [{ alg: 'Ed25519', public_key: Buffer.from(key.public).toString('base64') }],
  }
}
