import { SignInError } from '../../contract/sign-in-problems.ts'
import type { Directory, ReviewerEntry } from '../../policy/evaluate/snapshot.ts'
import type { Deps } from '../core/deps.ts'
import type { Identity, IdentityProvider } from './identity-provider.ts'
import { registerTenant } from '../core/tenants.ts'
import { transact } from '../core/transact.ts'
import { LIMITS } from '../../contract/limits.ts'
import type { Vouched } from '../../domain/session.ts'
import { newLink } from './login-links.ts'

/** How what the provider says becomes a reviewer of the directory. */
export interface Matching {
  /** `email` is compared with the reviewer's address, any other claim with the reviewer's id. */
  readonly reviewerClaim: string
  readonly groupsClaim?: string
  /** Where to look; everywhere when absent. */
  readonly tenant?: string
}

/** Single sign-on as it is configured. */
export interface SingleSignOn {
  readonly provider: IdentityProvider
  readonly matching: Matching
}

interface Match {
  readonly tenant: string
  readonly reviewer: ReviewerEntry
}

/**
 * A one-time link for the person the provider vouches for. It opens a session for the tab that knows the verifier of
 * `challenge`, and for nobody else (docs/signing-in.md).
 *
 * @throws SignInError `unverified`, `unknown`, `ambiguous`, `unavailable`
 */
export async function signInByProvider(
  deps: Deps,
  identity: Identity,
  matching: Matching,
  challenge: string,
): Promise<string> {
  const { tenant } = findReviewer(directoryOf(deps), identity, matching)
  await registerTenant(deps, tenant)
  const groups = groupsOf(identity, matching)
  const { issuer, subject } = identity
  const vouched: Vouched = { issuer, subject, challenge, ...(groups === undefined ? {} : { groups }) }
  const { answer } = await transact(deps, tenant, () => {
    const { reviewer } = findReviewer(directoryOf(deps), identity, { ...matching, tenant })
    return Promise.resolve(newLink(deps, { tenant, id: reviewer.id }, { vouched, ms: LIMITS.HAND_OVER_MS }))
  })
  return answer.token
}

function directoryOf(deps: Deps): Directory {
  const snapshot = deps.policies.current()
  if (snapshot === undefined)
    throw new SignInError('unavailable', 'no policy is in force, so nobody is known here yet')
  return snapshot.directory
}

/** The one reviewer the claim names. @throws SignInError */
function findReviewer(directory: Directory, { claims }: Identity, matching: Matching): Match {
  const { reviewerClaim, tenant } = matching
  const value = claims[reviewerClaim]
  if (typeof value !== 'string' || value === '')
    throw new SignInError('unknown', `the provider did not send the claim \`${reviewerClaim}\``)
  if (reviewerClaim === 'email' && claims['email_verified'] !== true)
    throw new SignInError('unverified', `the provider has not verified \`${value}\``)
  const tenants = tenant === undefined ? [...directory.tenants.keys()] : [tenant]
  const found = tenants.flatMap((name) =>
    [...(directory.tenants.get(name)?.reviewers.values() ?? [])]
      .filter((reviewer) => isNamed(reviewer, reviewerClaim, value))
      .map((reviewer): Match => ({ tenant: name, reviewer })),
  )
  const [match, another] = found
  if (match === undefined)
    throw new SignInError('unknown', `no reviewer has the ${reviewerClaim} \`${value}\``)
  if (another !== undefined)
    throw new SignInError(
      'ambiguous',
      `\`${value}\` is ${found.map((one) => `${one.tenant}/${one.reviewer.id}`).join(' and ')}; set oidc_tenant`,
    )
  return match
}

function isNamed({ id, email }: ReviewerEntry, claim: string, value: string): boolean {
  return claim === 'email' ? email !== undefined && plain(email) === plain(value) : id === value
}

/** Only A to Z have a small form here: of other letters some have that of another (the Kelvin sign has that of K), which is another address. */
const plain = (address: string): string => address.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

/** Most groups of one person that are kept, and characters of the name of one. */
const GROUPS = 1_000
const GROUP_CHARS = 256

/** The groups of the claim; none when the provider sent none. Undefined when the directory says them. */
function groupsOf({ claims }: Identity, { groupsClaim }: Matching): string[] | undefined {
  if (groupsClaim === undefined) return undefined
  const value = claims[groupsClaim]
  const names: unknown[] = Array.isArray(value) ? value : [value]
  return [...new Set(names.filter(isGroup))].sort().slice(0, GROUPS)
}

/** A lone surrogate cannot be kept in a record, and no directory can name it. */
const isGroup = (name: unknown): name is string =>
  typeof name === 'string' && name.length <= GROUP_CHARS && name.isWellFormed()
