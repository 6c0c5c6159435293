import { reviewerNamed } from '../../domain/evidence.ts'
import { GatewayError } from '../../contract/errors.ts'
import { composeCredential, hashCredential, parseCredential, SECRET_BYTES } from '../../domain/credential.ts'
import { entryDigest, type Session, sessionOver, isFor, type Vouched } from '../../domain/session.ts'
import { isReviewerFrozen } from '../../domain/freeze.ts'
import { type ReviewerEntry, wholeDirectory } from '../../policy/language/snapshot.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import type { EventDetails, EventDisclosed } from '../../events/events.ts'
import { isoTime, record } from '../core/event-record.ts'
import { freezeGuard, freezesNow } from '../core/freezes.ts'
import { requireDirectory } from '../core/readiness.ts'
import { purged } from '../core/expiry-index.ts'
import { put, read, remove, unchanged } from '../core/records.ts'
import { budgetGuard, sessionsOf, spend } from '../core/budgets.ts'
import { callerOf, endSession, ifPossible, list, unlist } from './sessions.ts'
import { type Plan, transact } from '../core/transact.ts'

export interface SignedIn {
  /** The secret for the cookie only. */
  readonly credential: string
  /** The secret for the page, in the body of the answer. The store keeps only the hash of this secret. */
  readonly page: string
  readonly caller: Caller
}

/** The hash of an earlier session of the same browser, which the new session replaces. */
export interface Replaced {
  readonly tenant: string
  readonly hash: string
}

/** The session of the cookie, which will be replaced; undefined for a malformed cookie. */
export function replacedBy(credential: string | undefined): Replaced | undefined {
  const tenant = credential === undefined ? undefined : parseCredential('session', credential)?.tenant
  if (credential === undefined || tenant === undefined) return undefined
  return { tenant, hash: hashCredential(credential) }
}

export interface LinkProof {
  readonly link: string
  /** The verifier of the tab that began single sign-on. */
  readonly verifier?: string | undefined
}

/**
 * Opens a session with a one-time link, and consumes the link in the same commit. Only one of two concurrent requests
 * gets a session.
 *
 * @throws GatewayError `unauthenticated`, the same for a link that was never issued, was used, has expired or is
 * another tab's
 */
export async function signInByLink(
  deps: Deps,
  { link, verifier }: LinkProof,
  replaced?: Replaced,
): Promise<SignedIn> {
  const tenant = parseCredential('link', link)?.tenant
  if (tenant === undefined) throw spent()
  const hash = hashCredential(link)
  const { answer } = await transact(deps, tenant, async () => {
    const found = await read(deps.store, tenant, 'link', hash)
    if (found === undefined || deps.store.now() >= found.value.expires_at) throw spent()
    if (!isFor(found.value, verifier)) throw spent()
    const { reviewer, expires_at, vouched } = found.value
    const freezes = await freezesNow(deps, tenant)
    if (isReviewerFrozen(freezes.freezes, reviewer)) throw spent()
    const entry = known(deps, tenant, reviewer)
    const opened = openSession(deps, tenant, { reviewer: entry, ...openingBy(hash, vouched) })
    const used = [remove('link', hash), ...unlist(reviewer, purged('link', hash))]
    const joined = await withReplaced(deps, tenant, opened, replaced)
    return {
      ...joined,
      guards: [...(joined.guards ?? []), unchanged('link', hash, found), freezeGuard(freezes)],
      writes: [...(joined.writes ?? []), ...used],
      before: expires_at,
    }
  })
  await endElsewhere(deps, tenant, replaced)
  return answer
}

/** The details in evidence of how the session was opened. */
function openingBy(hash: string, vouched: Vouched | undefined): Omit<Opening, 'reviewer'> {
  if (vouched === undefined) return { via: 'link', proof: { link_hash: hash }, disclosed: {} }
  const { issuer, subject, groups } = vouched
  return {
    via: 'oidc',
    proof: { issuer },
    disclosed: { subject },
    ...(groups === undefined ? {} : { groups }),
  }
}

