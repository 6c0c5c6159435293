/**
 * Holds: the OpenID Connect client.
 * Imports: contract, domain, gateway, outbound.
 * Start: oidc.ts.
 */
import type * as OpenId from 'openid-client'
import { SignInError, type SignInProblem } from '../contract/sign-in-problems.ts'
import type { Outbound } from '../outbound/outbound.ts'
import type { Flow, Identity, IdentityProvider } from '../gateway/auth/identity-provider.ts'

export interface OidcSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: string
  /** Separated by spaces. */
  readonly scopes: string
  readonly label?: string
  /** Claims that are asked of the userinfo endpoint when the ID token has them not. */
  readonly claims: readonly string[]
  /** It knows the issuer's origin as one that the operator has named. */
  readonly outbound: Pick<Outbound, 'fetch'>
  /** Longest time that one step may take in all, ms. */
  readonly deadlineMs?: number
}

type Configured = { readonly library: typeof OpenId; readonly config: OpenId.Configuration }

const DEADLINE_MS = 10_000
/** One request ends before the step does, so that whoever comes next asks anew. */
const REQUEST_SHARE = 0.9
/** What the provider says about itself is asked again after so long. */
const DISCOVERY_MS = 60 * 60_000

/**
 * OpenID Connect: authorization code flow with PKCE. openid-client checks issuer (RFC 9207, too), audience, nonce, state and times; we make it
 * check the signature of the ID token as well. The provider is asked for the first time when somebody signs in, and again when that failed.
 */
export function openIdProvider(settings: OidcSettings): IdentityProvider {
  const deadlineMs = settings.deadlineMs ?? DEADLINE_MS
  const discovered = asked(() => discover(settings, deadlineMs))
  return {
    label: settings.label ?? new URL(settings.issuer).host,
    isKnown: () => discovered.isKnown(),
    authorize: (flow, redirectUri) =>
      inTime(deadlineMs, async () => authorizationUrl(await discovered.get(), settings, flow, redirectUri)),
    redeem: (flow, callback) =>
      inTime(deadlineMs, async () => redeem(await discovered.get(), settings, flow, callback)),
  }
}

interface Asked {
  get(): Promise<Configured>
  /** Whether `get` asks nobody anew. */
  isKnown(): boolean
}

/** The answer of `ask`, kept for an hour; those who ask at once share it, and a failure is not kept. */
function asked(ask: () => Promise<Configured>): Asked {
  let answer: Promise<Configured> | undefined
  let at = 0
  const known = (): Promise<Configured> | undefined =>
    performance.now() - at < DISCOVERY_MS ? answer : undefined
  const begin = (): Promise<Configured> => {
    const asking = ask()
    asking.catch(() => {
      if (answer === asking) answer = undefined
    })
    answer = asking
    at = performance.now()
    return asking
  }
  return { get: () => known() ?? begin(), isKnown: () => known() !== undefined }
}

async function discover(settings: OidcSettings, deadlineMs: number): Promise<Configured> {
  const library = await import('openid-client')
  const { issuer, clientId } = settings
  const url = new URL(issuer)
  const config = await library
    .discovery(url, clientId, undefined, authenticationOf(library, settings.clientSecret), {
      timeout: (deadlineMs * REQUEST_SHARE) / 1000,
      [library.customFetch]: fetchFor(settings, deadlineMs * REQUEST_SHARE),
      execute: [
        library.enableNonRepudiationChecks,
        ...(url.protocol === 'http:' ? [library.allowInsecureRequests] : []),
      ],
    })
    .catch((cause: unknown) => {
      throw new SignInError('provider', `what \`${issuer}\` says about itself is of no use`, cause)
    })
  return { library, config }
}

/**
 * Everything goes through the guard, which knows the issuer as what the operator has named; what the issuer names on other hosts is judged like every other
 * address: its word alone opens nothing inside the network. An issuer without TLS can only be on this machine, for development.
 */
function fetchFor({ issuer, outbound }: OidcSettings, deadlineMs: number): OpenId.CustomFetch {
  const { origin, protocol } = new URL(issuer)
  return (url, { method, headers, body, signal }) => {
    const init = { method, headers, ...(signal === undefined ? {} : { signal }) }
    if (protocol === 'http:' && new URL(url).origin === origin)
      return fetch(url, { ...init, body: body as string, redirect: 'manual' })
    const text = body === undefined || body === null ? {} : { body: String(body as string | URLSearchParams) }
    return outbound.fetch(url, { ...init, ...text, deadlineMs })
  }
}

