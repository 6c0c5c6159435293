import { createServer } from 'node:http'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { LIMITS } from '../../src/contract/limits.ts'
import type { SIGN_IN_PROBLEMS } from '../../src/contract/sign-in-problems.ts'
import type { Me, SignInOptions, SignedIn } from '../../src/contract/session.ts'
import { beginFlow } from '../../src/gateway/auth/identity-provider.ts'
import { createOutbound } from '../../src/outbound/outbound.ts'
import { Receivers } from '../webhooks/receiver.ts'
import { openIdProvider } from '../../src/sign-in/oidc.ts'
import {
  type Given,
  type Agent,
  type Answer,
  call,
  edited,
  held,
  MINUTE,
  openWorld,
  pageOf,
  type World,
  type WorldOptions,
} from '../gateway-fixture.ts'
import { until } from '../until.ts'
import {
  Browser,
  CLIENT_ID,
  CLIENT_SECRET,
  type IdToken,
  otherKey,
  type ProviderOptions,
  startProvider,
  type TestProvider,
} from '../identity-provider.ts'

/** Single sign-on against a real OpenID provider, offline (docs/signing-in.md). */

const SITE = 'https://countersign.example'
const CALLBACK = `${SITE}/api/review/oidc/callback`
const BEN = { sub: 'ben-1', email: 'ben@acme.example', email_verified: true }
const WITH_BEN = edited(
  'directory.yaml',
  'ben:  { name: Ben Bay,',
  'ben:  { name: Ben Bay, email: ben@acme.example,',
)
const ANN = { sub: 'ann-1', email: 'Ann@Acme.example', email_verified: true }

let provider: TestProvider
let world: World

beforeAll(async () => {
  ;({ provider, world } = await pair())
})
afterAll(async () => {
  await world.close()
  await provider.close()
})
beforeEach(() => {
  Object.assign(provider, { person: ANN, refuses: false, tamper: undefined })
  world.logged.length = 0
})

interface Pair {
  readonly provider: TestProvider
  readonly world: World
}

/** A provider and a gateway that trusts it. */
async function pair(
  config: Given = {},
  options: Partial<ProviderOptions> = {},
  files: WorldOptions['files'] = {},
): Promise<Pair> {
  const started = await startProvider({ redirectUri: CALLBACK, ...options })
  const opened = await openWorld({
    files,
    config: {
      publicUrl: SITE,
      oidcIssuer: started.issuer,
      oidcClientId: CLIENT_ID,
      ...(options.authentication === 'none' ? {} : { oidcClientSecret: CLIENT_SECRET }),
      ...config,
    },
  })
  return { provider: started, world: opened }
}

async function withPair(made: Promise<Pair>, act: (made: Pair) => Promise<void>): Promise<void> {
  const both = await made
  try {
    await act(both)
  } finally {
    await both.world.close()
    await both.provider.close()
  }
}

/** The same place on the gateway of the test: people know it by another name. */
const local = (at: World, url: URL | string): string => String(url).replace(SITE, at.url)

/** Follows the redirects to the provider and back, and stops in front of the gateway. Returns the URL with the code. */
async function codeFor(browser: Browser, at = world, change = (url: URL): URL => url): Promise<URL> {
  const start = await browser.ask(`${at.url}${browser.start}`)
  expect(start.status).toBe(302)
  const authorize = change(new URL(start.headers.get('location') ?? ''))
  const { url } = await browser.go(authorize.href, (next) => next.origin === SITE)
  expect(url.pathname).toBe('/api/review/oidc/callback')
  return url
}

/** Returns the place to which the gateway sends a browser that brings the answer of the provider. */
async function knock(browser: Browser, url: URL | string, at = world): Promise<string> {
  const response = await browser.ask(local(at, url))
  expect(response.status).toBe(303)
  expect(response.headers.get('cache-control')).toBe('no-store')
  return response.headers.get('location') ?? ''
}

/** A one-time link, in the fragment: the page alone reads it. */
const HANDED = /^\/console\/#\/sign-in\/csl_[a-z]+_[\w-]{49}$/
/** The start of tabs that no test looks at afterwards. */
const START = new Browser().start
const SESSION = '__Host-countersign'
const FLOW = '__Host-countersign-oidc'

async function signIn(browser = new Browser(), at = world): Promise<Browser> {
  const location = await knock(browser, await codeFor(browser, at), at)
  expect(location).toMatch(HANDED)
  expect([...browser.cookies.keys()]).not.toContain(FLOW)
  await browser.handOver(at.url, SITE, location)
  return browser
}

const sessionOf = ({ cookies, secret }: Browser): Record<string, string> => ({
  cookie: `${SESSION}=${cookies.get(SESSION)}`,
  'countersign-page': secret,
})

