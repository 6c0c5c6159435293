import { GatewayError } from '../../contract/errors.ts'
import type { ReviewerEntry, Snapshot } from '../../policy/language/snapshot.ts'
import type { Guard } from '../../store/store.ts'
import type { Actor } from '../../domain/evidence.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { reviewerEntry, reviewerGuards } from './standing.ts'

/** The actor that evidence names for an administrator's act. */
export interface Administrator {
  readonly actor: Actor
  /** Present for a reviewer with the admin role. The admin key has no such record. */
  readonly caller?: Caller
}

const ADMIN_ROLE = 'admin'

export const isAdministrator = ({ roles }: ReviewerEntry): boolean => roles.includes(ADMIN_ROLE)

/**
 * The reviewer's entry with the admin role.
 *
 * @throws GatewayError `unauthenticated`, `not_ready`, `not_permitted` when the directory in force gives the reviewer
 * no admin role
 */
export function adminEntry(snapshot: Snapshot | undefined, caller: Caller): ReviewerEntry {
  const entry = reviewerEntry(snapshot, caller)
  if (!isAdministrator(entry)) throw new GatewayError('not_permitted', 'this needs the admin role')
  return entry
}

/**
 * The guards of every administrator's commit. A body may arrive seconds after its credential. The role is therefore
 * checked again, and the credential must still exist at the commit.
 *
 * @throws GatewayError `unauthenticated`, `not_ready`, `not_permitted`
 */
export async function adminGuards(deps: Deps, { caller }: Administrator): Promise<Guard[]> {
  if (caller === undefined) return []
  adminEntry(deps.policies.current(), caller)
  return reviewerGuards(deps, caller)
}
