import { entryDigest } from '../../domain/session.ts'
import type { Guard } from '../../store/store.ts'
import {
  type ReviewerEntry,
  type Snapshot,
  wholeDirectory,
  withVouched,
} from '../../policy/language/snapshot.ts'
import { type Caller, keyGuard, type Standing, unauthenticated } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { freezeGuard, freezesNow, refuseFrozenReviewer } from '../core/freezes.ts'
import { requireDirectory } from '../core/readiness.ts'

/**
 * The bundle in force with the agent's entry. The gateway looks up the entry when it admits the request, and again
 * after a new bundle was loaded. Without a bundle there is no directory, and policy refuses every call.
 *
 * @throws GatewayError `unauthenticated` when the directory does not know the agent
 */
export function standingOf({ policies }: Pick<Deps, 'policies'>, { tenant, id, standing }: Caller): Standing {
  const snapshot = policies.current()
  if (standing !== undefined && standing.snapshot === snapshot) return standing
  const entry = snapshot?.agentOf(tenant, id)
  if (snapshot !== undefined && entry === undefined) throw unauthenticated()
  return { snapshot, entry }
}

/**
 * The reviewer's entry in the directory in force, with the groups that an identity provider vouched for. A withdrawal
 * ends no session: a withdrawn reviewer is refused until the next bundle decides.
 *
 * @throws GatewayError `unauthenticated` when the directory lacks the reviewer, or changed the entry after sign-in;
 * `not_ready` without a directory: a broken bundle ends no session
 */
export function reviewerEntry(snapshot: Snapshot | undefined, caller: Caller): ReviewerEntry {
  const entry = requireDirectory(snapshot).tenants.get(caller.tenant)?.reviewers.get(caller.id)
  if (entry === undefined) throw unauthenticated()
  const { session } = caller
  if (session === undefined) return entry
  const whole = snapshot && wholeDirectory(snapshot).tenants.get(caller.tenant)?.reviewers.get(caller.id)
  if (whole === undefined || entryDigest(whole) !== session.entry) throw unauthenticated()
  return session.groups === undefined ? entry : withVouched(entry, session.groups)
}

/**
 * The guards of every commit of a reviewer: the credential exists, and no freeze stops the reviewer. A body may arrive
 * seconds after its credential.
 *
 * @throws GatewayError `unauthenticated`
 */
export async function reviewerGuards(deps: Deps, caller: Caller): Promise<Guard[]> {
  const known = await freezesNow(deps, caller.tenant)
  refuseFrozenReviewer(known, caller.id)
  return [keyGuard(caller), freezeGuard(known)]
}
