import type { Config } from '../settings/settings.ts'
import { defined } from '../contract/defined.ts'
import type { SingleSignOn } from '../gateway/auth/sign-in-by-provider.ts'
import { createOutbound } from '../outbound/outbound.ts'
import { openIdProvider } from '../sign-in/oidc.ts'

/** Returns single sign-on with the identity provider of the configuration; an empty object without one. */
export function singleSignOnOf(config: Config): { singleSignOn?: SingleSignOn } {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcScopes: scopes } = config
  const { oidcReviewerClaim: reviewerClaim, oidcGroupsClaim: groupsClaim } = config
  if (issuer === undefined || clientId === undefined) return {}
  const provider = openIdProvider({
    issuer,
    clientId,
    scopes,
    ...defined({ clientSecret: config.oidcClientSecret, label: config.oidcLabel }),
    outbound: createOutbound({ allowed: config.webhooksAllow ?? [], named: new URL(issuer).origin }),
    claims: [
      reviewerClaim,
      ...(reviewerClaim === 'email' ? ['email_verified'] : []),
      ...(groupsClaim === undefined ? [] : [groupsClaim]),
    ],
  })
  const matching = { reviewerClaim, ...defined({ groupsClaim, tenant: config.oidcTenant }) }
  return { singleSignOn: { provider, matching } }
}
