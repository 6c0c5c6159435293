import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { breakRecord, held, until } from '../gateway-fixture.ts'
import { axe, DESKTOP, expectNoSidewaysScroll, PHONE, visit, WIDE } from './browser.ts'
import { bot, console_, consoleWorld } from './console-world.ts'

/** Signing in, the queue, the history and the other pages, as a person meets them. */

/** Waits until the page receives events: before that, the list itself brings what arrives. */
const live = (page: Page): Promise<void> => page.getByText('Live', { exact: true }).waitFor()

consoleWorld()

describe('signing in', () => {
  it('uses a link only when the button is pressed, and stores its token nowhere', async () => {
    const { world } = console_
    const page = await console_.open()
    const token = await world.link('ann')
    await page.goto(`${world.url}/console/#/sign-in/${token}`)
    const button = page.getByRole('button', { name: 'Sign in with this link' })
    await button.waitFor()
    expect(page.url()).not.toContain(token)
    expect(await axe(page)).toEqual([])
    await button.click()
    await page.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
    expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]))).not.toContain('csl_')
  })

  it('says that a link was already used, and what to do', async () => {
    const { world } = console_
    const token = await world.link('ann')
    await world.openSession(token)
    const page = await console_.open()
    await page.goto(`${world.url}/console/#/sign-in/${token}`)
    await page.getByRole('button', { name: 'Sign in with this link' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByText('countersign login-link').waitFor()
    await page.goto(`${world.url}/console/#/sign-in?problem=access_denied`)
    await page.reload()
    await page.getByRole('heading', { name: 'Countersign' }).waitFor()
    expect(await axe(page)).toEqual([])
  })

  it('keeps the current session when a link was already used', async () => {
    const { world } = console_
    const page = await console_.signedIn({ reviewer: 'cat' })
    const token = await world.link('cat')
    await world.openSession(token)
    await visit(page, world, `sign-in/${token}`)
    await page.getByRole('button', { name: 'Sign in with this link' }).click()
    await page.getByRole('alert').waitFor()
    expect(await page.getByText('Your session has ended').count()).toBe(0)
    await page.getByRole('button', { name: 'Continue as Cat Cox' }).click()
    await page.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
  })

  it('shows nothing of the previous reviewer to another one', async () => {
    const { world } = console_
    const page = await console_.signedIn({ reviewer: 'dan' })
    await live(page)
    const { thread } = await held(bot, { subject: 'For acme only' })
    await console_.inQueue(page, { thread })
    const news = await held(bot)
    await page.locator('.news').waitFor()
    await page.getByRole('button', { name: 'Dan Day' }).click()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByText('Ask the operator of this gateway').waitFor()
    await visit(page, world, `sign-in/${await world.link('zoe', 'globex')}`)
    await page.getByRole('button', { name: 'Sign in with this link' }).click()
    await page.getByRole('button', { name: 'Zoe Zed' }).waitFor()
    expect(await page.locator(`a[href$="${thread}"]`).count()).toBe(0)
    await page.getByText('Nothing needs your vote').waitFor()
    expect(await page.locator('.news').count()).toBe(0)
    const ben = await world.reviewer('ben')
    for (const one of [thread, news.thread]) await ben.approve(one)
  })

  it('offers single sign-on if it is set up, and explains a failed attempt', async () => {
    const { world } = console_
    const page = await console_.open()
    await page.route('**/api/review/session', (route) =>
      route.fulfill({
        json: { signed_in: false, single_sign_on: { label: 'ACME Login', url: '/api/review/oidc/start' } },
      }),
    )
    await page.goto(`${world.url}/console/#/sign-in?problem=unverified`)
    await page.getByText('Your identity provider has not verified your e-mail address.').waitFor()
    await page.route('**/oidc/start?*', (route) => route.fulfill({ status: 204 }))
    expect(await axe(page)).toEqual([])
    const asked = page.waitForRequest('**/oidc/start?*')
    await page.getByRole('button', { name: 'Sign in with ACME Login' }).click()
    expect(new URL((await asked).url()).searchParams.get('challenge')).toMatch(/^[\w-]{43}$/)
  })

  it('closes the profile with Escape, signs out, and stays signed out after a reload', async () => {
    const { world } = console_
    const page = await console_.signedIn({ reviewer: 'ann' })
    await page.getByRole('button', { name: 'Ann Ash' }).click()
    expect(await axe(page, '#profile')).toEqual([])
    await page.keyboard.press('Escape')
    await page.locator('#profile').waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Ann Ash' }).click()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByText('Ask the operator of this gateway').waitFor()
    expect((await page.context().cookies()).map(({ value }) => value).join('')).toBe('')
    await visit(page, world, 'agents')
    await page.reload()
    await page.getByText('Ask the operator of this gateway').waitFor()
  })

  it("shows the new reviewer's name on all tabs when another reviewer signs in", async () => {
    const page = await console_.signedIn({ reviewer: 'cat' })
    const other = await page.context().newPage()
    await visit(other, console_.world, `sign-in/${await console_.world.link('ben')}`)
    await other.getByRole('button', { name: 'Sign in with this link' }).click()
    await other.getByRole('button', { name: 'Ben Bay' }).waitFor()
    await page.getByRole('button', { name: 'Ben Bay' }).waitFor()
    expect(await page.getByRole('button', { name: 'Cat Cox' }).count()).toBe(0)
  })

  it('signing out everywhere ends the other sessions, and their pages say so', async () => {
    const [one, other] = [
      await console_.signedIn({ reviewer: 'eve' }),
      await console_.signedIn({ reviewer: 'eve' }),
    ]
    await one.getByRole('button', { name: 'Eve Elm' }).click()
    await one.getByRole('button', { name: 'Sign out everywhere' }).click()
    await one.getByText('Ask the operator of this gateway').waitFor()
    // by the stream within seconds, or by the next thing one asks for
    await other.evaluate(() => {
      location.hash = '#/history'
    })
    await other.getByText('Your session has ended').waitFor()
  })
})

