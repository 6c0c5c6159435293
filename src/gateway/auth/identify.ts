import { hashCredential, parseCredential } from '../../domain/credential.ts'
import { type Caller, unauthenticated } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { freezesNow, refuseFrozenReviewer } from '../core/freezes.ts'
import { holderId, read } from '../core/records.ts'
import { sessionInForce } from './sessions.ts'
import { storeCall } from '../core/transact.ts'

const REMEMBERED_KEYS = 10_000

/**
 * Resolves a bearer credential (docs/agent-api.md). Missing, malformed, unknown and revoked keys get the same refusal.
 * `standingOf` and `reviewerEntry` (standing.ts) check that the directory still knows the holder, and refuse with the
 * same error.
 *
 * @throws GatewayError `unauthenticated`, `store_unavailable`
 */
export async function identify(
  deps: Deps,
  kind: 'agent' | 'reviewer',
  credential: string | undefined,
): Promise<Caller> {
  const form = credential === undefined ? undefined : parseCredential(kind, credential)
  if (credential === undefined || form === undefined) throw unauthenticated()
  const keyHash = hashCredential(credential)
  const key = await storeCall(() => read(deps.store, form.tenant, 'key', keyHash))
  if (key === undefined || key.value.kind !== kind) throw unauthenticated()
  const { tenant } = form
  const { id } = key.value
  const holder = await storeCall(() => read(deps.store, tenant, 'holder', holderId(kind, id)))
  const previous = holder?.value.previous
  const until = previous?.key_hash === keyHash ? previous.until : Infinity
  if (deps.store.now() >= until) throw unauthenticated()
  const caller: Caller = { tenant, id, via: 'key', keyHash, keyRevision: key.revision, keyUntil: until }
  if (kind === 'agent') remember(deps, credential, caller)
  else await refuseFrozen(deps, caller)
  return caller
}

/**
 * Finds a known agent by its cached key, without reading the store. Every act guards the key's record in its commit
 * (`keyGuard` of caller.ts) or reads it (`keyInForce`). Every instance therefore refuses a revoked key immediately.
 * When the overlap of a cached key began after caching, the key ends with its record. The timer removes that record
 * within a second.
 */
export function recognise(deps: Deps, credential: string | undefined): Caller | undefined {
  const caller = credential === undefined ? undefined : deps.keys.get(credential)
  const isOver = caller?.keyUntil !== undefined && deps.store.now() >= caller.keyUntil
  return isOver ? undefined : caller
}

/**
 * Checks that the key or session still exists, for requests that commit nothing or last long.
 *
 * @throws GatewayError `unauthenticated`
 */
export async function keyInForce(deps: Deps, caller: Caller): Promise<void> {
  if (caller.session !== undefined) return sessionInForce(deps, caller)
  const key = await storeCall(() => deps.store.get(caller.tenant, 'key', caller.keyHash))
  if (key?.revision !== caller.keyRevision) throw unauthenticated()
}

/**
 * Checks the same for a reviewer, and that no freeze stops the reviewer.
 *
 * @throws GatewayError `unauthenticated`
 */
export async function reviewerInForce(deps: Deps, caller: Caller): Promise<void> {
  await keyInForce(deps, caller)
  await refuseFrozen(deps, caller)
}

const refuseFrozen = async (deps: Deps, { tenant, id }: Caller): Promise<void> =>
  refuseFrozenReviewer(await storeCall(() => freezesNow(deps, tenant)), id)

function remember(deps: Deps, credential: string, caller: Caller): void {
  if (deps.keys.size >= REMEMBERED_KEYS) deps.keys.clear()
  deps.keys.set(credential, caller)
}
