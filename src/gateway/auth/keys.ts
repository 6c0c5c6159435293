import { ADMIN, TIMER } from '../../domain/evidence.ts'
import type { IssuedKey } from '../../contract/admin.ts'
import { defined } from '../../contract/defined.ts'
import { GatewayError } from '../../contract/errors.ts'
import { composeCredential, hashCredential, SECRET_BYTES } from '../../domain/credential.ts'
import { HOLDER_NAME, TENANT_NAME } from '../../domain/id.ts'
import type { Guard, Write } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { isoTime, record } from '../core/event-record.ts'
import { neverPurge, purgeAt } from '../core/expiry-index.ts'
import { requireDirectory } from '../core/readiness.ts'
import { type HolderRecord, holderId, put, read, remove, unchanged } from '../core/records.ts'
import { registerTenant } from '../core/tenants.ts'
import { forgetKey, isNothing, type Plan, readConfirmed, transact } from '../core/transact.ts'

export interface Holder {
  readonly tenant: string
  readonly kind: 'agent' | 'reviewer'
  readonly id: string
}

/** The period in which the earlier key works alongside the new key. */
export interface Overlap {
  readonly overlapMs: number
}

/**
 * Issues the key of an agent or reviewer, or rotates it. Without an overlap, the same commit voids the old key and the
 * proofs bound to it (docs/agent-api.md). With an overlap, both keys work until it ends. A proof works only with the
 * key that was used to mint it. Any key older than these two is void immediately. Only the answer contains the raw key.
 *
 * @throws GatewayError `not_found` when the directory does not know the holder, `not_ready`
 */
export async function issueKey(
  deps: Deps,
  holder: Holder,
  { overlapMs }: Overlap = { overlapMs: 0 },
): Promise<IssuedKey> {
  const { tenant, kind, id } = holder
  if (!inDirectory(deps, holder)) {
    throw new GatewayError(
      'not_found',
      `the directory in force knows no ${kind} \`${id}\` in tenant \`${tenant}\``,
    )
  }
  await registerTenant(deps, tenant)
  let old: readonly string[] = []
  const { answer } = await transact(deps, tenant, async () => {
    const now = deps.store.now()
    const api_key = composeCredential(kind, deps.random(SECRET_BYTES), tenant)
    const key_hash = hashCredential(api_key)
    const current = await read(deps.store, tenant, 'holder', holderId(kind, id))
    const rotated = current !== undefined
    const previous =
      current && overlapMs > 0 ? { key_hash: current.value.key_hash, until: now + overlapMs } : undefined
    old = hashesOf(current?.value)
    const until = previous && isoTime(previous.until)
    return {
      answer: { api_key, tenant, id, rotated, ...defined({ old_key_until: until }) },
      guards: [unchanged('holder', holderId(kind, id), current), unchanged('key', key_hash, undefined)],
      writes: [
        put('key', key_hash, { kind, id, issued_at: now }),
        put('holder', holderId(kind, id), { key_hash, ...defined({ previous }) }),
        ...old.filter((hash) => hash !== previous?.key_hash).flatMap(forgotten),
        ...(previous ? [purgeAt('key', previous.key_hash, previous.until)] : []),
      ],
      evidence: [
        record(
          deps.store.now(),
          ADMIN,
          { tenant },
          {
            type: 'key.issued',
            details: { holder: kind, id, key_hash, rotated, old_key_until: until },
          },
        ),
      ],
    }
  })
  for (const hash of old) forgetKey(deps, hash)
  return answer
}

/** The keys in force, the newest first. */
function hashesOf(holder: HolderRecord | undefined): string[] {
  return [holder?.key_hash, holder?.previous?.key_hash].filter((hash) => hash !== undefined)
}

const forgotten = (hash: string): Write[] => [remove('key', hash), neverPurge('key', hash)]

/** Ends the old key. The timer calls this function when an overlap is over. */
export async function endOverlap(deps: Deps, tenant: string, key_hash: string): Promise<Plan<void>> {
  const key = await read(deps.store, tenant, 'key', key_hash)
  if (key === undefined) return { answer: undefined, writes: [neverPurge('key', key_hash)] }
  const { kind, id } = key.value
  const holder = await read(deps.store, tenant, 'holder', holderId(kind, id))
  const guards = [unchanged('holder', holderId(kind, id), holder), unchanged('key', key_hash, key)]
  const previous = holder?.value.previous
  if (holder === undefined || previous?.key_hash !== key_hash)
    return { answer: undefined, guards, writes: [neverPurge('key', key_hash)] }
  if (deps.store.now() < previous.until)
    return { answer: undefined, guards, writes: [purgeAt('key', key_hash, previous.until)] }
  const details = { holder: kind, id, key_hash }
  return {
    answer: undefined,
    guards,
    writes: [...forgotten(key_hash), put('holder', holderId(kind, id), { key_hash: holder.value.key_hash })],
    evidence: [record(deps.store.now(), TIMER, { tenant }, { type: 'key.expired', details })],
    landed: () => forgetKey(deps, key_hash),
  }
}

/**
 * Revokes the key, and during an overlap the older key as well.
 *
 * @throws GatewayError `not_found` when there is no key to revoke
 */
export async function revokeKey(deps: Deps, holder: Holder): Promise<void> {
  const { tenant, kind, id } = holder
  const none = new GatewayError('not_found', `${kind} \`${id}\` has no key`)
  if (!TENANT_NAME.test(tenant) || !HOLDER_NAME.test(id)) throw none
  const held = async (): Promise<unknown[]> => {
    const one = await read(deps.store, tenant, 'holder', holderId(kind, id))
    return one === undefined ? [] : [one]
  }
  if (isNothing(await readConfirmed(deps, tenant, held, isNothing))) throw none
  const { answer: dead } = await transact(deps, tenant, async () => {
    const current = await read(deps.store, tenant, 'holder', holderId(kind, id))
    if (current === undefined) throw none
    const { key_hash } = current.value
    const hashes = hashesOf(current.value)
    const guards: Guard[] = [unchanged('holder', holderId(kind, id), current)]
    const writes: Write[] = [...hashes.flatMap(forgotten), remove('holder', holderId(kind, id))]
    const details = { holder: kind, id, key_hash }
    return {
      answer: hashes,
      guards,
      writes,
      evidence: [record(deps.store.now(), ADMIN, { tenant }, { type: 'key.revoked', details })],
    }
  })
  for (const hash of dead) forgetKey(deps, hash)
}

function inDirectory(deps: Deps, { tenant, kind, id }: Holder): boolean {
  const known = requireDirectory(deps.policies.current()).tenants.get(tenant)
  return (kind === 'agent' ? known?.agents.has(id) : known?.reviewers.has(id)) === true
}