describe('the queue', () => {
  it('counts and announces new calls, adds them when asked, and keeps decided rows in their places', async () => {
    const page = await console_.signedIn({ reviewer: 'ben' })
    const first = await held(bot)
    const row = await console_.inQueue(page, first)
    await page.keyboard.press('j')
    const focused = (): Promise<string | null> =>
      page.evaluate(() => document.activeElement?.getAttribute('href') ?? null)
    const before = await focused()
    const order = await page.locator('.item').allInnerTexts()
    const second = await held(bot)
    const third = await held(bot, { payload: { amount: 60_000 } })
    await page.getByRole('button', { name: '2 new, 1 critical calls, add to the list' }).waitFor()
    expect([await focused(), await page.locator('.item').count()]).toEqual([before, order.length])
    await page.waitForFunction(() => /^\(\d+\) Countersign$/.test(document.title))
    await page.getByRole('status').filter({ hasText: 'New: critical pay' }).waitFor({ state: 'attached' })
    await (await console_.world.reviewer('cat')).approve(first.thread)
    await page.locator(`.item.done a[href$="${first.thread}"]`).waitFor()
    expect(await page.locator('.item').count()).toBe(order.length)
    await page.keyboard.press('n')
    await row.waitFor({ state: 'detached' })
    for (const one of [second, third]) await console_.inQueue(page, one)
    expect(await page.locator('.news').count()).toBe(0)
  })

  it('keeps arrivals and removals while the list loads', async () => {
    const page = await console_.signedIn({ reviewer: 'ben' })
    const cat = await console_.world.reviewer('cat')
    const old = await held(bot)
    const row = await console_.inQueue(page, old)
    let bring = (): void => undefined
    const brought = new Promise<void>((resolve) => (bring = resolve))
    await page.route('**/api/review/threads?*', async (route) => {
      const response = await route.fetch()
      await brought
      await route.fulfill({ response })
    })
    await page.getByRole('button', { name: 'Filter' }).click()
    const read = page.waitForRequest('**/api/review/threads?*')
    await page.getByRole('button', { name: 'Unclaimed' }).click()
    await read
    await page.waitForTimeout(200)
    await cat.approve(old.thread)
    const young = await held(bot)
    const counted = page.waitForResponse('**/review/counts')
    await counted
    bring()
    await page.waitForFunction(() => !document.querySelector('[aria-busy=true]'))
    await page.locator(`.item.done a[href$="${old.thread}"]`).waitFor()
    await console_.inQueue(page, young)
    await page.getByRole('button', { name: 'Unclaimed' }).click()
    await row.waitFor({ state: 'detached' })
    await cat.approve(young.thread)
  })

  it('has no fault that axe finds in light or dark, wide or narrow, and never scrolls sideways', async () => {
    await held(bot, { subject: 'Something of a size', payload: { amount: 60_000 } })
    for (const look of [
      { dark: false, viewport: DESKTOP },
      { dark: true, viewport: PHONE },
    ]) {
      const page = await console_.signedIn({ reviewer: 'ann', ...look })
      for (const hash of ['queue', 'history', 'agents', 'policies']) {
        await visit(page, console_.world, hash)
        await page.waitForFunction(() => !document.querySelector('[aria-busy=true]'))
        await page.locator('h1').waitFor()
        expect(await axe(page), `${hash} ${JSON.stringify(look)}`).toEqual([])
        await expectNoSidewaysScroll(page)
      }
    }
  })

  it('filters by risk, turn and name, and keeps the filter in the address', async () => {
    const page = await console_.signedIn({ reviewer: 'cat' })
    const small = await console_.inQueue(page, await held(bot))
    const large = await console_.inQueue(
      page,
      await held(bot, { subject: 'A fortune it is', payload: { amount: 70_000 } }),
    )
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByRole('button', { name: 'critical' }).click()
    await small.waitFor({ state: 'detached' })
    expect(page.url()).toContain('risk=critical')
    // badge, filters and list count the same calls: cat may not decide a critical one
    const counted = await page.locator('.filters button b').allTextContents()
    const sum = counted.reduce((total, one) => total + Number(one), 0)
    expect(counted[0]).toBe('0')
    expect(await page.locator('nav .count').textContent()).toBe(String(sum))
    await page.getByText('0 need your vote').waitFor()
    await page.getByRole('button', { name: 'critical' }).click()
    await page.getByRole('button', { name: 'Mine to decide' }).click()
    await large.waitFor({ state: 'detached' })
    await small.waitFor()
    await page.reload()
    await small.waitFor()
    expect(await large.count()).toBe(0)
    await page.getByLabel('tool').fill('nothing-like-it')
    await page.getByLabel('tool').press('Enter')
    await page.getByText('waiting calls fits these filters').waitFor()
    await page.getByRole('link', { name: 'Clear the filters' }).click()
    await large.waitFor()
  })

  it('loads a page at a time, and more on demand', async () => {
    const { world } = console_
    const other = await world.agent('bot', 'globex')
    for (let i = 0; i < 30; i++) await held(other, { payload: { amount: 200 + i } })
    const page = await console_.open()
    await page.goto(`${world.url}/console/#/sign-in/${await world.link('zoe', 'globex')}`)
    await page.getByRole('button', { name: 'Sign in with this link' }).click()
    await page.getByText('amount 200').first().waitFor()
    await live(page)
    expect(await page.locator('.item').count()).toBe(25)
    await page.getByText('30 need your vote').waitFor()
    const behind = await held(other, { payload: { amount: 300 } })
    await page.locator('.news').waitFor()
    await page.getByRole('button', { name: 'Load more' }).click()
    await page.locator(`.item a[href$="${behind.thread}"]`).waitFor()
    expect(await page.locator('.item').count()).toBe(31)
    await page.getByText('31 need your vote').waitFor()
  })

  it('shows all other threads when the store cannot read one, and names it', async () => {
    const [one, two] = [await held(bot), await held(bot)]
    const mend = await breakRecord(console_.world, 'thread', two.thread)
    const page = await console_.signedIn({ reviewer: 'ann' })
    await console_.inQueue(page, one)
    await page.getByText(`The store cannot read ${two.thread}.`).waitFor()
    expect(await axe(page)).toEqual([])
    // the note stays when a new call arrives
    await console_.inQueue(page, await held(bot))
    expect(await page.getByText(`The store cannot read ${two.thread}.`).count()).toBe(1)
    await mend()
    await page.reload()
    await console_.inQueue(page, one)
    expect(await page.getByText('The store cannot read').count()).toBe(0)
    for (const { thread } of [one, two]) await (await console_.world.reviewer('cat')).approve(thread)
  })

  it('says when the connection is lost, and reconnects', async () => {
    const { world } = console_
    const page = await console_.signedIn({ reviewer: 'dan' })
    await live(page)
    await page.context().setOffline(true)
    await page.getByText('Connection lost: trying again').waitFor()
    const missed = await held(bot, { subject: 'While nobody listened' })
    await page.context().setOffline(false)
    await console_.inQueue(page, missed)
    await page.getByText('Live', { exact: true }).waitFor()
    await (await world.reviewer('cat')).approve(missed.thread)
    // every page stops saying that the gateway is unreachable
    for (const [hash, text] of [
      ['agents', 'Owner'],
      ['history', 'Cat Cox approved.'],
    ] as const) {
      const open = (): Promise<string> => page.evaluate((there) => (location.hash = there), `#/${hash}`)
      await open()
      await page.getByText(text).first().waitFor()
      await page.evaluate(() => (location.hash = '#/queue'))
      await page.context().setOffline(true)
      await open()
      await page.getByText('The gateway has not answered since').waitFor()
      await page.context().setOffline(false)
      await page.getByText(text).first().waitFor()
      await page.getByText('The gateway has not answered since').waitFor({ state: 'detached' })
    }
    await until(() => world.watches > 0)
  })
})

