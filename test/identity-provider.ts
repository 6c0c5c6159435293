import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import type { SignedIn } from '../src/contract/session.ts'
import { challengeOf } from '../src/domain/session.ts'

/** A real OpenID provider (oidc-provider) on loopback, in this process. It signs in `person` without a question. */
export const CLIENT_ID = 'countersign'
export const CLIENT_SECRET = 'a secret of the client, long enough for its provider'

export interface IdToken {
  readonly header: Record<string, unknown>
  readonly claims: Record<string, unknown>
}

export interface TestProvider {
  readonly issuer: string
  /** The person who signs in next, and the claims of the provider about that person. */
  person: { readonly sub: string; readonly [claim: string]: unknown }
  /** Says no in place of signing in. */
  refuses: boolean
  /** Paths that were asked for, in order. */
  readonly calls: string[]
  /** Changes ID tokens on their way; they are signed again with the same key, or with `key`. */
  tamper: ((token: IdToken) => IdToken & { readonly key?: KeyObject }) | undefined
  close(): Promise<void>
}

export interface ProviderOptions {
  readonly redirectUri: string
  /** Puts claims only at the userinfo endpoint, as the standard does; else in the ID token, as most providers do. */
  readonly thinIdToken?: boolean
  readonly authentication?: 'client_secret_basic' | 'client_secret_post' | 'none'
}

export async function startProvider(options: ProviderOptions): Promise<TestProvider> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  let handle = (_: IncomingMessage, response: ServerResponse): void => void response.end()
  const server = createServer((request, response) => handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const test: TestProvider = {
    issuer,
    person: { sub: 'nobody' },
    refuses: false,
    calls: [],
    tamper: undefined,
    close: () => closed(server),
  }
  const provider = providerOf(test, privateKey, options)
  const answer = provider.callback()
  handle = (request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? ''
    test.calls.push(path)
    if (path.startsWith('/interaction/')) return void interact(test, provider, request, response)
    if (path === '/token' && test.tamper) tamperWith(response, test.tamper, privateKey)
    answer(request, response)
  }
  return test
}

function providerOf(test: TestProvider, key: KeyObject, options: ProviderOptions): Provider {
  const { redirectUri, thinIdToken = false, authentication = 'client_secret_basic' } = options
  const provider: Provider = new Provider(test.issuer, {
    clients: [
      {
        client_id: CLIENT_ID,
        ...(authentication === 'none' ? {} : { client_secret: CLIENT_SECRET }),
        token_endpoint_auth_method: authentication,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    clientAuthMethods: [authentication],
    jwks: { keys: [{ ...key.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'one' }] },
    cookies: { keys: ['of the tests'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups', 'nickname'] },
    conformIdTokenClaims: thinIdToken,
    pkce: { required: () => true },
    ttl: {
      Interaction: 600,
      Session: 600,
      Grant: 600,
      AuthorizationCode: 60,
      AccessToken: 600,
      IdToken: 600,
    },
    features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => test.person }),
    loadExistingGrant: async (context: { oidc: { session: { accountId: string } } }) => {
      const grant = new provider.Grant({ accountId: context.oidc.session.accountId, clientId: CLIENT_ID })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
  })
  return provider
}

async function interact(
  test: TestProvider,
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  await provider.interactionDetails(request, response)
  const result = test.refuses
    ? { error: 'access_denied', error_description: 'not today' }
    : { login: { accountId: test.person.sub, remember: false } }
  await provider.interactionFinished(request, response, result)
}

/** Koa sends a JSON body in one piece, by `end`. */
function tamperWith(
  response: ServerResponse,
  change: NonNullable<TestProvider['tamper']>,
  key: KeyObject,
): void {
  const end = response.end.bind(response) as (body: string) => ServerResponse
  response.end = ((body: string | Buffer) => {
    const tokens = JSON.parse(String(body)) as { id_token?: string }
    if (tokens.id_token !== undefined) tokens.id_token = signedAgain(tokens.id_token, change, key)
    const text = JSON.stringify(tokens)
    response.setHeader('content-length', Buffer.byteLength(text))
    return end(text)
  }) as typeof response.end
}

function signedAgain(token: string, change: NonNullable<TestProvider['tamper']>, key: KeyObject): string {
  const [header, claims] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString()) as [
    string,
    string,
  ]
  const changed = change({
    header: JSON.parse(header) as IdToken['header'],
    claims: JSON.parse(claims) as IdToken['claims'],
  })
  const head = [changed.header, changed.claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  if (changed.header['alg'] === 'none') return `${head}.`
  const signature = sign('sha256', Buffer.from(head), changed.key ?? key).toString('base64url')
  return `${head}.${signature}`
}

export const otherKey = (): KeyObject =>
  createPrivateKey(
    generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
  )

async function closed(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise<void>((resolve) => server.close(() => resolve()))
}

/** A browser that keeps cookies and follows redirects, with one tab at the sign-in page. */
export class Browser {
  readonly cookies = new Map<string, string>()
  /** The secret that the tab keeps while it is away. */
  readonly verifier = randomBytes(32).toString('base64url')
  /** The secret that the tab keeps once it is signed in. */
  secret = ''

  /** The path of the button of single sign-on. */
  get start(): string {
    return `/api/review/oidc/start?challenge=${challengeOf(this.verifier)}`
  }

  /** Trades the link in `location`, to which a redirect led the tab, for the session's cookie and its secret. */
  async handOver(
    gateway: string,
    origin: string,
    location: string,
  ): Promise<[cookie: string, secret: string]> {
    const link = /#\/sign-in\/(csl_.+)$/.exec(location)?.[1]
    const response = await fetch(`${gateway}/api/review/session`, {
      method: 'POST',
      headers: { ...this.#cookie(), origin, 'content-type': 'application/json' },
      body: JSON.stringify({ link, verifier: this.verifier }),
    })
    for (const line of response.headers.getSetCookie()) this.#keep(line)
    if (!response.ok) throw new Error(`not signed in: ${response.status} ${await response.text()}`)
    this.secret = ((await response.json()) as SignedIn).page_secret
    return [this.cookies.get('__Host-countersign') ?? '', this.secret]
  }

  #cookie(): Record<string, string> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    return cookie === '' ? {} : { cookie }
  }

  /** One request; nothing is followed. */
  async ask(url: string, more: Record<string, string> = {}): Promise<Response> {
    const headers = { ...this.#cookie(), 'sec-fetch-mode': 'navigate', ...more }
    const response = await fetch(url, { redirect: 'manual', headers })
    for (const line of response.headers.getSetCookie()) this.#keep(line)
    return response
  }

  #keep(line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (value === '' || /max-age=0\b/i.test(line) || /expires=Thu, 01 Jan 1970/i.test(line))
      this.cookies.delete(name)
    else this.cookies.set(name, value)
  }

  /** Follows redirects until `stop` accepts the next URL, or an answer has no redirect. Returns the last URL. */
  async go(url: string, stop: (next: URL) => boolean): Promise<{ url: URL; hops: string[] }> {
    const hops: string[] = []
    for (let next = new URL(url); hops.length < 20;) {
      hops.push(next.href)
      const { headers } = await this.ask(next.href)
      const location = headers.get('location')
      if (location === null) return { url: next, hops }
      next = new URL(location, next)
      if (stop(next)) return { url: next, hops }
    }
    throw new Error(`too many redirects: ${hops.join(' ')}`)
  }
}