function meOf(browser: Browser, at = world): Promise<Answer<Me>> {
  return call<Me>(`${at.url}/api/review/me`, 'GET', {
    headers: sessionOf(browser),
  })
}

/** Expects that `act` ends on the sign-in page with this code, and that no record was written. */
async function refused(
  act: () => Promise<string>,
  problem: keyof typeof SIGN_IN_PROBLEMS,
  at = world,
): Promise<void> {
  let location = ''
  const records = await at.evidenceOf(async () => {
    location = await act()
  })
  expect(location).toBe(`/console/#/sign-in?problem=${problem}`)
  expect(records).toEqual([])
  expect(at.logged.join('')).toContain('single sign-on failed')
}

describe('single sign-on', () => {
  it('302 to the provider with PKCE, state and nonce; 303 back with a session for the verified address', async () => {
    const browser = new Browser()
    const start = await browser.ask(`${world.url}${browser.start}`)
    const asked = new URL(start.headers.get('location') ?? '')
    expect(asked.origin).toBe(provider.issuer)
    expect(Object.fromEntries(asked.searchParams)).toEqual({
      client_id: CLIENT_ID,
      redirect_uri: CALLBACK,
      response_type: 'code',
      scope: 'openid email profile',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    })
    expect(start.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Host-countersign-oidc=[\w-]+; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=600$/,
      ),
    ])
    const records = await world.evidenceOf(async () => {
      await signIn(browser)
    })
    const { status, body } = await meOf(browser)
    expect([status, body.tenant, body.reviewer, body.via]).toEqual([200, 'acme', 'ann', 'oidc'])
    expect(body.groups).toEqual(['desk', 'leads', 'board'])
    expect(records.map(({ record }) => [record.type, record.actor.id, record.details])).toEqual([
      ['session.opened', 'ann', expect.objectContaining({ via: 'oidc', issuer: provider.issuer })],
    ])
    expect(records[0]?.disclosures?.members).toEqual({ subject: 'ann-1' })
  })

  it("200 offers single sign-on on the sign-in page, with the provider's host", async () => {
    const { body } = await call<SignInOptions>(`${world.url}/api/review/session`, 'GET')
    expect(body).toEqual({
      signed_in: false,
      single_sign_on: { label: new URL(provider.issuer).host, url: '/api/review/oidc/start' },
    })
  })

  it('ends the earlier session of the browser', async () => {
    const browser = await signIn()
    const headers = sessionOf(browser)
    await signIn(browser)
    expect(sessionOf(browser)).not.toEqual(headers)
    expect((await call(`${world.url}/api/review/me`, 'GET', { headers })).status).toBe(401)
    expect((await meOf(browser)).status).toBe(200)
  })

  it('returns a link that works once, within a minute, and only in the tab that began', async () => {
    const browser = new Browser()
    const hand = async (): Promise<string> => knock(browser, await codeFor(browser))
    const open = (location: string, verifier?: string): Promise<Answer<SignedIn>> =>
      call<SignedIn>(`${world.url}/api/review/session`, 'POST', {
        body: { link: location.split('/').at(-1), ...(verifier && { verifier }) },
        headers: pageOf(SITE),
      })
    const location = await hand()
    const records = await world.evidenceOf(async () => {
      for (const verifier of [undefined, new Browser().verifier])
        expect((await open(location, verifier)).status).toBe(401)
    })
    expect(records).toEqual([])
    expect((await open(location, browser.verifier)).body.me.reviewer).toBe('ann')
    expect((await open(location, browser.verifier)).status).toBe(401)
    const late = await hand()
    world.clock.advance(MINUTE)
    expect((await open(late, browser.verifier)).status).toBe(401)
    expect((await open(await world.link('ann'), browser.verifier)).status, 'of an administrator').toBe(401)
  })

  it('problem=expired for a sign-in that did not begin at the sign-in page', async () => {
    for (const query of [
      '',
      '?challenge=',
      `?challenge=${'c'.repeat(42)}`,
      `?${START.split('?')[1]}&challenge=x`,
    ]) {
      const answer = await new Browser().ask(`${world.url}/api/review/oidc/start${query}`)
      expect([query, answer.headers.get('location')]).toEqual([query, '/console/#/sign-in?problem=expired'])
    }
  })

  it('404 on both routes when no provider is configured', async () => {
    const own = await openWorld()
    try {
      for (const path of ['start', 'callback?code=a&state=b']) {
        expect((await call(`${own.url}/api/review/oidc/${path}`, 'GET')).status).toBe(404)
      }
      expect((await call<SignInOptions>(`${own.url}/api/review/session`, 'GET')).body).toEqual({
        signed_in: false,
      })
    } finally {
      await own.close()
    }
  })

  it.each(['client_secret_post', 'none'] as const)(
    'signs in with client authentication by %s',
    async (authentication) => {
      await withPair(pair({}, { authentication }), async (made) => {
        made.provider.person = ANN
        await signIn(new Browser(), made.world)
      })
    },
  )

  it('asks the userinfo endpoint when the ID token lacks the claims', async () => {
    await withPair(pair({}, { thinIdToken: true }), async (made) => {
      made.provider.person = ANN
      await signIn(new Browser(), made.world)
      expect(made.provider.calls).toContain('/me')
    })
  })
})

