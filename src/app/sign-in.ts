import type { Config } from '../settings/settings.ts'
import { section } from '../settings/section.ts'
import type { SingleSignOn } from '../gateway/auth/sign-in-by-provider.ts'
import { createOutbound } from '../outbound/outbound.ts'
import { openIdProvider } from '../sign-in/oidc.ts'

/** Returns single sign-on with the identity provider of the configuration; an empty object without one. */
export function singleSignOnOf(config: Config): { singleSignOn?: SingleSignOn } {
  const oidc = section(config, 'oidc')
  const { issuer, clientId, reviewerClaim, groupsClaim } = oidc
  if (issuer === undefined || clientId === undefined) return {}
  const provider = openIdProvider({
    ...oidc,
    issuer,
    clientId,
    outbound: createOutbound({ allowed: config.webhooksAllow ?? [], named: new URL(issuer).origin }),
    claims: [
      reviewerClaim,
      ...(reviewerClaim === 'email' ? ['email_verified'] : []),
      ...(groupsClaim === undefined ? [] : [groupsClaim]),
    ],
  })
  return { singleSignOn: { provider, matching: oidc } }
}