/** In the way the provider takes: by a header, which is the default of the standard, else in the body. */
function authenticationOf(library: typeof OpenId, secret: string | undefined): OpenId.ClientAuth {
  if (secret === undefined) return library.None()
  const [basic, post] = [library.ClientSecretBasic(secret), library.ClientSecretPost(secret)]
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const way = methods.includes('client_secret_basic') ? basic : post
    return way(server, client, body, headers)
  }
}

async function authorizationUrl(
  { library, config }: Configured,
  { scopes }: OidcSettings,
  { state, nonce, verifier }: Flow,
  redirectUri: string,
): Promise<string> {
  const url = library.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: scopes,
    state,
    nonce,
    code_challenge: await library.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  return url.href
}

async function redeem(
  { library, config }: Configured,
  settings: OidcSettings,
  { state, nonce, verifier }: Flow,
  callback: URL,
): Promise<Identity> {
  const tokens = await library.authorizationCodeGrant(config, callback, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: verifier,
    idTokenExpected: true,
  })
  const claims = tokens.claims()
  if (claims === undefined) throw new SignInError('invalid', 'the provider sent no ID token')
  const { iss: issuer, sub: subject, azp: party = settings.clientId } = claims
  // the library looks at it only where the token has several audiences
  if (party !== settings.clientId)
    throw new SignInError('invalid', 'the ID token was made out to another client')
  if (!subject.isWellFormed()) throw new SignInError('invalid', 'the subject of the ID token is no text')
  // of a path, the claim that it begins with
  const has = (name: string): boolean => name in claims || (name.split('.')[0] ?? '') in claims
  const complete = settings.claims.every(has)
  if (complete || config.serverMetadata().userinfo_endpoint === undefined) return { issuer, subject, claims }
  const more = await library.fetchUserInfo(config, tokens.access_token, subject)
  return { issuer, subject, claims: together(claims, more) }
}

/** The ID token comes first. That an address was verified is said of the address beside it, and of no other. */
function together(first: Identity['claims'], more: Identity['claims']): Identity['claims'] {
  const { email_verified: atFirst, ...claims } = first
  const { email_verified: later, ...others } = more
  const { email } = claims
  const isSaidOfIt = email === undefined || email === more['email']
  const verified = (email === undefined ? undefined : atFirst) ?? (isSaidOfIt ? later : undefined)
  return { ...others, ...claims, ...(verified !== undefined && { email_verified: verified }) }
}

/** A provider that hangs holds up nobody but the one who waits for it. @throws SignInError */
async function inTime<T>(deadlineMs: number, work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const refuse = (): void =>
      reject(new SignInError('provider', `no answer from the provider within ${deadlineMs} ms`))
    timer = setTimeout(refuse, deadlineMs)
  })
  try {
    return await Promise.race([work(), late])
  } catch (error) {
    throw asSignInError(error)
  } finally {
    clearTimeout(timer)
  }
}

/** Failures that say nothing about the person: the connection, the configuration, an answer that is none. Of others the checks say no. */
const OF_THE_PROVIDER: readonly (string | undefined)[] = [
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
  'OAUTH_HTTP_REQUEST_FORBIDDEN',
  'OAUTH_MISSING_SERVER_METADATA',
  'OAUTH_INVALID_SERVER_METADATA',
  'OAUTH_WWW_AUTHENTICATE_CHALLENGE',
]

function asSignInError(error: unknown): SignInError {
  if (error instanceof SignInError) return error
  const { message } = error as Error
  return new SignInError(problemOf(error as OAuthError), message, error)
}

interface OAuthError extends Error {
  readonly code?: string
  /** The provider's own word (RFC 6749 sections 4.1.2.1 and 5.2). */
  readonly error?: string
}

function problemOf(error: OAuthError): SignInProblem {
  const { code, error: word } = error
  if (code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR')
    return word === 'access_denied' ? 'cancelled' : 'provider'
  if (code === 'OAUTH_RESPONSE_BODY_ERROR') return word === 'invalid_grant' ? 'invalid' : 'provider'
  return error instanceof TypeError || OF_THE_PROVIDER.includes(code) ? 'provider' : 'invalid'
}
