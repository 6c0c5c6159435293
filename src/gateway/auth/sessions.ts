import { GatewayError } from '../../contract/errors.ts'
import { hashCredential, parseCredential } from '../../domain/credential.ts'
import { type Actor, TIMER } from '../../domain/evidence.ts'
import {
  endOf,
  noteEveryMs,
  type SessionEnd,
  sessionOver,
  type SessionState,
  type Standing,
} from '../../domain/session.ts'
import { wholeDirectory } from '../../policy/language/snapshot.ts'
import type { Write } from '../../store/store.ts'
import { type Caller, unauthenticated, type ProofGuard } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { record } from '../core/event-record.ts'
import { freezesNow, refuseFrozenReviewer } from '../core/freezes.ts'
import { requireDirectory } from '../core/readiness.ts'
import { neverPurge, purgeAt, purged, readPurged } from '../core/expiry-index.ts'
import { put, read, remove, unchanged, type Version } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import { type Plan, storeCall, transact } from '../core/transact.ts'
import { sessionsOf, spend } from '../core/budgets.ts'

/** Sessions in use, and their end. sign-in.ts opens them. */

export interface OpenSession extends SessionState, Version {
  readonly tenant: string
  readonly hash: string
}

/**
 * The reviewer of a valid session, for a request with both of its secrets. Ends an expired session immediately. The
 * request counts as use of the session only when `attended`: a person caused it, rather than the page by itself.
 *
 * @throws GatewayError `unauthenticated`, whatever the reason
 */
export async function identifySession(deps: Deps, proof: SessionProof, attended = true): Promise<Caller> {
  const { tenant, hash, page } = hashesOf(proof)
  const found = await inForce(deps, tenant, { hash, page })
  refuseFrozenReviewer(await storeCall(() => freezesNow(deps, tenant)), found.session.reviewer)
  if (attended) await noteUse(deps, found)
  return callerOf(found)
}

/** The secrets in a request of the console. */
export interface SessionProof {
  /** The secret in the cookie. Browsers send the cookie to every server on this host, on any port. */
  readonly credential: string
  /** The secret in a header that only pages of the gateway's own origin can set. */
  readonly page: string | undefined
}

/** Rejects malformed secrets before they reach the store. @throws GatewayError `unauthenticated` */
function hashesOf({ credential, page }: SessionProof): { tenant: string; hash: string; page: string } {
  const tenant = parseCredential('session', credential)?.tenant
  if (tenant === undefined || page === undefined || parseCredential('page', page)?.tenant !== tenant)
    throw unauthenticated()
  return { tenant, hash: hashCredential(credential), page: hashCredential(page) }
}

/**
 * Checks that the session still holds, for requests that last long. This check does not count as use of the session.
 *
 * @throws GatewayError `unauthenticated`
 */
export async function sessionInForce(deps: Deps, { tenant, keyHash }: Caller): Promise<void> {
  await inForce(deps, tenant, { hash: keyHash })
}

export function callerOf({
  tenant,
  hash,
  revision,
  session,
}: Omit<OpenSession, 'seen' | 'standing' | 'commitId'>): Caller {
  const { reviewer, via, expires_at: expiresAt, entry, groups } = session
  return {
    tenant,
    id: reviewer,
    via,
    keyHash: hash,
    keyRevision: revision,
    session: { expiresAt, entry, ...(groups === undefined ? {} : { groups }) },
  }
}

/**
 * The session in force. `page` is absent when the caller has already presented the page secret. Callers without the
 * page secret cannot end the session either.
 */
async function inForce(
  deps: Deps,
  tenant: string,
  { hash, page }: { readonly hash: string; readonly page?: string },
): Promise<OpenSession> {
  const found = await storeCall(() => findSession(deps, tenant, hash))
  if (found === undefined) throw unauthenticated()
  if (page !== undefined && page !== found.session.page) throw unauthenticated()
  requireDirectory(deps.policies.current())
  if (endOf(found, deps.store.now(), deps.sessions) === undefined) return found
  // Refuses an expired session even when the store cannot record its end now. The timer records it later.
  await ifPossible(() => transact(deps, tenant, () => endWhenOver(deps, tenant, hash)))
  throw unauthenticated()
}

async function findSession(deps: Deps, tenant: string, hash: string): Promise<OpenSession | undefined> {
  const [record, seen] = await Promise.all([
    read(deps.store, tenant, 'session', hash),
    read(deps.store, tenant, 'seen', hash),
  ])
  if (record === undefined) return undefined
  const { value: session, revision, commitId } = record
  const standing = standingOf(deps, tenant, session.reviewer)
  const used = seen?.value.at ?? session.opened_at
  return { tenant, hash, session, revision, commitId, seen: used, standing }
}

/**
 * Records a use of the session. The commit guards the session, so that it records nothing for an ended session. If the
 * store cannot write now, the request is still served, and the session may end sooner.
 */
