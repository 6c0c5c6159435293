import { SignInError } from '../../contract/sign-in-problems.ts'
import type { Directory, ReviewerEntry } from '../../policy/language/snapshot.ts'
import type { Deps } from '../core/deps.ts'
import type { Identity, IdentityProvider } from './identity-provider.ts'
import { claimAt, refuseUnknownGroups, vouchedGroups } from './vouched-groups.ts'
import { freezeGuard, freezesNow } from '../core/freezes.ts'
import { registerTenant } from '../core/tenants.ts'
import { transact } from '../core/transact.ts'
import { LIMITS } from '../../contract/limits.ts'
import { isReviewerFrozen } from '../../domain/freeze.ts'
import type { Vouched } from '../../domain/session.ts'
import { newLink } from './login-links.ts'

/** The rules that match the provider's statement to a reviewer of the directory. */
export interface Matching {
  /** `email` is compared with the reviewer's address, any other claim with the reviewer's id. */
  readonly reviewerClaim: string
  readonly groupsClaim?: string
  /** The tenant to search; all when absent. */
  readonly tenant?: string
}

/** Single sign-on as configured. */
export interface SingleSignOn {
  readonly provider: IdentityProvider
  readonly matching: Matching
}

interface Match {
  readonly tenant: string
  readonly reviewer: ReviewerEntry
}

/**
 * Issues a one-time link for the person whom the provider identified. Only the tab that knows the verifier of
 * `challenge` can open a session with the link (docs/signing-in.md).
 *
 * @throws SignInError `unverified`, `unknown`, `ambiguous`, `groups_unread`, `groups_unknown`, `unavailable`
 */
export async function signInByProvider(
  deps: Deps,
  identity: Identity,
  matching: Matching,
  challenge: string,
): Promise<string> {
  const directory = directoryOf(deps)
  const match = findReviewer(directory, identity, matching)
  const { tenant } = match
  const { groupsClaim } = matching
  const groups =
    groupsClaim === undefined ? undefined : vouchedGroups(identity.claims, groupsClaim, directory)
  if (groups !== undefined) refuseUnknownGroups(groups, directory, match)
  await registerTenant(deps, tenant)
  const { issuer, subject } = identity
  const vouched: Vouched = { issuer, subject, challenge, ...(groups === undefined ? {} : { groups }) }
  const { answer } = await transact(deps, tenant, async () => {
    const { reviewer } = findReviewer(directoryOf(deps), identity, { ...matching, tenant })
    const freezes = await freezesNow(deps, tenant)
    if (isReviewerFrozen(freezes.freezes, reviewer.id))
      throw new SignInError('unknown', `\`${tenant}/${reviewer.id}\` is frozen`)
    const plan = newLink(deps, { tenant, id: reviewer.id }, { vouched, ms: LIMITS.HAND_OVER_MS })
    return { ...plan, guards: [...(plan.guards ?? []), freezeGuard(freezes)] }
  })
  return answer.token
}

function directoryOf(deps: Deps): Directory {
  const snapshot = deps.policies.current()
  if (snapshot === undefined)
    throw new SignInError('unavailable', 'no policy is in force, so no reviewer is known here yet')
  return snapshot.directory
}

/** The one reviewer that the claim names. @throws SignInError */
function findReviewer(directory: Directory, identity: Identity, matching: Matching): Match {
  const { reviewerClaim, tenant } = matching
  const bySubject = matchesIn(directory, tenant, ({ subject }) => subject === identity.subject)
  if (bySubject.length > 0) return onlyOne(bySubject, identity.subject)
  const { claims } = identity
  const value = claimAt(claims, reviewerClaim)
  if (typeof value !== 'string' || value === '')
    throw new SignInError('unknown', `the provider did not send the claim \`${reviewerClaim}\``)
  if (reviewerClaim === 'email' && claims['email_verified'] !== true)
    throw new SignInError('unverified', `the provider has not verified \`${value}\``)
  const found = matchesIn(directory, tenant, (reviewer) => isNamed(reviewer, reviewerClaim, value))
  if (found.length === 0)
    throw new SignInError('unknown', `no reviewer has the ${reviewerClaim} \`${value}\``)
  return onlyOne(found, value)
}

function matchesIn(
  directory: Directory,
  tenant: string | undefined,
  fits: (reviewer: ReviewerEntry) => boolean,
): Match[] {
  const tenants = tenant === undefined ? [...directory.tenants.keys()] : [tenant]
  return tenants.flatMap((name) =>
    [...(directory.tenants.get(name)?.reviewers.values() ?? [])]
      .filter(fits)
      .map((reviewer): Match => ({ tenant: name, reviewer })),
  )
}

/** The only match. @throws SignInError `ambiguous` */
function onlyOne(found: readonly Match[], value: string): Match {
  const [match, another] = found
  if (match !== undefined && another === undefined) return match
  const names = found.map((one) => `${one.tenant}/${one.reviewer.id}`).join(' and ')
  throw new SignInError('ambiguous', `\`${value}\` is ${names}; set oidc_tenant`)
}

/**
 * True when the claim names the reviewer. A reviewer with a `subject` in the directory matches only by that subject.
 */
function isNamed({ id, email, subject }: ReviewerEntry, claim: string, value: string): boolean {
  if (subject !== undefined) return false
  return claim === 'email' ? email !== undefined && plain(email) === plain(value) : id === value
}

/**
 * The address with A to Z in lower case. All other characters are unchanged. Outside ASCII, different characters can
 * have the same lower case, such as K and the Kelvin sign.
 */
const plain = (address: string): string => address.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
