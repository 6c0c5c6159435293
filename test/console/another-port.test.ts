import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { INSTALL_MS } from '../debian.ts'
import { type Agent, held } from '../gateway-fixture.ts'
import { Browser, CLIENT_ID, CLIENT_SECRET, startProvider, type TestProvider } from '../identity-provider.ts'
import { freePort } from '../ports.ts'
import { approve, type Console, openConsole, seeAll } from './browser.ts'

/**
 * The reach of an agent that serves a page on another port of the reviewer's machine. Browsers send it the cookies of
 * the gateway, and keep the cookies that it sets. It can neither read nor vote, and it never learns the secret of the
 * page (docs/signing-in.md).
 */

const PICTURE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

let console_: Console
let provider: TestProvider
let thief: Thief
let bot: Agent
let port: number

beforeAll(async () => {
  port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  provider = await startProvider({ redirectUri: `${origin}/api/review/oidc/callback` })
  provider.person = { sub: 'a', email: 'ann@acme.example', email_verified: true }
  const oidc = { oidcIssuer: provider.issuer, oidcClientId: CLIENT_ID, oidcClientSecret: CLIENT_SECRET }
  console_ = await openConsole({ config: { port, ...oidc } })
  expect(console_.world.url).toBe(origin)
  bot = await console_.world.agent()
  thief = await Thief.open()
}, INSTALL_MS)
afterAll(async () => {
  await thief.close()
  await console_.close()
  await provider.close()
})

