import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ChatAccounts } from '../../src/contract/chat.ts'
import { openWorld, pageOf, SignedIn, type World } from '../gateway-fixture.ts'
import { Browser, CLIENT_ID, CLIENT_SECRET, startProvider, type TestProvider } from '../identity-provider.ts'

/** The sign-in of the chat that links an account (docs/chat.md), against a real OpenID provider. */

const SITE = 'https://countersign.example'
let world: World
let provider: TestProvider
let ben: SignedIn

beforeAll(async () => {
  provider = await startProvider({ redirectUri: `${SITE}/api/review/chats/callback` })
  world = await openWorld({
    config: {
      publicUrl: SITE,
      slackAppToken: 'xapp-1-A-1-token',
      slackBotToken: 'xoxb-1-token',
      slackClientId: CLIENT_ID,
      slackClientSecret: CLIENT_SECRET,
      slackServer: provider.issuer,
    },
  })
  const link = await world.link('ben')
  const opened = await world.openSession(link, pageOf(SITE))
  ben = SignedIn.by(world, opened)
})
afterAll(async () => {
  await world.close()
  await provider.close()
})
beforeEach(() => {
  provider.person = { sub: 'U1' }
  provider.refuses = false
  provider.tamper = ({ header, claims }) => ({
    header,
    claims: {
      ...claims,
      'https://slack.com/team_id': 'T1',
      'https://slack.com/user_id': 'U1',
      'https://slack.com/team_name': 'Acme',
      name: 'Ben B.',
    },
  })
})

const ours = pageOf(SITE)
/** Begins the flow in ben's session, and follows it to the callback. */
async function callback(browser: Browser): Promise<string> {
  const started = await ben.call<{ url: string }>('POST', 'chats/start', { headers: ours })
  expect(started.status).toBe(200)
  const [line = ''] = started.headers.getSetCookie()
  expect(line).toMatch(/^__Host-countersign-chat=.*HttpOnly.*SameSite=Lax/i)
  const [name = '', value = ''] = (line.split(';')[0] ?? '').split(/=(.*)/s)
  browser.cookies.set(name, value)
  expect(new URL(started.body.url).searchParams.get('code_challenge_method')).toBe('S256')
  const { url } = await browser.go(started.body.url, (next) => next.origin === SITE)
  return url.href.replace(SITE, world.url)
}
const landed = async (browser: Browser, url: string): Promise<string> => {
  const response = await browser.ask(url)
  expect(response.status).toBe(303)
  return response.headers.get('location') ?? ''
}
const proposalIn = (location: string): string => location.replace('/console/#/chats/', '')

describe('the flow', () => {
  it('begins in a session, returns to the page, and links only after the question', async () => {
    const browser = new Browser()
    const url = await callback(browser)
    const proposal = proposalIn(await landed(browser, url))
    const body = { proposal }
    const look = await ben.call<ChatAccounts>('POST', 'chats/look', { body, headers: ours })
    expect(look.body).toMatchObject({
      reviewer: 'ben',
      member: 'U1',
      member_name: 'Ben B.',
      workspace_name: 'Acme',
    })
    expect((await ben.call('POST', 'chats', { body, headers: ours })).status).toBe(201)
    // the answer of a flow works once, and in its browser only
    expect(await landed(browser, url)).toBe('/console/#/chats/failed')
  })

  it('ends without a proposal in another browser, for a forged state, and when the chat says no', async () => {
    const browser = new Browser()
    const url = await callback(browser)
    expect(await landed(new Browser(), url)).toBe('/console/#/chats/failed')
    expect(await landed(browser, url.replace(/state=[^&]+/, 'state=forged'))).toBe('/console/#/chats/failed')
    provider.refuses = true
    const other = new Browser()
    expect(await landed(other, await callback(other))).toBe('/console/#/chats/failed')
    provider.refuses = false
    provider.tamper = (token) => token
    expect(await landed(browser, await callback(browser))).toBe('/console/#/chats/failed')
  })

  it('needs a session: a key begins none', async () => {
    const key = await world.reviewer('cat')
    expect((await key.call('POST', 'chats/start')).problem.code).toBe('sign_in_required')
  })
})
