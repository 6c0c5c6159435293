import { SignInError } from '../../contract/sign-in-problems.ts'
import type { Directory, ReviewerEntry } from '../../policy/language/snapshot.ts'

/*
 * The groups that an identity provider reports for a person, by their names in the directory. An unreadable claim ends
 * the sign-in with a reason. Otherwise the person would have no groups, without knowing why.
 */

type Claims = Readonly<Record<string, unknown>>

/** Limits of one person's groups: their number, and the characters of a name. */
const GROUPS = 1_000
const GROUP_CHARS = 256

/**
 * The groups of the claim that the directory knows.
 *
 * @param claim the name of a claim, or a path into one, such as `realm_access.roles`
 * @throws SignInError `groups_unread`
 */
export function vouchedGroups(claims: Claims, claim: string, { groups }: Directory): string[] {
  const value = claimAt(claims, claim)
  if (value === undefined) throw unread(absence(claims, claim))
  const names: unknown[] = Array.isArray(value) ? value : [value]
  if (names.some((name) => typeof name === 'object'))
    throw unread(`the claim \`${claim}\` holds objects: let the provider send a list of names`)
  const mapped = names.filter(isGroup).map((name) => groups.get(name) ?? name)
  return [...new Set(mapped)].sort().slice(0, GROUPS)
}

/** The value of a claim. An exact name takes precedence over a path, because claim names may contain dots. */
export function claimAt(claims: Claims, claim: string): unknown {
  if (Object.hasOwn(claims, claim)) return claims[claim]
  let value: unknown = claims
  for (const name of claim.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Claims)[name]
  }
  return value
}

/**
 * The reason why the claim is absent. Providers store a long list elsewhere and return its location (OpenID Connect
 * Core section 5.6.2).
 */
function absence(claims: Claims, claim: string): string {
  const elsewhere = claims['_claim_names'] as Claims | null | undefined
  const isElsewhere = typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, claim)
  return isElsewhere
    ? `the provider sends the claim \`${claim}\` by reference (_claim_names), as it does for many groups: let it send only groups of this application`
    : `the provider did not send the claim \`${claim}\`: set oidc_groups_claim to its name or path, and ask for its scope`
}

const unread = (text: string): SignInError => new SignInError('groups_unread', text)

/**
 * Refuses a person without a group of the directory, who could decide nothing. Administrators may still sign in without
 * a group.
 *
 * @throws SignInError `groups_unknown`
 */
export function refuseUnknownGroups(
  vouched: readonly string[],
  { tenants }: Directory,
  { tenant, reviewer }: { readonly tenant: string; readonly reviewer: ReviewerEntry },
): void {
  const people = [...(tenants.get(tenant)?.reviewers.values() ?? [])]
  const known = new Set(people.flatMap(({ groups }) => groups))
  if (reviewer.roles.length > 0 || known.size === 0 || vouched.some((group) => known.has(group))) return
  const named = vouched.slice(0, 10).map((group) => `\`${group}\``)
  throw new SignInError(
    'groups_unknown',
    `\`${tenant}/${reviewer.id}\` is in ${named.join(', ') || 'no group'}, and in no group of directory.yaml; map names under \`identities.groups\``,
  )
}

/** True for a valid name. A name with a lone surrogate cannot be stored in a record or listed in a directory. */
const isGroup = (name: unknown): name is string =>
  typeof name === 'string' && name.length <= GROUP_CHARS && name.isWellFormed()
