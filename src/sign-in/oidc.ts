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
  /** Claims to read from the userinfo endpoint when the ID token lacks them. */
  readonly claims: readonly string[]
  /** The outbound guard, which must know the issuer's origin as named by the operator. */
  readonly outbound: Pick<Outbound, 'fetch'>
  /** Maximum total time of one step, ms. */
  readonly deadlineMs?: number
}

type Configured = { readonly library: typeof OpenId; readonly config: OpenId.Configuration }

const DEADLINE_MS = 10_000
/** A request ends before its step does, so that the next sign-in makes a new request. */
const REQUEST_SHARE = 0.9
/** The age at which the provider's metadata is reloaded, ms. */
const DISCOVERY_MS = 60 * 60_000

/**
 * OpenID Connect: authorization code flow with PKCE. openid-client checks the issuer (also by RFC 9207), audience,
 * nonce, state and times. The adapter configures it to check the signature of the ID token as well. The first sign-in
 * reads the provider's metadata; after a failure, the next sign-in reads it again.
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
  /** True when `get` answers without a request. */
  isKnown(): boolean
}

/** The answer of `ask`, kept for an hour. Concurrent callers share one request, and a failure is not kept. */
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
      throw new SignInError('provider', `the metadata of \`${issuer}\` cannot be used`, cause)
    })
  return { library, config }
}

/**
 * Sends every request through the outbound guard, which knows the issuer as named by the operator. The guard treats
 * hosts that the issuer names like any other address, so an issuer cannot open the internal network. An issuer without
 * TLS runs on this machine only, for development.
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

/**
 * Authenticates the client as the provider supports it: in a header, which is the standard's default, or in the body.
 */
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
  // the library checks this only for a token with several audiences
  if (party !== settings.clientId)
    throw new SignInError('invalid', 'the ID token was issued to another client')
  if (!subject.isWellFormed()) throw new SignInError('invalid', 'the subject of the ID token is not a text')
  // for a path, this is the first claim
  const has = (name: string): boolean => name in claims || (name.split('.')[0] ?? '') in claims
  const complete = settings.claims.every(has)
  if (complete || config.serverMetadata().userinfo_endpoint === undefined) return { issuer, subject, claims }
  const more = await library.fetchUserInfo(config, tokens.access_token, subject)
  return { issuer, subject, claims: together(claims, more) }
}

/**
 * Joins claims. Claims of the ID token take precedence. `email_verified` counts only for the address from the same
 * source.
 */
function together(first: Identity['claims'], more: Identity['claims']): Identity['claims'] {
  const { email_verified: atFirst, ...claims } = first
  const { email_verified: later, ...others } = more
  const { email } = claims
  const isSaidOfIt = email === undefined || email === more['email']
  const verified = (email === undefined ? undefined : atFirst) ?? (isSaidOfIt ? later : undefined)
  return { ...others, ...claims, ...(verified !== undefined && { email_verified: verified }) }
}

/** Ends a step at its deadline, so that a provider that hangs delays only this sign-in. @throws SignInError */
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

/** Failures of the provider: connection, configuration, unreadable answer. Any other failure rejects the person. */
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
  /** The provider's error code (RFC 6749 sections 4.1.2.1 and 5.2). */
  readonly error?: string
}

function problemOf(error: OAuthError): SignInProblem {
  const { code, error: word } = error
  if (code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR')
    return word === 'access_denied' ? 'cancelled' : 'provider'
  if (code === 'OAUTH_RESPONSE_BODY_ERROR') return word === 'invalid_grant' ? 'invalid' : 'provider'
  return error instanceof TypeError || OF_THE_PROVIDER.includes(code) ? 'provider' : 'invalid'
}
