import { GatewayError } from '../../contract/errors.ts'
import { type Actor, ADMIN, BY_FREEZING, reviewerNamed } from '../../domain/evidence.ts'
import { HOLDER_NAME, TENANT_NAME } from '../../domain/id.ts'
import type { IndexEntry } from '../../store/store.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import type { Person } from './login-links.ts'
import { purged, readPurged } from '../core/expiry-index.ts'
import { remove } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import { endLink } from './linked-accounts.ts'
import { endSession, unlist } from './sessions.ts'
import { isNothing, type Plan, readConfirmed, transact } from '../core/transact.ts'

const BATCH = 100

/** Ends the caller's session. A key has no session to end. */
export async function signOut(deps: Deps, caller: Caller): Promise<void> {
  if (caller.session === undefined) return
  const actor = { kind: 'reviewer', id: caller.id } as const
  const ending = { reason: 'signed_out', actor } as const
  await transact(deps, caller.tenant, () => endSession(deps, caller.tenant, caller.keyHash, ending))
}

/**
 * Ends all sessions, linked accounts and unused links of the caller. The caller's own session ends last, because the
 * caller may have to retry.
 */
export async function signOutEverywhere(deps: Deps, { tenant, id, keyHash }: Caller): Promise<void> {
  const ending = { reason: 'signed_out', actor: reviewerNamed(id) } as const
  await endAll(deps, { tenant, id }, ending, purged('session', keyHash))
}

/**
 * Ends all sessions, linked accounts and links of a reviewer, even after the reviewer has left the directory. Keys
 * stay.
 *
 * @throws GatewayError `not_found` when there is neither such a reviewer nor a session
 */
export async function endSessions(deps: Deps, person: Person): Promise<void> {
  const { tenant, id } = person
  const none = new GatewayError('not_found', `there is no reviewer \`${id}\` in tenant \`${tenant}\``)
  if (!TENANT_NAME.test(tenant) || !HOLDER_NAME.test(id)) throw none
  const known = deps.policies.current()?.directory.tenants.get(tenant)?.reviewers.has(id) === true
  const ended = await endAll(deps, person, {
    reason: 'ended_by_admin',
    actor: ADMIN,
  })
  if (!known && ended === 0) throw none
}

interface Ending {
  readonly reason: 'signed_out' | 'ended_by_admin' | 'frozen'
  readonly actor: Actor
}

/** How a freeze ends the sign-ins of a reviewer. */
export const BY_FREEZE_ENDED: Ending = { reason: 'frozen', actor: BY_FREEZING }

/**
 * Ends all sign-ins, including those opened during the call. `last` ends in the final batch. Returns their number.
 */
export async function endAll(
  deps: Deps,
  { tenant, id }: Person,
  ending: Ending,
  last?: string,
): Promise<number> {
  const index = INDEX.signIns(id)
  for (let done = 0; ;) {
    const reading = (): Promise<IndexEntry[]> => deps.store.range(tenant, index, { limit: BATCH })
    const entries = await readConfirmed(deps, tenant, reading, isNothing)
    if (entries.length === 0) return done
    const all = entries.map((entry) => entry.member)
    const members = all.length < BATCH ? all : all.filter((member) => member !== last)
    await transact(deps, tenant, async () =>
      together(await Promise.all(members.map((member) => endOne(deps, { tenant, id }, member, ending)))),
    )
    done += members.length
  }
}

async function endOne(
  deps: Deps,
  { tenant, id }: Person,
  member: string,
  ending: Ending,
): Promise<Plan<void>> {
  const { type, id: hash } = readPurged(member)
  const gone = unlist(id, member)
  if (type === 'link') return { answer: undefined, writes: [remove('link', hash), ...gone] }
  const end = await (type === 'linked' ? endLink : endSession)(deps, tenant, hash, ending)
  return { ...end, writes: [...end.writes, ...gone] }
}

function together(plans: readonly Plan<void>[]): Plan<void> {
  return {
    answer: undefined,
    guards: plans.flatMap((plan) => plan.guards ?? []),
    writes: plans.flatMap((plan) => plan.writes ?? []),
    evidence: plans.flatMap((plan) => plan.evidence ?? []),
  }
}
