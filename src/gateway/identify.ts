import { GatewayError } from '../contract/errors.ts'
import { hashCredential, parseCredential } from '../domain/credential.ts'
import type { AgentEntry, ReviewerEntry, Snapshot } from '../policy/snapshot.ts'
import type { Guard } from '../store/store.ts'
import type { Deps } from './deps.ts'
import { read, unchanged } from './records.ts'
import { storeCall } from './transact.ts'

/** Who is calling, as proved by a key. `tenant`, `id` and `keyHash` never come from anywhere else. */
export interface Caller {
  readonly tenant: string
  readonly id: string
  readonly keyHash: string
}

const CACHED_KEYS = 10_000

/**
 * Resolves a bearer credential (agent-api-contract.md section 5). A missing, malformed, unknown or revoked key, and a
 * holder that is no longer in the directory, are one and the same refusal.
 *
 * @throws GatewayError `unauthenticated`
 */
export async function identify(
  deps: Deps,
  kind: 'agent' | 'reviewer',
  credential: string | undefined,
): Promise<Caller> {
  const form = credential === undefined ? undefined : parseCredential(kind, credential)
  if (credential === undefined || form === undefined) throw unauthenticated()
  const caller = { tenant: form.tenant, keyHash: hashCredential(credential) }
  const key = await storeCall(() => read(deps.store, form.tenant, 'key', caller.keyHash))
  if (key === undefined || key.value.kind !== kind) throw unauthenticated()
  remember(deps, caller.keyHash, { kind, id: key.value.id, revision: key.revision })
  return { ...caller, id: key.value.id }
}

/** The guard that makes a revocation instant: a commit under a key that changed meanwhile fails and is judged afresh. */
export async function keyGuard(deps: Deps, caller: Caller): Promise<Guard> {
  const cached = deps.keys.get(caller.keyHash)
  if (cached) return unchanged('key', caller.keyHash, cached)
  const key = await read(deps.store, caller.tenant, 'key', caller.keyHash)
  if (key === undefined) throw unauthenticated()
  remember(deps, caller.keyHash, { kind: key.value.kind, id: key.value.id, revision: key.revision })
  return unchanged('key', caller.keyHash, key)
}

/** For calls that last: the key they came with must still be there. @throws GatewayError `unauthenticated` */
export async function keyInForce(deps: Deps, caller: Caller): Promise<void> {
  const key = await read(deps.store, caller.tenant, 'key', caller.keyHash)
  if (key === undefined) throw unauthenticated()
}

/** The agent's entry in the directory in force. Without any snapshot there is nobody to ask, and every call is refused by policy. */
export function agentEntry(snapshot: Snapshot | undefined, caller: Caller): AgentEntry | undefined {
  if (snapshot === undefined) return undefined
  const entry = snapshot.directory.tenants.get(caller.tenant)?.agents.get(caller.id)
  if (entry === undefined) throw unauthenticated()
  return entry
}

/** @throws GatewayError `unauthenticated` when the directory in force does not know the reviewer. */
export function reviewerEntry(snapshot: Snapshot | undefined, caller: Caller): ReviewerEntry {
  const entry = snapshot?.directory.tenants.get(caller.tenant)?.reviewers.get(caller.id)
  if (entry === undefined) throw unauthenticated()
  return entry
}

function remember(
  deps: Deps,
  hash: string,
  key: { kind: 'agent' | 'reviewer'; id: string; revision: number },
): void {
  if (deps.keys.size >= CACHED_KEYS) deps.keys.clear()
  deps.keys.set(hash, key)
}

function unauthenticated(): GatewayError {
  return new GatewayError('unauthenticated', 'a valid key is needed: Authorization: Bearer <key>')
}