async function noteUse(deps: Deps, { tenant, hash, revision, seen }: OpenSession): Promise<void> {
  const at = deps.store.now()
  if (at - seen < noteEveryMs(deps.sessions)) return
  const guards: ProofGuard[] = [{ proof: true, type: 'session', id: hash, revision }]
  const writes = [put('seen', hash, { at })]
  await ifPossible(() => transact(deps, tenant, () => Promise.resolve({ answer: undefined, guards, writes })))
}

/** Ignores failures of the store. */
export async function ifPossible(act: () => Promise<unknown>): Promise<void> {
  try {
    await act()
  } catch (error) {
    const later = error instanceof GatewayError && STORE_TROUBLE.includes(error.code)
    if (!later) throw error
  }
}

const STORE_TROUBLE: readonly string[] = ['store_unavailable', 'outcome_unknown']

/** The last use of the console by the reviewer, ms since 1970; undefined without an open session. */
export async function lastUse(deps: Deps, tenant: string, reviewer: string): Promise<number | undefined> {
  const ids = await signInsOf(deps, { tenant, id: reviewer }, 'session')
  const found = await Promise.all(ids.map((id) => findSession(deps, tenant, id)))
  const open = found.filter((one) => one && endOf(one, deps.store.now(), deps.sessions) === undefined)
  return open.reduce<number | undefined>((last, one) => Math.max(last ?? 0, one?.seen ?? 0), undefined)
}

const MOST_SIGN_INS = 1_000

/** Ids of the reviewer's sessions, or of the linked accounts. */
export async function signInsOf(
  deps: Deps,
  { tenant, id }: Pick<Caller, 'tenant' | 'id'>,
  type: 'session' | 'linked',
): Promise<string[]> {
  const entries = await deps.store.range(tenant, INDEX.signIns(id), { limit: MOST_SIGN_INS })
  const all = entries.map(({ member }) => readPurged(member))
  return all.filter((one) => one.type === type).map((one) => one.id)
}

/** The reviewer's entry in the whole directory, as at a sign-in. */
export function standingOf(deps: Deps, tenant: string, reviewer: string): Standing | undefined {
  const snapshot = deps.policies.current()
  return snapshot && wholeDirectory(snapshot).tenants.get(tenant)?.reviewers.get(reviewer)
}

/** Ends a session that has expired, or that the directory ended. Reschedules the check of every other session. */
export async function endWhenOver(deps: Deps, tenant: string, hash: string): Promise<Plan<void>> {
  const found = await findSession(deps, tenant, hash)
  if (found === undefined) return { answer: undefined, writes: [neverPurge('session', hash)] }
  const reason = endOf(found, deps.store.now(), deps.sessions)
  // Before the first bundle is in force, the directory is empty.
  const early = reason === 'removed' && deps.policies.current() === undefined
  if (reason !== undefined && !early) return ended(deps, found, { reason, actor: TIMER })
  const to = sessionOver(found.session, found.seen, deps.sessions)
  const guards = [unchanged('session', hash, found)]
  return { answer: undefined, guards, writes: [purgeAt('session', hash, to)] }
}

interface Ending {
  readonly reason: SessionEnd
  readonly actor: Actor
}

export type Ended = Required<Pick<Plan<void>, 'answer' | 'guards' | 'writes' | 'evidence'>>

function ended(deps: Deps, found: OpenSession, { reason, actor }: Ending): Ended {
  const { tenant, hash, session } = found
  const { reviewer, via } = session
  const details = { reviewer, via, reason, session_hash: hash }
  return {
    answer: undefined,
    guards: [unchanged('session', hash, found)],
    writes: [
      remove('session', hash),
      remove('seen', hash),
      ...unlist(reviewer, purged('session', hash)),
      ...sessionsOf(reviewer).flatMap((spending) => spend(spending, session.opened_at, -1)),
    ],
    evidence: [record(deps.store.now(), actor, { tenant }, { type: 'session.ended', details })],
  }
}

/** Index entries of a session or a link, for its reviewer and for the timer. */
export function list(reviewer: string, member: string, at: { over: number; look: number }): Write[] {
  return [
    { op: 'index', index: INDEX.signIns(reviewer), member, to: at.over },
    { op: 'index', index: INDEX.purge, member, to: at.look },
  ]
}

export function unlist(reviewer: string, member: string): Write[] {
  return [INDEX.signIns(reviewer), INDEX.purge].map((index) => ({ op: 'index', index, member }))
}

export const NOTHING: Ended = { answer: undefined, guards: [], writes: [], evidence: [] }

/** The part of a plan that ends the session; empty when the session has already ended. */
export async function endSession(deps: Deps, tenant: string, hash: string, ending: Ending): Promise<Ended> {
  const found = await findSession(deps, tenant, hash)
  return found === undefined ? NOTHING : ended(deps, found, ending)
}