describe('the keyboard', () => {
  it('leads to the list, a thread, the same row again, search, pages and help', async () => {
    const page = await console_.signedIn({ reviewer: 'ann' })
    await page.locator('.item').nth(1).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    const href = await page.evaluate(() => document.activeElement?.getAttribute('href'))
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'What runs' }).waitFor()
    await page.waitForFunction(() => document.activeElement?.tagName === 'H1')
    await page.keyboard.press('Escape')
    await page.waitForFunction((row) => document.activeElement?.getAttribute('href') === row, href)
    await page.keyboard.press('k')
    expect(await page.evaluate(() => document.activeElement?.getAttribute('href'))).not.toBe(href)
    for (const [key, title] of [
      ['h', 'History'],
      ['p', 'Policies'],
      ['a', 'Agents'],
      ['q', 'Queue'],
    ] as const) {
      await page.keyboard.press('g')
      await page.keyboard.press(key)
      await page.getByRole('heading', { name: title, exact: true, level: 1 }).waitFor()
    }
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
    expect(await axe(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('/')
    await page.getByRole('searchbox').waitFor()
    await page.getByRole('heading', { name: 'History' }).waitFor()
    await page.keyboard.press('/')
    await page.waitForFunction(() => document.activeElement?.matches('input[type=search]'))
    await page.keyboard.type('fortune it is')
    await page.keyboard.press('Enter')
    await page.getByText('Nothing that has ended fits this search.').waitFor()
  })

  it('skips to the content', async () => {
    const page = await console_.signedIn({ reviewer: 'ann' })
    await page.reload()
    await page.locator('.item').first().waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main')
    expect(page.url()).toContain('#/queue')
  })
})