function spent(): GatewayError {
  return new GatewayError(
    'unauthenticated',
    'this link no longer works: it was used or has expired; ask for a new one',
  )
}

/**
 * The reviewer's entry in the whole directory, by which the session is compared later.
 *
 * @throws GatewayError `not_ready`; `unauthenticated` for a link of a reviewer who has left the directory
 */
function known(deps: Deps, tenant: string, reviewer: string): ReviewerEntry {
  const snapshot = deps.policies.current()
  const isKnown = requireDirectory(snapshot).tenants.get(tenant)?.reviewers.has(reviewer) === true
  const entry = snapshot && wholeDirectory(snapshot).tenants.get(tenant)?.reviewers.get(reviewer)
  if (!isKnown || entry === undefined) throw spent()
  return entry
}

interface Opening {
  readonly reviewer: ReviewerEntry
  readonly via: Session['via']
  /** Groups that the identity provider reported. */
  readonly groups?: readonly string[]
  /** Further details for evidence, such as the provider that vouched. */
  readonly proof?: Pick<EventDetails<'session.opened'>, 'link_hash' | 'issuer'>
  readonly disclosed: EventDisclosed<'session.opened'>
}

/** Opens a session of a reviewer. Only the answer contains the credential of the session. */
function openSession(deps: Deps, tenant: string, opening: Opening): Plan<SignedIn> {
  const { reviewer, via, groups, proof, disclosed } = opening
  const now = deps.store.now()
  const credential = composeCredential('session', deps.random(SECRET_BYTES), tenant)
  const page = composeCredential('page', deps.random(SECRET_BYTES), tenant)
  const hash = hashCredential(credential)
  const session: Session = {
    reviewer: reviewer.id,
    via,
    opened_at: now,
    expires_at: now + deps.sessions.lifetime,
    entry: entryDigest(reviewer),
    ...(groups === undefined ? {} : { groups }),
    page: hashCredential(page),
  }
  const budgets = sessionsOf(reviewer.id)
  const at = { over: session.expires_at, look: sessionOver(session, now, deps.sessions) }
  return {
    answer: { credential, page, caller: callerOf({ tenant, hash, revision: 1, session }) },
    guards: [
      unchanged('session', hash, undefined),
      ...budgets.map((spending) => budgetGuard(deps, spending)),
    ],
    writes: [
      put('session', hash, session),
      ...list(reviewer.id, purged('session', hash), at),
      ...budgets.flatMap((spending) => spend(spending, now)),
    ],
    evidence: [
      record(
        now,
        reviewerNamed(reviewer.id),
        { tenant },
        {
          type: 'session.opened',
          details: {
            via,
            session_hash: hash,
            expires_at: isoTime(session.expires_at),
            groups,
            ...proof,
          },
          disclosed,
        },
      ),
    ],
  }
}

/** Ends the replaced session in the same commit, if both sessions belong to the same tenant. */
async function withReplaced(
  deps: Deps,
  tenant: string,
  plan: Plan<SignedIn>,
  replaced: Replaced | undefined,
): Promise<Plan<SignedIn>> {
  if (replaced?.tenant !== tenant) return plan
  const actor = { kind: 'reviewer', id: plan.answer.caller.id } as const
  const end = await endSession(deps, tenant, replaced.hash, { reason: 'replaced', actor })
  return {
    ...plan,
    guards: [...(plan.guards ?? []), ...end.guards],
    writes: [...(plan.writes ?? []), ...end.writes],
    evidence: [...(plan.evidence ?? []), ...end.evidence],
  }
}

/**
 * Ends the replaced session of another tenant in its own commit. If this commit fails, the replaced session remains
 * until it expires, because the new session is already open.
 */
async function endElsewhere(deps: Deps, tenant: string, replaced: Replaced | undefined): Promise<void> {
  if (replaced === undefined || replaced.tenant === tenant) return
  const actor = { kind: 'gateway', id: 'sign-in' } as const
  const ending = { reason: 'replaced', actor } as const
  await ifPossible(() =>
    transact(deps, replaced.tenant, () => endSession(deps, replaced.tenant, replaced.hash, ending)),
  )
}