/** A development server on another port of the same host, with a page that the reviewer opens. */
class Thief {
  readonly #server: Server
  /** Every cookie that a browser brought. */
  readonly cookies = new Set<string>()
  /** Cookies that the next answer sets. */
  sets: string[] = []
  /** The address to which the next answer redirects. */
  leadsTo: string | undefined

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response))
  }

  static async open(): Promise<Thief> {
    const opened = new Thief()
    await new Promise<void>((resolve) => opened.#server.listen(0, '127.0.0.1', resolve))
    return opened
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  #answer({ headers }: IncomingMessage, response: ServerResponse): void {
    if (headers.cookie !== undefined) this.cookies.add(headers.cookie)
    const location = this.leadsTo === undefined ? {} : { location: this.leadsTo }
    response.writeHead(this.leadsTo === undefined ? 200 : 302, {
      'content-type': 'text/html',
      ...(this.sets.length === 0 ? {} : { 'set-cookie': this.sets }),
      ...location,
    })
    response.end('<title>The preview of my change</title>')
    this.sets = []
    this.leadsTo = undefined
  }

  /** A request of its own, with everything that a page of the gateway would say of itself. */
  async replay(cookie: string, method: string, path: string, body?: object): Promise<number> {
    const { url } = console_.world
    const response = await fetch(`${url}/api/${path}`, {
      method,
      headers: {
        cookie,
        origin: url,
        referer: `${url}/console/`,
        'sec-fetch-site': 'same-origin',
        'sec-fetch-mode': 'cors',
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    for (const word of ['csp_', 'REVIEWED-PAYLOAD', 'Ann Ash']) expect(text).not.toContain(word)
    return response.status
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }
}

/** The reviewer looks at a thread, and at the page of the agent beside it. */
async function robbed(
  reviewer: string,
): Promise<{ page: Page; preview: Page; cookie: string; thread: string }> {
  const page = await console_.signedIn({ reviewer })
  const one = await held(bot, { subject: 'REVIEWED-PAYLOAD', images: [PICTURE] })
  await console_.show(page, one)
  thief.cookies.clear()
  const preview = await page.context().newPage()
  await preview.goto(thief.url)
  const cookie = [...thief.cookies].find((text) => text.includes('__Host-countersign=css_')) ?? ''
  expect(cookie, 'the browser brings the cookie: that is what this is about').not.toBe('')
  return { page, preview, cookie, thread: one.thread }
}

const ACTS = (thread: string): [string, string, object?][] => [
  ['GET', 'review/me'],
  ['GET', 'review/threads'],
  ['GET', `review/threads/${thread}`],
  ['GET', `review/threads/${thread}/images/1/0`],
  ['GET', 'review/counts'],
  ['GET', 'review/agents'],
  ['GET', 'review/stream'],
  ['POST', `review/threads/${thread}/votes`, { decision: 'approve', revision: 1 }],
  ['POST', `review/threads/${thread}/comments`, { comment: 'x' }],
  ['POST', `review/threads/${thread}/claim`, {}],
  ['POST', `review/threads/${thread}/release`],
  ['POST', `review/threads/${thread}/reveal`, { revision: 1 }],
  ['GET', 'admin/policies'],
  ['POST', 'admin/policies/explain', { tool_name: 'pay', payload: {} }],
  ['DELETE', 'review/session?everywhere=true'],
  ['DELETE', 'review/session'],
]

describe('a server on another port of the same host', () => {
  it('cannot read, vote or sign out with replayed cookies, and the reviewer can continue', async () => {
    const { page, cookie, thread } = await robbed('ann')
    const records = await console_.world.evidenceOf(async () => {
      for (const [method, path, body] of ACTS(thread))
        expect([method, path, await thief.replay(cookie, method, path, body)]).toEqual([method, path, 401])
    })
    expect(records).toEqual([])
    await page.locator('figure img').waitFor()
    await seeAll(page)
    await approve(page)
    await page.getByText('You approved revision 1.').waitFor()
  })

  it('serves a page whose scripts get no answer, window, channel or storage of the console', async () => {
    const { preview, thread } = await robbed('ann')
    const got = await preview.evaluate(
      async ([gateway = '', path = '']) => {
        const ask = (url: string, options: RequestInit): Promise<string> =>
          fetch(url, { credentials: 'include', ...options }).then(
            (answer) => answer.text(),
            () => 'nothing',
          )
        const heard: unknown[] = []
        const channel = new BroadcastChannel('session')
        channel.onmessage = ({ data }) => heard.push(data)
        channel.postMessage('who')
        const shown = window.open(`${gateway}/console/#/queue`)
        const answers = await Promise.all([
          ask(`${gateway}/api/review/me`, {}),
          ask(`${gateway}/api/review/me`, { mode: 'no-cors' }),
          ask(`${gateway}/api/review/me`, { headers: { 'countersign-page': 'x' } }),
          ask(`${gateway}/api/review/session`, {}),
          ask(`${gateway}/api/review/${path}`, {
            method: 'POST',
            mode: 'no-cors',
            body: '{"decision":"approve","revision":1}',
          }),
        ])
        await new Promise((resolve) => setTimeout(resolve, 500))
        let inside: unknown
        try {
          inside = shown?.sessionStorage.length ?? 'no window'
        } catch {
          inside = 'no window'
        }
        return { answers, heard, inside, stored: sessionStorage.length + localStorage.length }
      },
      [console_.world.url, `threads/${thread}/votes`],
    )
    expect(got).toEqual({
      answers: ['nothing', '', 'nothing', 'nothing', ''],
      heard: [],
      inside: 'no window',
      stored: 0,
    })
    const view = await (await console_.world.reviewer('ben')).show(thread)
    expect([view.body.status, view.body.votes]).toEqual(['pending_review', []])
  })

  it('cannot make a reviewer act as another by replacing the session cookie', async () => {
    const { page, preview, thread } = await robbed('ann')
    const { key } = await console_.world.signIn('eve')
    thief.sets = [`__Host-countersign=${key}; Path=/; Secure; HttpOnly; SameSite=Strict`]
    await preview.reload()
    const records = await console_.world.evidenceOf(async () => {
      await seeAll(page)
      await approve(page)
      await page.getByText('Your session has ended').waitFor()
    })
    expect(records).toEqual([])
    expect((await (await console_.world.reviewer('ben')).show(thread)).body.votes).toEqual([])
  })
})

describe('single sign-on beside a hostile server on another port', () => {
  async function signedInByProvider(): Promise<Page> {
    const page = await console_.open()
    await page.goto(`${console_.world.url}/console/`)
    await page.getByRole('button', { name: /^Sign in with / }).click()
    await page.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    return page
  }

  it('returns to the tab signed in, leaves no link in address or history, and keeps the secret in the tab', async () => {
    const page = await signedInByProvider()
    expect(page.url()).toBe(`${console_.world.url}/console/#/queue`)
    const kept = await page.evaluate(() => JSON.stringify([sessionStorage, localStorage]))
    expect(kept).toMatch(/csp_acme_/)
    expect(kept).not.toMatch(/csl_|verifier/)
    expect(await page.evaluate(() => document.cookie)).toBe('')
    await page.reload()
    await page.getByText('Live', { exact: true }).waitFor()
  })

  it('gets the secret for a new tab from an open one, and asks for sign-in when no tab is left', async () => {
    const page = await signedInByProvider()
    const context = page.context()
    const other = await context.newPage()
    await other.goto(`${console_.world.url}/console/`)
    await other.getByText('Live', { exact: true }).waitFor()
    await page.close()
    await other.close()
    const later = await context.newPage()
    await later.goto(`${console_.world.url}/console/`)
    await later.getByRole('button', { name: /^Sign in with / }).waitFor()
  })

  it('opens no session for a sign-in that the server planted: it knows the verifier, but never sees the link', async () => {
    const { url } = console_.world
    const mine = new Browser()
    const begun = await mine.ask(`${url}${mine.start}`)
    const flow = begun.headers.getSetCookie()[0] ?? ''
    expect(flow).toMatch(/^__Host-countersign-oidc=/)
    const page = await console_.open()
    thief.cookies.clear()
    thief.sets = [flow]
    thief.leadsTo = begun.headers.get('location') ?? ''
    const records = await console_.world.evidenceOf(async () => {
      await page.goto(thief.url)
      await page.getByRole('button', { name: 'Sign in with this link' }).click()
      await page.getByRole('alert').waitFor()
      await page
        .context()
        .newPage()
        .then((preview) => preview.goto(thief.url))
    })
    expect(records, 'nobody is signed in').toEqual([])
    expect([...thief.cookies].join()).not.toMatch(/__Host-countersign=/)
  })
})