describe('history, agents, policies, themes', () => {
  it('finds a decided thread by words and facts', async () => {
    const done = await held(bot, { subject: 'Paid the invoice of Zeta' })
    await (await console_.world.reviewer('ben')).approve(done.thread)
    const page = await console_.signedIn({ reviewer: 'ann' })
    await visit(page, console_.world, 'history?q=zeta&status=approved')
    await page.locator('.ended .item').getByText('Ben Bay approved. Not used yet.').waitFor()
    expect(await page.locator('.ended .item').count()).toBe(1)
    await page.getByLabel('status').selectOption('rejected')
    await page.getByText('Nothing that has ended fits this search.').waitFor()
  })

  it('lists my votes with what became of them, and those that I took back', async () => {
    const [one, two] = [
      await held(bot, { payload: { amount: 711 } }),
      await held(bot, { payload: { amount: 712 } }),
    ]
    const page = await console_.signedIn({ reviewer: 'cat', viewport: WIDE })
    for (const call of [one, two]) {
      await console_.show(page, call)
      await page.keyboard.press('r')
      await page.locator('.undo').waitFor()
      if (call === one) await page.keyboard.press('u')
      else await page.getByText('You rejected revision 1.').waitFor()
    }
    await visit(page, console_.world, 'history')
    await page.getByRole('link', { name: 'My votes' }).click()
    await page.locator('.item', { hasText: 'amount 712' }).getByText('You rejected.').waitFor()
    await page.locator('.taken', { hasText: 'You took your rejection back' }).getByText('711').waitFor()
    expect(await page.locator('.item', { hasText: 'amount 711' }).count()).toBe(0)
    expect(await axe(page)).toEqual([])
    await bot.withdraw(one.thread)
    await visit(page, console_.world, 'history?status=withdrawn')
    await page.locator('.item').getByText('Withdrawn by its agent after').first().waitFor()
    await page.context().close()
  })

  it('shows equal calls as one row that unfolds, with their effect and exact words', async () => {
    const { world } = console_
    const task = 'equal-calls'
    const many = await Promise.all(
      Array.from({ length: 20 }, () => held(bot, { payload: { amount: 4321 } }, task)),
    )
    const another = await held(bot, { payload: { amount: 4322 } }, task)
    const page = await console_.signedIn({ reviewer: 'ben' })
    await visit(page, world, `queue?task_id=${task}`)
    const rows = page.locator('.item')
    await page.getByText('4322').first().waitFor()
    expect(await rows.count()).toBe(2)
    expect(await rows.first().innerText()).toMatch(/pay: amount 4321/)
    const unfold = page.getByRole('button', { name: '20 equal' })
    expect(await unfold.getAttribute('aria-expanded')).toBe('false')
    await unfold.click()
    await page.getByRole('button', { name: 'Fold' }).waitFor()
    expect(await rows.count()).toBe(21)
    const links = await page
      .locator('.item a.open')
      .evaluateAll((all) => all.map((one) => one.getAttribute('href')))
    expect(new Set(links)).toEqual(new Set([...many, another].map(({ thread }) => `#/thread/${thread}`)))
    expect(await axe(page)).toEqual([])
    await page.getByRole('button', { name: 'Fold' }).click()
    const cat = await world.reviewer('cat')
    await cat.vote(many[0]?.thread ?? '', { decision: 'reject', revision: 1 })
    await page.getByRole('button', { name: '19 equal' }).waitFor()
    await visit(page, world, `thread/${many[1]?.thread}`)
    await page.getByRole('heading', { name: 'pay: amount 4321' }).waitFor()
  })

  it('shows agents and policies to every reviewer, who may also try a call', async () => {
    const page = await console_.signedIn({ reviewer: 'ben' })
    await page.getByRole('link', { name: 'Agents' }).click()
    await page.getByRole('heading', { name: 'selfie' }).waitFor()
    await page.getByText('may vote on its calls, too').waitFor()
    await page.getByRole('link', { name: 'Policies' }).click()
    await page.getByText('pay-shadow').first().waitFor()
    await page
      .getByLabel('A request as an agent')
      .fill('{ "tool_name": "pay", "payload": { "amount": 20000 } }')
    await page.getByRole('button', { name: 'Explain' }).click()
    await page.getByText('A lot of money.').first().waitFor()
    expect(await axe(page)).toEqual([])
    await page.getByLabel('A request as an agent').fill('not json')
    await page.getByRole('button', { name: 'Explain' }).click()
    await page.getByText('not acceptable JSON').waitFor()
  })

  it('leads from what policy says to the text of the rule at its line', async () => {
    const one = await held(bot)
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    await console_.show(page, one)
    await page.getByRole('link', { name: 'pay-review · rules/pay.yaml:10' }).click()
    await page.locator('.lines [aria-current]').getByText('- id: pay-review').waitFor()
    expect(await axe(page)).toEqual([])
    await page.getByRole('link', { name: 'rules/hold.yaml' }).click()
    await page.locator('.lines').getByText('- id: hold-always').waitFor()
    await bot.withdraw(one.thread)
    await page.context().close()
  })

  it('keeps the chosen theme', async () => {
    const page = await console_.signedIn({ reviewer: 'ann' })
    const paper = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    const light = await paper()
    await page.getByRole('button', { name: 'Ann Ash' }).click()
    await page.getByLabel('dark').check()
    expect(await paper()).not.toBe(light)
    await page.reload()
    await page.locator('h1').waitFor()
    expect(await paper()).not.toBe(light)
  })
})
