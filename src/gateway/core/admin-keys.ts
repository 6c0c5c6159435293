import { createHash, timingSafeEqual } from 'node:crypto'
import { defined } from '../../contract/defined.ts'
import { ADMIN, KEY_NAME_CHARS, SYSTEM } from '../../domain/evidence.ts'
import type { Store } from '../../store/store.ts'
import { encodeEvidence, isoTime, record } from './event-record.ts'
import { INDEX } from './indexes.ts'
import { type HolderRecord, put, read, unchanged } from './records.ts'

/** The admin keys in force. The store knows their hashes, so all gateways of a deployment accept the same keys. */
export interface AdminKeys {
  accepts(key: string): boolean
  /** Reads the keys again, because a command rotates them while gateways run. */
  refresh(): Promise<void>
}

export interface AdminKeyParts {
  readonly store: Store
  readonly commitId: () => string
  readonly deadlineMs: number
}

/** The error for a store that knows another admin key. The message names both deployments and the remedy. */
export class ForeignDeployment extends Error {
  override readonly name = 'ForeignDeployment'
}

const ID = 'key'

/**
 * Opens the admin keys of the store. The first start introduces its key; later starts must have a key in force.
 *
 * @param own SHA-256 of this gateway's key in hex, to introduce when the store knows none
 * @param configured whether an operator chose that key. A gateway without a configured key accepts those of the store.
 * @throws ForeignDeployment; Error when the store did not keep the key
 */
export async function openAdminKeys(
  parts: AdminKeyParts,
  own: string,
  { configured, deployment }: { readonly configured: boolean; readonly deployment: string | undefined },
): Promise<AdminKeys> {
  const { store } = parts
  let known = (await read(store, SYSTEM, 'admin', ID))?.value ?? (await introduce(parts, own))
  const keys: AdminKeys = {
    accepts: (key) => hashesOf(known, store.now()).some((hash) => same(hash, adminKeyHash(key))),
    async refresh() {
      known = (await read(store, SYSTEM, 'admin', ID))?.value ?? known
    },
  }
  if (configured && !hashesOf(known, store.now()).includes(own))
    throw foreign(deployment, { own, known: known.key_hash, hosts: await hostsOf(store) })
  return keys
}

export const adminKeyHash = (key: string): string => createHash('sha256').update(key).digest('hex')

/** Compares in constant time. */
const same = (one: string, other: string): boolean => timingSafeEqual(Buffer.from(one), Buffer.from(other))

function hashesOf({ key_hash, previous }: HolderRecord, now: number): string[] {
  return previous !== undefined && now < previous.until ? [key_hash, previous.key_hash] : [key_hash]
}

async function introduce({ store, commitId, deadlineMs }: AdminKeyParts, own: string): Promise<HolderRecord> {
  const result = await store.commit(SYSTEM, {
    commitId: commitId(),
    deadline: store.now() + deadlineMs,
    guards: [unchanged('admin', ID, undefined)],
    writes: [put('admin', ID, { key_hash: own })],
    events: [],
  })
  if (result.ok) return { key_hash: own }
  const theirs = await read(store, SYSTEM, 'admin', ID)
  if (theirs === undefined) throw new Error('the store did not keep the admin key')
  return theirs.value
}

const MOST_HOSTS = 3

/** The machines of the gateways that reported last. */
async function hostsOf(store: Store): Promise<string[]> {
  const newest = await store.range(SYSTEM, INDEX.instances, { reverse: true, limit: MOST_HOSTS })
  const found = await Promise.all(newest.map(({ member }) => read(store, SYSTEM, 'instance', member)))
  return [...new Set(found.flatMap((one) => one?.value.host ?? []))]
}

const shown = (hash: string): string => `SHA-256 ${hash.slice(0, KEY_NAME_CHARS)}`

function foreign(
  deployment: string | undefined,
  { own, known, hosts }: { readonly own: string; readonly known: string; readonly hosts: readonly string[] },
): ForeignDeployment {
  const theirs = `the deployment ${deployment === undefined ? 'without a name' : `\`${deployment}\``}`
  const where = hosts.length === 0 ? '' : `, which last ran on ${hosts.join(', ')}`
  return new ForeignDeployment(
    `another deployment uses this store: ${theirs}${where}, has the admin key with ${shown(known)}, and this gateway one with ${shown(own)}. Name this deployment with COUNTERSIGN_DEPLOYMENT, give it a store of its own, or rotate the admin key with \`countersign store rotate-admin-key\``,
  )
}

export interface Rotated {
  /** The end of the old key, ms since 1970; undefined when the store had none, or without an overlap. */
  readonly until: number | undefined
}

/**
 * Replaces the admin key in force. With an overlap, the old key works until it ends.
 *
 * @throws Error when the store refused the commit
 */
export async function rotateAdminKey(
  { store, commitId, deadlineMs }: AdminKeyParts,
  key: string,
  overlapMs: number,
): Promise<Rotated> {
  const current = await read(store, SYSTEM, 'admin', ID)
  const now = store.now()
  const key_hash = adminKeyHash(key)
  const old = current?.value.key_hash
  const previous =
    old === undefined || overlapMs === 0 ? undefined : { key_hash: old, until: now + overlapMs }
  const details = {
    key_name: key_hash.slice(0, KEY_NAME_CHARS),
    old_key_until: previous && isoTime(previous.until),
  }
  const rotated = record(now, ADMIN, { tenant: SYSTEM }, { type: 'admin_key.rotated', details })
  const result = await store.commit(SYSTEM, {
    commitId: commitId(),
    deadline: now + deadlineMs,
    guards: [unchanged('admin', ID, current)],
    writes: [put('admin', ID, { key_hash, ...defined({ previous }) })],
    events: [encodeEvidence(rotated)],
  })
  if (!result.ok) throw new Error('another command changed the admin key at the same time: try again')
  return { until: previous?.until }
}
