import { type Config, ConfigError } from './settings.ts'
import { TENANT_NAME } from '../domain/id.ts'

/** Settings of sign-in that would not work, or not safely. @throws ConfigError */
export function checkSignIn(config: Config): void {
  const { publicUrl, oidcIssuer, oidcClientId, oidcScopes, oidcTenant } = config
  if (publicUrl !== undefined && !isOrigin(publicUrl))
    throw new ConfigError(
      `public_url: \`${publicUrl}\` must be an origin, such as https://countersign.example, without path`,
    )
  if (oidcIssuer === undefined && oidcClientId === undefined) return
  if (oidcIssuer === undefined) throw new ConfigError('oidc_client_id: it needs oidc_issuer beside it')
  if (oidcClientId === undefined) throw new ConfigError('oidc_issuer: it needs oidc_client_id beside it')
  if (!isIssuer(oidcIssuer))
    throw new ConfigError(
      `oidc_issuer: \`${oidcIssuer}\` must be the https URL of the issuer itself, without query; http only on this machine`,
    )
  if (!oidcScopes.split(' ').includes('openid'))
    throw new ConfigError('oidc_scopes: `openid` must be among them, else nobody says who signs in')
  if (oidcTenant !== undefined && !TENANT_NAME.test(oidcTenant))
    throw new ConfigError(`oidc_tenant: \`${oidcTenant}\` is no name of a tenant`)
}

function isOrigin(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['https:', 'http:'].includes(url.protocol)) return false
  return url.href === `${url.origin}/`
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

function isIssuer(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.search !== '' || url.hash !== '' || url.username !== '') return false
  if (url.pathname.includes('/.well-known/')) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname))
}
