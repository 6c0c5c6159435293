import type { IssuedKey } from '../../contract/admin.ts'
import { GatewayError } from '../../contract/errors.ts'
import { composeCredential, hashCredential, SECRET_BYTES } from '../../domain/credential.ts'
import { HOLDER_NAME, TENANT_NAME } from '../../domain/id.ts'
import type { Guard, Write } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { type EvidenceRecord, isoTime } from '../core/event-record.ts'
import { requireDirectory } from '../core/readiness.ts'
import { holderId, put, read, remove, unchanged } from '../core/records.ts'
import { registerTenant } from '../core/tenants.ts'
import { forgetKey, isNothing, readConfirmed, transact } from '../core/transact.ts'

export interface Holder {
  readonly tenant: string
  readonly kind: 'agent' | 'reviewer'
  readonly id: string
}

/**
 * Issues the key of an agent or reviewer, or rotates it: the old key, and the approval tokens bound to it, are dead in the
 * same commit (agent-api-contract.md section 5.3). The raw key is in the answer only.
 *
 * @throws GatewayError `not_found` when the directory does not know the holder, `not_ready`
 */
export async function issueKey(deps: Deps, holder: Holder): Promise<IssuedKey> {
  const { tenant, kind, id } = holder
  if (!inDirectory(deps, holder)) {
    throw new GatewayError(
      'not_found',
      `the directory in force knows no ${kind} \`${id}\` in tenant \`${tenant}\``,
    )
  }
  await registerTenant(deps, tenant)
  let old: string | undefined
  const { answer } = await transact(deps, tenant, async () => {
    const now = deps.store.now()
    const api_key = composeCredential(kind, deps.random(SECRET_BYTES), tenant)
    const key_hash = hashCredential(api_key)
    const current = await read(deps.store, tenant, 'holder', holderId(kind, id))
    const rotated = current !== undefined
    old = current?.value.key_hash
    return {
      answer: { api_key, tenant, id, rotated },
      guards: [unchanged('holder', holderId(kind, id), current), unchanged('key', key_hash, undefined)],
      writes: [
        put('key', key_hash, { kind, id, issued_at: now }),
        put('holder', holderId(kind, id), { key_hash }),
        ...(current ? [remove('key', current.value.key_hash)] : []),
      ],
      evidence: [recordOf(deps, holder, 'key.issued', { key_hash, rotated })],
    }
  })
  if (old !== undefined) forgetKey(deps, old)
  return answer
}

/** @throws GatewayError `not_found` when there is no key to revoke */
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
    const guards: Guard[] = [unchanged('holder', holderId(kind, id), current)]
    const writes: Write[] = [remove('key', key_hash), remove('holder', holderId(kind, id))]
    return {
      answer: key_hash,
      guards,
      writes,
      evidence: [recordOf(deps, holder, 'key.revoked', { key_hash })],
    }
  })
  forgetKey(deps, dead)
}

function inDirectory(deps: Deps, { tenant, kind, id }: Holder): boolean {
  const known = requireDirectory(deps.policies.current()).tenants.get(tenant)
  return (kind === 'agent' ? known?.agents.has(id) : known?.reviewers.has(id)) === true
}

function recordOf(
  deps: Deps,
  holder: Holder,
  type: EvidenceRecord['type'],
  details: { key_hash: string; rotated?: boolean },
): EvidenceRecord {
  return {
    type,
    tenant: holder.tenant,
    at: isoTime(deps.store.now()),
    actor: { kind: 'admin', id: 'admin' },
    details: { holder: holder.kind, id: holder.id, ...details },
  }
}
