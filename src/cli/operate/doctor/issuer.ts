import { isObject } from '../../../contract/json.ts'
import type { Config } from '../../../settings/config.ts'
import { error, type Finding, ok, warning } from './finding.ts'

const ASK_MS = 5_000
const CHECK = 'sign-in'
const ENDPOINTS = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const
const AT_PROVIDER = 'change the client at the provider, or the setting'

type Metadata = Readonly<Record<string, unknown>>

/** Compares the OpenID Connect issuer's metadata with the settings. */
export async function lookAtIssuer(config: Config): Promise<Finding[]> {
  const { oidcIssuer: issuer } = config
  if (issuer === undefined) return []
  const place = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const response = await fetch(place, { redirect: 'manual', signal: AbortSignal.timeout(ASK_MS) }).catch(
    (cause: unknown) => cause as Error,
  )
  if (response instanceof Error) return unanswered(issuer, response)
  const metadata = await metadataOf(response)
  if (metadata === undefined)
    return [
      error(
        CHECK,
        `${place} answers ${response.status} without metadata`,
        'check that oidc_issuer names the issuer itself',
      ),
    ]
  const differing = differences(metadata, config, issuer)
  return differing.length > 0 ? differing : [ok(CHECK, `the metadata of ${issuer} fits the settings`)]
}

/** The finding on a missing answer. A failed TLS connection is reported with its certificate. */
function unanswered(issuer: string, { name, message, cause }: Error): Finding[] {
  if (name !== 'TimeoutError' && issuer.startsWith('https:')) return []
  const why = cause instanceof Error ? cause.message : message
  return [warning(CHECK, `${issuer} does not answer: ${why}`, 'the gateway itself must reach it')]
}

async function metadataOf(response: Response): Promise<Metadata | undefined> {
  const body = (await response.json().catch(() => undefined)) as unknown
  return response.status === 200 && isObject(body) ? (body as Metadata) : undefined
}

function differences(metadata: Metadata, config: Config, issuer: string): Finding[] {
  return [
    ...ofIssuer(metadata, issuer),
    ...ENDPOINTS.filter((name) => !isUrl(metadata[name])).map((name) =>
      error(CHECK, `the metadata of ${issuer} has no \`${name}\``, 'ask the administrator of the provider'),
    ),
    ...ofPkce(metadata, issuer),
    ...ofResponses(metadata, issuer),
    ...lacking(metadata['scopes_supported'], config.oidcScopes.split(' ')).map((scope) =>
      warning(CHECK, `${issuer} does not list the scope \`${scope}\` of oidc_scopes`, AT_PROVIDER),
    ),
    ...ofClaims(metadata, config, issuer),
  ]
}

function ofIssuer({ issuer: theirs }: Metadata, ours: string): Finding[] {
  // the setting may lack the provider's final slash, because sign-in compares URLs
  if (typeof theirs === 'string' && URL.canParse(theirs) && new URL(theirs).href === new URL(ours).href)
    return []
  const what = `the provider names itself ${JSON.stringify(theirs) ?? 'nothing'}, but oidc_issuer is "${ours}"`
  return [error(CHECK, what, 'set oidc_issuer to the name that the provider uses')]
}

function ofPkce({ code_challenge_methods_supported: methods }: Metadata, issuer: string): Finding[] {
  const todo = 'sign-in sends PKCE with S256: let the provider accept it'
  if (methods === undefined) return [warning(CHECK, `${issuer} does not report support for PKCE`, todo)]
  if (lacking(methods, ['S256']).length === 0) return []
  return [error(CHECK, `${issuer} does not support PKCE with S256`, todo)]
}

function ofResponses({ response_types_supported: types }: Metadata, issuer: string): Finding[] {
  if (lacking(types, ['code']).length === 0) return []
  return [error(CHECK, `${issuer} does not support the response type \`code\``, AT_PROVIDER)]
}

function ofClaims({ claims_supported: known }: Metadata, config: Config, issuer: string): Finding[] {
  const wanted = { oidc_reviewer_claim: config.oidcReviewerClaim, oidc_groups_claim: config.oidcGroupsClaim }
  return Object.entries(wanted).flatMap(([setting, claim]) => {
    // a path begins with the claim that contains the value; a name with a dot may be the claim itself
    const names = claim === undefined ? [] : [...new Set([claim, claim.split('.')[0] ?? ''])]
    if (lacking(known, names).length < names.length || names.length === 0) return []
    const what = `${issuer} does not list the claim \`${names.at(-1)}\` of ${setting} in claims_supported`
    return [warning(CHECK, what, 'let the provider send it, or name another claim')]
  })
}

/** The wanted entries that the list lacks. A missing list is not a finding. */
const lacking = (list: unknown, wanted: readonly string[]): string[] =>
  Array.isArray(list) ? wanted.filter((one) => !list.includes(one)) : []

const isUrl = (value: unknown): boolean => typeof value === 'string' && URL.canParse(value)
