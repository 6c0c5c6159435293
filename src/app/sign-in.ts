import type { Config } from '../settings/settings.ts'
import type { SingleSignOn } from '../gateway/auth/sign-in-by-provider.ts'
import { createOutbound } from '../outbound/outbound.ts'
import { openIdProvider } from '../sign-in/oidc.ts'

/** Returns single sign-on with the identity provider of the configuration; an empty object without one. */
export function singleSignOnOf(config: Config): { singleSignOn?: SingleSignOn } {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcReviewerClaim: reviewerClaim } = config
  if (issuer === undefined || clientId === undefined) return {}
  const { oidcClientSecret, oidcGroupsClaim, oidcLabel, oidcTenant } = config
  const provider = openIdProvider({
    outbound: createOutbound({ allowed: config.webhooksAllow ?? [], named: new URL(issuer).origin }),
    issuer,
    clientId,
    scopes: config.oidcScopes,
    claims: [
      reviewerClaim,
      ...(reviewerClaim === 'email' ? ['email_verified'] : []),
      ...(oidcGroupsClaim === undefined ? [] : [oidcGroupsClaim]),
    ],
    ...(oidcClientSecret === undefined ? {} : { clientSecret: oidcClientSecret }),
    ...(oidcLabel === undefined ? {} : { label: oidcLabel }),
  })
  const matching = {
    reviewerClaim,
    ...(oidcGroupsClaim === undefined ? {} : { groupsClaim: oidcGroupsClaim }),
    ...(oidcTenant === undefined ? {} : { tenant: oidcTenant }),
  }
  return { singleSignOn: { provider, matching } }
}