describe('an answer that this browser did not ask for', () => {
  it('a code that was used is refused, and its session is not returned again', async () => {
    const browser = new Browser()
    const url = await codeFor(browser)
    const flow = browser.cookies.get(FLOW) ?? ''
    expect(await knock(browser, url)).toMatch(HANDED)
    const thief = new Browser()
    thief.cookies.set(FLOW, flow)
    provider.calls.length = 0
    await refused(() => knock(thief, url), 'expired')
    expect(provider.calls).toEqual([])
    expect(thief.cookies.has(SESSION)).toBe(false)
  })

  it('a flow that is repeated as often as sign-ins are allowed locks no reviewer out', async () => {
    await withPair(pair(), async (made) => {
      made.provider.person = ANN
      const browser = new Browser()
      const url = await codeFor(browser, made.world)
      const flow = browser.cookies.get(FLOW) ?? ''
      await knock(browser, url, made.world)
      const thief = new Browser()
      for (let i = 0; i < LIMITS.SIGN_INS_PER_MINUTE; i++) {
        thief.cookies.set(FLOW, flow)
        await thief.ask(local(made.world, url))
      }
      await signIn(new Browser(), made.world)
    })
  })

  it('429 for a flow beyond those that one address may begin in a minute, and no other address has less', async () => {
    await withPair(pair({ trustedProxies: '127.0.0.1' }), async (made) => {
      made.provider.person = ANN
      const statuses: number[] = []
      for (let i = 0; i <= LIMITS.FLOWS_PER_ADDRESS; i++) {
        const stranger = new Browser()
        const from = { 'x-forwarded-for': 'forged, 192.0.2.7' }
        statuses.push((await stranger.ask(`${made.world.url}${stranger.start}`, from)).status)
      }
      expect(statuses.indexOf(429)).toBe(statuses.length - 1)
      await signIn(new Browser(), made.world)
    })
  })

  it('ten tabs sign in, also when four addresses have used up the token requests of a minute', async () => {
    await withPair(pair({ trustedProxies: '127.0.0.1' }), async (made) => {
      made.provider.person = ANN
      const strangers = Array.from({ length: LIMITS.SIGN_INS_PER_MINUTE }, async (_, i) => {
        const stranger = new Browser()
        const from = addressOf(i % 4)
        const start = await stranger.ask(`${made.world.url}${stranger.start}`, from)
        const state = new URL(start.headers.get('location') ?? '').searchParams.get('state') ?? ''
        const url = `${CALLBACK}?${String(new URLSearchParams({ code: 'b'.repeat(43), state }))}`
        return (await stranger.ask(local(made.world, url), from)).status
      })
      expect(new Set(await Promise.all(strangers))).toEqual(new Set([303]))
      await Promise.all(Array.from({ length: 10 }, () => signIn(new Browser(), made.world)))
    })
  })

  it('another state is refused without a request to the provider', async () => {
    const browser = new Browser()
    const url = await codeFor(browser)
    url.searchParams.set('state', 'a'.repeat(43))
    provider.calls.length = 0
    await refused(() => knock(browser, url), 'expired')
    expect(provider.calls).toEqual([])
  })

  it.each([
    ['no state', (url: URL) => url.searchParams.delete('state')],
    ['state twice', (url: URL) => url.searchParams.append('state', 'b')],
    ['code twice', (url: URL) => url.searchParams.append('code', 'b')],
    ['no code', (url: URL) => url.searchParams.delete('code')],
    ['another code', (url: URL) => url.searchParams.set('code', 'b'.repeat(43))],
    ['another issuer', (url: URL) => url.searchParams.set('iss', 'https://evil.example')],
    ['no issuer, which this provider always names', (url: URL) => url.searchParams.delete('iss')],
  ])('%s is refused', async (_, change) => {
    const browser = new Browser()
    const url = await codeFor(browser)
    change(url)
    const location = await knock(browser, url)
    expect(location).toMatch(/^\/console\/#\/sign-in\?problem=(expired|invalid)$/)
    expect(browser.cookies.has(SESSION)).toBe(false)
  })

  it('a browser without the cookie of a flow is refused, so that no one signs in as another', async () => {
    const url = await codeFor(new Browser())
    await refused(() => knock(new Browser(), url), 'expired')
  })

  it('the cookie of another flow is refused', async () => {
    const [one, two] = [new Browser(), new Browser()]
    const url = await codeFor(one)
    await codeFor(two)
    await refused(() => knock(two, url), 'expired')
  })

  it('an answer of another flow does not end the current one: of two tabs, the later one signs in', async () => {
    const browser = new Browser()
    const earlier = await codeFor(browser)
    const url = await codeFor(browser)
    for (const other of [earlier, `${CALLBACK}?code=a&state=b`, CALLBACK])
      await refused(() => knock(browser, other), 'expired')
    expect(await knock(browser, url)).toMatch(HANDED)
    expect(browser.cookies.has(FLOW)).toBe(false)
  })

  it('a cookie is refused when any character is changed', async () => {
    const browser = new Browser()
    const url = await codeFor(browser)
    const flow = browser.cookies.get(FLOW) ?? ''
    for (let i = 0; i < flow.length; i += 7) {
      const other = flow[i] === 'A' ? 'B' : 'A'
      const changed = new Browser()
      changed.cookies.set(FLOW, flow.slice(0, i) + other + flow.slice(i + 1))
      expect(await knock(changed, url)).toBe('/console/#/sign-in?problem=expired')
    }
  })

  it('a cookie that another gateway sealed is refused', async () => {
    const browser = new Browser()
    const url = await codeFor(browser)
    const stranger = { ...world.app.deps, commitmentSecret: Buffer.alloc(32, 7) }
    browser.cookies.set(FLOW, beginFlow(stranger, 'c'.repeat(43)).sealed)
    await refused(() => knock(browser, url), 'expired')
  })

  it('a flow that began more than ten minutes ago is refused', async () => {
    const browser = new Browser()
    const url = await codeFor(browser)
    world.clock.advance(10 * MINUTE)
    await refused(() => knock(browser, url), 'expired')
  })

  it('a nonce that was changed on the way to the provider is refused', async () => {
    const browser = new Browser()
    const url = await codeFor(browser, world, (authorize) => {
      authorize.searchParams.set('nonce', 'n'.repeat(43))
      return authorize
    })
    await refused(() => knock(browser, url), 'invalid')
  })

  it('a code that belongs to another verifier is refused', async () => {
    const browser = new Browser()
    const url = await codeFor(browser, world, (authorize) => {
      authorize.searchParams.set('code_challenge', 'c'.repeat(43))
      return authorize
    })
    await refused(() => knock(browser, url), 'invalid')
  })

  it('a person who declines at the provider returns to the sign-in page', async () => {
    provider.refuses = true
    const browser = new Browser()
    const url = await codeFor(browser)
    await refused(() => knock(browser, url), 'cancelled')
  })
})

describe('an ID token', () => {
  const withClaims =
    (claims: Record<string, unknown>) =>
    (token: IdToken): IdToken => ({ ...token, claims: { ...token.claims, ...claims } })

  it('is accepted when it is only signed again, so that later refusals are due to the changes', async () => {
    provider.tamper = (token) => token
    await signIn()
  })

  it.each<[string, NonNullable<TestProvider['tamper']>]>([
    ['of another issuer', withClaims({ iss: 'https://evil.example' })],
    ['for another client', withClaims({ aud: 'somebody-else' })],
    ['for two clients that does not say which', withClaims({ aud: [CLIENT_ID, 'somebody-else'] })],
    ['made out to another client, though for us', withClaims({ azp: 'somebody-else' })],
    ['that has expired', withClaims({ exp: 1_000_000_000 })],
    ['of tomorrow', withClaims({ iat: 4_000_000_000, nbf: 4_000_000_000 })],
    ['with another nonce', withClaims({ nonce: 'n'.repeat(43) })],
    ['without nonce', withClaims({ nonce: undefined })],
    ['without subject', withClaims({ sub: undefined })],
    ['whose subject is no text', withClaims({ sub: '\ud800' })],
    ['signed by another key', (token) => ({ ...token, key: otherKey() })],
    ['that is not signed', (token) => ({ ...token, header: { ...token.header, alg: 'none' } })],
    ['of a key nobody knows', (token) => ({ ...token, header: { ...token.header, kid: 'two' } })],
  ])('%s is refused', async (_, tamper) => {
    provider.tamper = tamper
    const browser = new Browser()
    const url = await codeFor(browser)
    await refused(() => knock(browser, url), 'invalid')
    expect(browser.cookies.has(SESSION)).toBe(false)
  })
})

describe('who it is', () => {
  const attempt = async (
    person: TestProvider['person'],
    made: Pair = { provider, world },
  ): Promise<string> => {
    made.provider.person = person
    const browser = new Browser()
    return knock(browser, await codeFor(browser, made.world), made.world)
  }

  it.each([
    ['unverified', { ...ANN, email_verified: false }],
    ['unverified', { ...ANN, email_verified: 'true' }],
    ['unverified', { sub: 'ann-1', email: ANN.email }],
    ['unknown', { ...ANN, email: 'mallory@acme.example' }],
    ['unknown', { ...ANN, email: '' }],
    ['unknown', { sub: 'ann' }],
    ['unknown', { ...ANN, email: ['ann@acme.example'] }],
  ] as const)('problem=%s for %j', async (problem, person) => {
    await refused(() => attempt(person), problem)
  })

  it('problem=unverified when the userinfo endpoint verifies another address', async () => {
    const saying = (email: string) => (token: IdToken) => {
      const { email_verified: _, ...claims } = token.claims
      return { ...token, claims: { ...claims, email } }
    }
    provider.tamper = saying(ANN.email)
    await refused(() => attempt({ ...ANN, email: 'mallory@evil.example' }), 'unverified')
    expect(await attempt(ANN)).toMatch(HANDED)
  })

  it('problem=unverified when the verified flag and the address come from different sources', async () => {
    provider.tamper = (token) => {
      const { email: _, ...claims } = token.claims
      return { ...token, claims: { ...claims, email_verified: true } }
    }
    await refused(() => attempt({ ...ANN, email_verified: false }), 'unverified')
    expect(await attempt(ANN)).toMatch(HANDED)
  })

  const TWICE = edited(
    'directory.yaml',
    'zoe: { name: Zoe Zed,',
    'zoe: { name: Zoe Zed, email: ann@acme.example,',
  )

  it('problem=ambiguous for an address that two tenants know, until one tenant is set', async () => {
    await withPair(pair({}, {}, TWICE), async (made) => {
      await refused(() => attempt(ANN, made), 'ambiguous', made.world)
      expect(made.world.logged.join('')).toContain('acme/ann and globex/zoe')
    })
    await withPair(pair({ oidcTenant: 'globex' }, {}, TWICE), async (made) => {
      made.provider.person = ANN
      const { body } = await meOf(await signIn(new Browser(), made.world), made.world)
      expect([body.tenant, body.reviewer]).toEqual(['globex', 'zoe'])
    })
  })

  describe('a reviewer with a subject', () => {
    const named = (text: string): WorldOptions['files'] =>
      edited('directory.yaml', 'ben:  { name: Ben Bay,', `ben:  { name: Ben Bay, ${text},`)
    const signedIn = async (made: Pair, person: TestProvider['person']): Promise<unknown> => {
      made.provider.person = person
      return (await meOf(await signIn(new Browser(), made.world), made.world)).body.reviewer
    }

    it('is found by the subject, whatever address the provider sends', async () => {
      await withPair(pair({}, {}, named('subject: ben-1')), async (made) => {
        expect(await signedIn(made, { sub: 'ben-1' })).toBe('ben')
        // the address is another reviewer's
        expect(await signedIn(made, { ...ANN, sub: 'ben-1' })).toBe('ben')
        expect(await signedIn(made, ANN)).toBe('ann')
      })
    })

    it('problem=unknown for another subject or case, although the address matches', async () => {
      await withPair(pair({}, {}, named('subject: ben-1, email: ben@acme.example')), async (made) => {
        for (const sub of ['ben-2', 'BEN-1', ' ben-1'])
          await refused(() => attempt({ ...BEN, sub }, made), 'unknown', made.world)
        expect(await signedIn(made, BEN)).toBe('ben')
      })
    })

    it('problem=ambiguous for a subject that two tenants know, until one tenant is set', async () => {
      const twice = {
        ...named('subject: ben-1'),
        'directory.yaml': (named('subject: ben-1')?.['directory.yaml'] ?? '').replace(
          'zoe: { name: Zoe Zed,',
          'zoe: { name: Zoe Zed, subject: ben-1,',
        ),
      }
      await withPair(pair({}, {}, twice), async (made) => {
        await refused(() => attempt(BEN, made), 'ambiguous', made.world)
      })
      await withPair(pair({ oidcTenant: 'globex' }, {}, twice), async (made) => {
        expect(await signedIn(made, BEN)).toBe('zoe')
      })
    })
  })

  it("problem=unknown for a letter that looks like the directory's, or changes into it", async () => {
    const known = edited('directory.yaml', 'ann@acme.example', 'ann@kite.example')
    await withPair(pair({}, {}, known), async (made) => {
      for (const email of ['ann@\u212Aite.example', 'ann@\u043Aite.example'])
        await refused(() => attempt({ ...ANN, email }, made), 'unknown', made.world)
      made.provider.person = { ...ANN, email: 'Ann@KITE.example' }
      await signIn(new Browser(), made.world)
    })
  })

  it("another claim is compared with the reviewer's id, and case matters", async () => {
    await withPair(pair({ oidcReviewerClaim: 'nickname', oidcTenant: 'acme' }), async (made) => {
      await refused(() => attempt({ sub: 'x', nickname: 'Ben' }, made), 'unknown', made.world)
      made.provider.person = { sub: 'x', nickname: 'ben' }
      const { body } = await meOf(await signIn(new Browser(), made.world), made.world)
      expect(body.reviewer).toBe('ben')
    })
  })
})

describe('groups of a claim', () => {
  let made: Pair
  let bot: Agent
  beforeAll(async () => {
    made = await pair({ oidcGroupsClaim: 'groups' })
    await made.world.changePolicies(WITH_BEN)
    bot = await made.world.agent()
  })
  afterAll(async () => {
    await made.world.close()
    await made.provider.close()
  })

  const signedIn = async (groups: unknown): Promise<Browser> => {
    made.provider.person = { ...ANN, ...(groups === undefined ? {} : { groups }) }
    return signIn(new Browser(), made.world)
  }
  const vote = (browser: Browser, thread: string): Promise<Answer<never>> =>
    call<never>(`${made.world.url}/api/review/threads/${thread}/votes`, 'POST', {
      body: { decision: 'approve', revision: 1 },
      headers: { ...sessionOf(browser), ...pageOf(SITE) },
    })

  it('groups of a claim replace those of the directory', async () => {
    const browser = await signedIn(['audit', 'chess', 7])
    expect((await meOf(browser, made.world)).body.groups).toEqual(['audit', 'chess'])
    const { thread } = await held(bot)
    const { status, problem } = await vote(browser, thread)
    expect([status, problem.code]).toEqual([403, 'not_eligible'])
  })

  it.each([
    ['groups_unread', 'none', undefined, {}],
    ['groups_unread', 'a reference', undefined, { _claim_names: { groups: 'src1' } }],
    ['groups_unread', 'objects', [{ name: 'desk' }], {}],
    ['groups_unread', 'an object', { desk: true }, {}],
    ['groups_unknown', 'no text', ['\ud800'], {}],
    ['groups_unknown', 'a name that is longer than 256 characters', ['x'.repeat(257)], {}],
    ['groups_unknown', 'unknown names', ['chess'], {}],
  ] as const)('problem=%s when the provider sends %s', async (problem, _, groups, more) => {
    made.provider.person = { ...BEN, ...more, ...(groups === undefined ? {} : { groups }) }
    const browser = new Browser()
    const answer = await codeFor(browser, made.world)
    expect(await knock(browser, answer, made.world)).toBe(`/console/#/sign-in?problem=${problem}`)
    expect(made.world.logged.some((line) => line.includes('single sign-on failed'))).toBe(true)
  })

  it('groups of a claim are at most a thousand, with names of up to 256 characters', async () => {
    const all = ['audit', ...Array.from({ length: 1_000 }, (_, i) => `${'x'.repeat(252)}${1_000 + i}`)]
    const browser = await signedIn(all.toReversed())
    expect((await meOf(browser, made.world)).body.groups).toEqual(all.slice(0, 1_000))
  })

  it('groups of a claim are listed in part to a person who may not vote and has hundreds of groups', async () => {
    const browser = await signedIn(Array.from({ length: 300 }, (_, i) => `unit-${1_000 + i}`))
    const { thread } = await held(bot)
    const { status, problem } = await vote(browser, thread)
    expect([status, problem.code]).toEqual([403, 'not_eligible'])
    expect(problem.detail).toMatch(/you are in unit-1000, .*, unit-1009 and 290 more$/)
  })

  it('groups of a claim count at the vote and at collection, even if the directory does not list them', async () => {
    made.provider.person = {
      sub: 'dan',
      email: 'dan@acme.example',
      email_verified: true,
      groups: ['desk', 'chess'],
    }
    await made.world.changePolicies(
      edited('directory.yaml', 'dan:  { name: Dan Day,', 'dan:  { name: Dan Day, email: dan@acme.example,'),
    )
    const browser = await signIn(new Browser(), made.world)
    const { thread } = await held(bot)
    const records = await made.world.evidenceOf(async () => {
      expect((await vote(browser, thread)).status).toBe(200)
    })
    expect(records[0]?.record.details).toMatchObject({ via: 'oidc', groups: ['desk'] })
    const { body } = await bot.poll({ thread_id: thread })
    expect([body.status, typeof body.approval_token]).toEqual(['approved', 'string'])
  })
})

/** The header of the trusted proxy, with one of twenty addresses. */
const addressOf = (i: number) => ({ 'x-forwarded-for': `192.0.2.${i % 20}` })

describe('the limit of attempts', () => {
  const MANY = Array.from({ length: 200 }, (_, i) => i)
  /** The statuses of many requests, one after another. */
  const many = async (ask: () => Promise<Response>): Promise<number[]> => {
    const statuses: number[] = []
    for (const _ of MANY) statuses.push((await ask()).status)
    return statuses
  }

  it('is used up neither by flows of another address nor by requests without a valid flow', async () => {
    await withPair(pair({ trustedProxies: '127.0.0.1' }), async (made) => {
      made.provider.person = ANN
      const { url } = made.world
      const browser = new Browser()
      const answer = await codeFor(browser, made.world)
      const starts = await many(() => new Browser().ask(`${url}${START}`, addressOf(7)))
      expect(starts.indexOf(429)).toBe(LIMITS.FLOWS_PER_ADDRESS)
      const callbacks = await many(() => new Browser().ask(local(made.world, answer)))
      expect(callbacks.slice(0, 120)).toEqual(Array<number>(120).fill(303))
      expect(callbacks).toContain(429)
      expect(await knock(browser, answer, made.world)).toMatch(HANDED)
      await signIn(new Browser(), made.world)
    })
  })

  it('429 for repeated answers of one flow, which reach the provider once', async () => {
    await withPair(pair(), async (made) => {
      const browser = new Browser()
      const answer = await codeFor(browser, made.world)
      answer.searchParams.set('code', 'b'.repeat(43))
      const cookie = browser.cookies.get(FLOW) ?? ''
      made.provider.calls.length = 0
      const answers = await many(() => {
        browser.cookies.set(FLOW, cookie)
        return browser.ask(local(made.world, answer))
      })
      expect(answers).toContain(429)
      expect(made.provider.calls.length).toBe(1)
      expect(answers).toContain(303)
      expect(answers.at(-1) === 429).toBe(browser.cookies.has(FLOW))
    })
  })

  it('429 when a provider that is down would be asked again and again', async () => {
    const made = await pair()
    await made.provider.close()
    try {
      const starts = await many(() => new Browser().ask(`${made.world.url}${START}`))
      const fits = LIMITS.FLOWS_PER_ADDRESS
      expect(starts.slice(0, fits)).toEqual(Array<number>(fits).fill(302))
      expect(starts).toContain(429)
    } finally {
      await made.world.close()
    }
  })
})

describe('a provider with a fault', () => {
  it('a provider that is down sends people to the sign-in page, and the gateway keeps working', async () => {
    const made = await pair()
    const { issuer } = made.provider
    await made.provider.close()
    try {
      const browser = new Browser()
      const down = await browser.ask(`${made.world.url}${browser.start}`)
      expect([down.status, down.headers.get('location')]).toEqual([
        302,
        '/console/#/sign-in?problem=provider',
      ])
      expect(browser.cookies.has(FLOW)).toBe(false)
      expect((await call(`${made.world.url}/livez`, 'GET')).status).toBe(200)
      const line = made.world.logged.find((text) => text.includes('single sign-on failed')) ?? ''
      expect(JSON.parse(line)).toMatchObject({
        level: 'warn',
        request: expect.any(String),
        problem: 'provider',
        reason: expect.stringContaining(issuer),
        causes: expect.arrayContaining([expect.stringMatching(/ECONNREFUSED/)]),
      })
      const metrics = await (await fetch(made.world.app.metricsUrl)).text()
      expect(metrics).toContain('countersign_sign_ins_total{via="oidc",result="provider"} 1')
    } finally {
      await made.world.close()
    }
  })

  it('a provider that fails between the two steps sends people to the sign-in page', async () => {
    const made = await pair()
    try {
      made.provider.person = ANN
      const browser = new Browser()
      const url = await codeFor(browser, made.world)
      await made.provider.close()
      await refused(() => knock(browser, url, made.world), 'provider', made.world)
    } finally {
      await made.world.close()
    }
  })

  it('a provider that accepts connections and never answers blocks no other request', async () => {
    const hanging = new Set<Socket>()
    const server = createTcpServer((socket) => hanging.add(socket.on('error', () => socket.destroy())))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const own = await openWorld({
      config: {
        publicUrl: SITE,
        oidcIssuer: `http://127.0.0.1:${port}`,
        oidcClientId: CLIENT_ID,
        trustedProxies: '127.0.0.1',
      },
    })
    try {
      const ann = await own.reviewer('ann')
      const starts = Array.from({ length: 150 }, (_, i) =>
        new Browser().ask(`${own.url}${START}`, addressOf(i)),
      )
      await until(() => hanging.size > 0)
      expect((await ann.call('GET', 'me')).status).toBe(200)
      server.close()
      for (const socket of hanging) socket.destroy()
      const answers = await Promise.all(starts)
      expect(new Set(answers.map(({ status, headers }) => `${status} ${headers.get('location')}`))).toEqual(
        new Set(['302 /console/#/sign-in?problem=provider']),
      )
    } finally {
      server.close()
      await own.close()
    }
  })

  it('a provider that never returns an identity blocks no other request', async () => {
    const asked: unknown[] = []
    const silent = createServer(({ url }, response) => {
      if (url !== '/.well-known/openid-configuration') return void asked.push(response)
      const paths = { authorization_endpoint: '/auth', token_endpoint: '/token', jwks_uri: '/jwks' }
      const named = Object.entries(paths).map(([name, path]) => [name, issuer + path])
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ issuer, ...Object.fromEntries(named) }))
    })
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const issuer = `http://127.0.0.1:${(silent.address() as { port: number }).port}`
    const own = await openWorld({
      config: {
        publicUrl: SITE,
        oidcIssuer: issuer,
        oidcClientId: CLIENT_ID,
        trustedProxies: '127.0.0.1',
      },
    })
    const comeBack = async (_: unknown, i: number): Promise<number> => {
      const browser = new Browser()
      const start = await browser.ask(`${own.url}${browser.start}`, addressOf(i))
      const { searchParams } = new URL(start.headers.get('location') ?? '')
      const back = `${own.url}/api/review/oidc/callback?code=x&state=${searchParams.get('state')}`
      return (await browser.ask(back, addressOf(i))).status
    }
    try {
      const ann = await own.reviewer('ann')
      const all = Array.from({ length: 80 }, comeBack)
      await until(() => asked.length === all.length)
      expect((await ann.call('GET', 'me')).status).toBe(200)
      silent.closeAllConnections()
      expect(new Set(await Promise.all(all))).toEqual(new Set([303]))
    } finally {
      silent.closeAllConnections()
      silent.close()
      await own.close()
    }
  })

  it('a provider that never answers is abandoned at the deadline, and asked again', async () => {
    let asked = 0
    const silent = createServer(() => void asked++)
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as { port: number }
    const client = openIdProvider({
      issuer: `http://127.0.0.1:${port}`,
      clientId: CLIENT_ID,
      scopes: 'openid',
      claims: [],
      outbound: createOutbound({ allowed: [] }),
      deadlineMs: 200,
    })
    const flow = { state: 's', nonce: 'n', verifier: 'v'.repeat(43) }
    for (let i = 0; i < 2; i++) {
      await expect(client.authorize(flow, CALLBACK)).rejects.toMatchObject({ problem: 'provider' })
    }
    expect(asked).toBe(2)
    silent.closeAllConnections()
    silent.close()
  })

  it('a provider that names an internal endpoint on another host gets no connection to it', async () => {
    let reached = 0
    const inside = createTcpServer((socket) => {
      reached += 1
      socket.destroy()
    })
    await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
    const { port } = inside.address() as { port: number }
    const server = createServer((_, response) => {
      const { port: own } = server.address() as { port: number }
      const issuer = `http://127.0.0.1:${own}`
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `https://127.0.0.1:${port}/token`,
          jwks_uri: `https://127.0.0.1:${port}/jwks`,
        }),
      )
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port: own } = server.address() as { port: number }
    const settings = { clientId: CLIENT_ID, scopes: 'openid', claims: [] }
    const client = openIdProvider({
      ...settings,
      issuer: `http://127.0.0.1:${own}`,
      outbound: createOutbound({ allowed: [] }),
    })
    const flow = { state: 's', nonce: 'n', verifier: 'v'.repeat(43) }
    await client.authorize(flow, CALLBACK)
    const callback = new URL(`${CALLBACK}?code=c&state=s`)
    await expect(client.redeem(flow, callback)).rejects.toMatchObject({ problem: 'provider' })
    expect(reached).toBe(0)
    inside.close()
    server.closeAllConnections()
    server.close()
  })

  it('a provider in an internal network is called because the operator named it, but no other host there', async () => {
    const receivers = new Receivers()
    const [issuer, other] = [await receivers.open(), await receivers.open()]
    const origin = `https://localhost:${issuer.port}`
    issuer.json = () => ({
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `https://localhost:${other.port}/token`,
      jwks_uri: `${origin}/jwks`,
    })
    const client = openIdProvider({
      issuer: origin,
      clientId: CLIENT_ID,
      scopes: 'openid',
      claims: [],
      outbound: createOutbound({ allowed: [], named: origin, ca: receivers.ca }),
    })
    const flow = { state: 's', nonce: 'n', verifier: 'v'.repeat(43) }
    expect(await client.authorize(flow, CALLBACK)).toMatch(`${origin}/authorize?`)
    const callback = new URL(`${CALLBACK}?code=c&state=s`)
    await expect(client.redeem(flow, callback)).rejects.toMatchObject({ problem: 'provider' })
    expect([issuer.asked, other.asked]).toEqual([1, 0])
    await receivers.dispose()
  })

  it('a provider that names itself differently is refused', async () => {
    const client = openIdProvider({
      issuer: `${provider.issuer}/tenant`,
      clientId: CLIENT_ID,
      scopes: 'openid',
      claims: [],
      outbound: createOutbound({ allowed: [] }),
    })
    const flow = { state: 's', nonce: 'n', verifier: 'v'.repeat(43) }
    await expect(client.authorize(flow, CALLBACK)).rejects.toMatchObject({ problem: 'provider' })
  })
})
