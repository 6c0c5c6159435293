import { type Actor, TIMER } from '../../domain/evidence.ts'
import { accountId, type LinkedAccount, linkOver, type UnlinkReason } from '../../domain/linked-account.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { record } from '../core/event-record.ts'
import { neverPurge, purgeAt, purged } from '../core/expiry-index.ts'
import { read, remove, unchanged, type Versioned } from '../core/records.ts'
import type { Plan } from '../core/transact.ts'
import { type Ended, NOTHING, standingOf, unlist } from './sessions.ts'

/** Linked accounts in use, and their end (docs/chat.md). src/gateway/chat/link.ts makes them. */

export type Linked = Versioned<LinkedAccount>

/** The time between two looks at a link whose directory entry may have changed. */
export const LOOK_AT_LINK_MS = 3_600_000

export const workspaceOf = (reviewer: string, workspace: string): string => `${reviewer}/${workspace}`

/** The reason why the link is over, or undefined. Without a bundle, the gateway removes no reviewer. */
export function overAs(deps: Deps, tenant: string, { value }: Linked): ReturnType<typeof linkOver> {
  const over = linkOver(value, standingOf(deps, tenant, value.reviewer), deps.store.now())
  return over === 'removed' && deps.policies.current() === undefined ? undefined : over
}

/** The reviewer who votes through the link. */
export function callerOfLink(tenant: string, { value, revision, commitId }: Linked): Caller {
  const { reviewer, expires_at: expiresAt, entry, groups } = value
  return {
    tenant,
    id: reviewer,
    via: 'slack',
    keyHash: accountId(value),
    keyRevision: revision,
    keyCommit: commitId,
    session: { expiresAt, entry, ...(groups === undefined ? {} : { groups }) },
  }
}

interface Ending {
  readonly reason: UnlinkReason
  readonly actor: Actor
}

/** The part of a plan that ends a link. */
export function unlinked(deps: Deps, tenant: string, found: Linked, { reason, actor }: Ending): Ended {
  const { link, reviewer, workspace } = found.value
  const id = accountId(found.value)
  const details = { link, reviewer, reason }
  return {
    answer: undefined,
    guards: [unchanged('linked', id, found)],
    writes: [
      remove('linked', id),
      remove('linked_in', workspaceOf(reviewer, workspace)),
      ...unlist(reviewer, purged('linked', id)),
    ],
    evidence: [record(deps.store.now(), actor, { tenant }, { type: 'chat.unlinked', details })],
  }
}

/** The part of a plan that ends the link of an account; empty when it has already ended. */
export async function endLink(deps: Deps, tenant: string, id: string, ending: Ending): Promise<Ended> {
  const found = await read(deps.store, tenant, 'linked', id)
  return found === undefined ? NOTHING : unlinked(deps, tenant, found, ending)
}

/** Ends a link that is over. Looks at every other link again later. */
export async function endLinkWhenOver(deps: Deps, tenant: string, id: string): Promise<Plan<void>> {
  const found = await read(deps.store, tenant, 'linked', id)
  if (found === undefined) return { answer: undefined, writes: [neverPurge('linked', id)] }
  const reason = overAs(deps, tenant, found)
  if (reason !== undefined) return unlinked(deps, tenant, found, { reason, actor: TIMER })
  const to = Math.min(found.value.expires_at, deps.store.now() + LOOK_AT_LINK_MS)
  return {
    answer: undefined,
    guards: [unchanged('linked', id, found)],
    writes: [purgeAt('linked', id, to)],
  }
}
