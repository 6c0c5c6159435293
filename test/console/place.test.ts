import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import type { ThreadView } from '../../src/contract/reviewer.ts'
import { INSTALL_MS } from '../debian.ts'
import { type Held, held, type Reviewer } from '../gateway-fixture.ts'
import { approve, axe, DESKTOP, expectNoSidewaysScroll, PHONE, seeAll, visit } from './browser.ts'
import { bot, console_, consoleWorld } from './console-world.ts'

/**
 * The text on the page and its place. No text is cut off or mistaken for another; news is in sight, and the page keeps
 * its place.
 */

let ann: Page
let ben: Reviewer

consoleWorld()
beforeAll(async () => {
  ben = await console_.world.reviewer('ben')
  ann = await console_.signedIn({ reviewer: 'ann' })
}, INSTALL_MS)

const stateOf = async ({ thread }: Held): Promise<ThreadView> => (await ben.show(thread)).body
const button = (page: Page, name: string): ReturnType<Page['getByRole']> =>
  page.getByRole('button', { name: new RegExp(`^${name}`) })
const focused = (page: Page): Promise<string | null> =>
  page.evaluate(
    () => document.activeElement?.getAttribute('href') ?? document.activeElement?.textContent ?? '',
  )

const hrefs = (page: Page): Promise<(string | null)[]> =>
  page.locator('.item a').evaluateAll((rows) => rows.map((one) => one.getAttribute('href')))

/** Within the window, and not behind a cover. */
const isInSight = (page: Page, text: string | RegExp): Promise<boolean> =>
  page
    .getByText(text)
    .first()
    .evaluate((element) => {
      const { left, top, height } = element.getBoundingClientRect()
      const there = document.elementFromPoint(left + 2, top + height / 2)
      return there !== null && (element.contains(there) || there.contains(element))
    })

describe('a thread', () => {
  it('shows a deep payload whole in its own scrolling area, and wraps no word', async () => {
    let deep: unknown = 'at the very bottom'
    for (let i = 0; i < 50; i++) deep = i % 2 === 0 ? { [`level ${i}`]: deep } : [deep]
    const one = await held(bot, { tool_name: 'hold', payload: { deep } })
    const page = await console_.signedIn({ reviewer: 'ann', viewport: PHONE })
    await console_.show(page, one)
    await expectNoSidewaysScroll(page)
    const bottom = page.getByText('at the very bottom')
    await bottom.scrollIntoViewIfNeeded()
    const box = await bottom.boundingBox()
    expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 0) <= PHONE.width).toBe(true)
    // of the text of the agent: our quote may have a line of its own
    const lines = await bottom.evaluate((value) => {
      const range = document.createRange()
      range.selectNodeContents(value)
      return range.getClientRects().length
    })
    expect(lines).toBeLessThanOrEqual('at the very bottom'.split(' ').length)
    expect(await axe(page)).toEqual([])
  })

  it('keeps the lines of a text out of the column of names', async () => {
    const memo = 'ok"\ndry_run   true\nto   "acct_reserve'
    const one = await held(bot, { tool_name: 'hold', payload: { memo, list: [{ a: memo }], z: 1 } })
    await console_.show(ann, one)
    const lines = await ann.evaluate(() =>
      [...document.querySelectorAll('.tree li')].map((item) => {
        const range = document.createRange()
        range.selectNodeContents(item.querySelector('.name') ?? item)
        const name = range.getBoundingClientRect().left
        const texts = [...item.querySelectorAll(':scope > .text')]
        return texts.map((text) => [...text.getClientRects()].slice(1).map(({ left }) => left - name))
      }),
    )
    const all = lines.flat(2)
    expect(all.length).toBeGreaterThanOrEqual(2)
    for (const from of all) expect(from).toBeGreaterThanOrEqual(16)
  })

  it('shows the whole button for the remaining fields', async () => {
    const payload = Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`field ${i}`, i]))
    await console_.show(ann, await held(bot, { tool_name: 'hold', payload }))
    const box = await button(ann, 'Show 30 more items').boundingBox()
    const frame = await ann.locator('.panel > .tree').boundingBox()
    expect(box?.x).toBeGreaterThanOrEqual(frame?.x ?? Infinity)
    await button(ann, 'Show 30 more items').click()
    await ann.getByText('field 9', { exact: true }).waitFor()
  })

  it('keeps the focus on a pressed button: claim, release, reveal', async () => {
    const one = await held(bot, { payload: { amount: 500, secret: 'the cellar door' } })
    await console_.show(ann, one)
    for (const [name, then] of [
      ['Claim', 'Release'],
      ['Release', 'Claim'],
      ['Reveal 1 hidden value', 'Revealed 1 hidden value'],
    ] as const) {
      await ann.getByRole('button', { name, exact: true }).focus()
      await ann.keyboard.press('Enter')
      await ann.getByRole('button', { name: then, exact: true }).waitFor()
      expect(await focused(ann)).toBe(then)
    }
  })

  it('blocks approval when the call is revised while the second step is open', async () => {
    const one = await held(bot, { payload: { amount: 20_000 } })
    const eve = await console_.world.reviewer('eve')
    await console_.show(ann, one)
    await seeAll(ann)
    await approve(ann)
    const dialog = ann.getByRole('dialog')
    await dialog.waitFor()
    await eve.vote(one.thread, { decision: 'request_changes', revision: 1, comment: 'less' })
    await ann.getByText('Back with the agent').first().waitFor({ state: 'attached' })
    const revision = { revision_id: 'r2', request_payload: { amount: 49_000 } }
    await bot.revise(one.task, one.thread, revision)
    await ann.getByText('The agent has sent revision 2.').waitFor({ state: 'attached' })
    await ann.keyboard.press('y')
    await dialog.waitFor({ state: 'detached' })
    await ann.getByText('You are looking at revision 1').waitFor()
    expect(await button(ann, 'Approve').count()).toBe(0)
    await button(ann, 'Look at revision 2').click()
    await ann.getByRole('region', { name: 'What changed' }).getByText('49000').first().waitFor()
    const { votes, status } = await stateOf(one)
    expect([votes.map(({ decision }) => decision), status]).toEqual([['request_changes'], 'pending_review'])
  })

  it('shows each message in view, however far down the page is scrolled', async () => {
    const payload = { text: Array.from({ length: 55 }, (_, i) => [`line ${i}`]) }
    const one = await held(bot, { tool_name: 'hold', payload })
    for (const viewport of [DESKTOP, PHONE]) {
      const page = await console_.signedIn({ reviewer: 'ann', viewport })
      await console_.show(page, one)
      await page.getByText('line 54').scrollIntoViewIfNeeded()
      await page.evaluate(() => scrollBy(0, 300))
      const problem = { title: 'Not now', code: 'unavailable', detail: 'later', status: 503 }
      await page.route('**/votes', (route) => route.fulfill({ status: 503, json: problem }))
      await seeAll(page)
      await button(page, 'Approve').click()
      await expect.poll(() => isInSight(page, 'Not now.')).toBe(true)
      await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
      const { revision: number } = await stateOf(one)
      const request_payload = { ...payload, number }
      const again = { revision_id: `r${number + 1}`, tool_name: 'hold', request_payload }
      await bot.revise(one.task, one.thread, again)
      await page.getByText(`The agent has sent revision ${number + 1}.`).waitFor()
      expect(await isInSight(page, 'The agent has sent revision')).toBe(true)
      expect(await axe(page)).toEqual([])
      await button(page, `Look at revision ${number + 1}`).click()
      await page.getByRole('heading', { name: 'What changed' }).waitFor()
      expect(await isInSight(page, /^Payload$/)).toBe(true)
      expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('H1')
      await page.keyboard.press('d')
      await page.getByRole('heading', { name: 'What changed' }).waitFor({ state: 'detached' })
      await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
      await page.keyboard.press('d')
      await page.getByRole('heading', { name: 'What changed' }).waitFor()
      expect(await isInSight(page, /^Payload$/)).toBe(true)
    }
  })

  it('keeps text that is added while a comment is being sent', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    const field = ann.getByRole('textbox', { name: 'Comment' })
    let sent = (): void => undefined
    const held_ = new Promise<void>((resolve) => (sent = resolve))
    await ann.route('**/comments', async (route) => {
      await held_
      await route.continue()
    })
    await field.fill('First.')
    await button(ann, 'Comment').click()
    await field.fill('First. And another thing')
    sent()
    await ann.getByText('Your comment was added for all reviewers.').waitFor()
    expect(await field.inputValue()).toBe('First. And another thing')
    await ann.unroute('**/comments')
    expect((await stateOf(one)).comments.map(({ comment }) => comment)).toEqual(['First.'])
  })
})

describe('what changed', () => {
  it('separates the names of a path with its own signs, and isolates their text direction', async () => {
    const one = await held(bot, { tool_name: 'hold', payload: { a: { b: 1 }, 'a › b': 1 } })
    const payload = { a: { b: 2 }, 'a › b': 2, '': 3, אב: { גד: 1 } }
    await ben.vote(one.thread, { decision: 'request_changes', revision: 1, comment: 'more' })
    const revision = { revision_id: 'places', tool_name: 'hold', request_payload: payload }
    await bot.revise(one.task, one.thread, revision)
    await console_.show(ann, one)
    const changes = ann.getByRole('region', { name: 'What changed' })
    await changes.waitFor()
    const places = await changes
      .locator('.name')
      .evaluateAll((all) =>
        all.map((place) => [
          [...place.querySelectorAll('bdi')].map((name) => name.textContent),
          getComputedStyle(place.querySelector('.step + .step') ?? place, '::before').content,
        ]),
      )
    expect(places.slice(0, 4)).toEqual([
      [['a', 'b'], '" › "'],
      [['a › b'], 'none'],
      [[''], 'none'],
      [['אב'], 'none'],
    ])
    const nameless = ann.locator('.name bdi:empty')
    expect(await nameless.count()).toBe(2)
    expect(await nameless.first().evaluate((name) => getComputedStyle(name, '::before').content)).toBe(
      '"empty name"',
    )
    const value = changes.locator('ins .said').filter({ hasText: '{' })
    expect(await value.evaluate((text) => getComputedStyle(text).direction)).toBe('ltr')
  })
})

describe('a list', () => {
  it('keeps a decided row in its place and skips it, and never moves the focus by itself', async () => {
    const page = await console_.signedIn({ reviewer: 'ben' })
    const all = [await held(bot), await held(bot), await held(bot)]
    for (const one of all) await console_.inQueue(page, one)
    const order = await hrefs(page)
    const at = order.indexOf(`#/thread/${all[1]?.thread}`)
    await page.locator('.item a').nth(at).focus()
    const cat = await console_.world.reviewer('cat')
    await cat.approve(all[1]?.thread ?? '')
    await page.locator('.item.done').waitFor()
    expect([await focused(page), await hrefs(page)]).toEqual([order[at], order])
    await page.keyboard.press('j')
    expect(await focused(page)).toBe(order[at + 1])
  })

  it('keeps its filter after a thread, and continues after the decided row', async () => {
    const page = await console_.signedIn({ reviewer: 'ann' })
    for (let i = 0; i < 4; i++) await held(bot, { payload: { amount: 20_000 } })
    await visit(page, console_.world, 'queue?risk=high')
    await page.locator('.item').nth(3).waitFor()
    const order = await hrefs(page)
    for (const key of ['j', 'j', 'Enter']) await page.keyboard.press(key)
    await button(page, 'Approve').waitFor()
    await seeAll(page)
    await approve(page)
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('y')
    await page.getByText('You approved revision 1.').waitFor()
    expect(await page.locator('.note a').last().getAttribute('href')).toBe('#/queue?risk=high')
    await page.keyboard.press('Escape')
    await page.waitForURL(/#\/queue\?risk=high$/)
    await page.locator(`.item a[href="${order[2]}"]`).waitFor()
    await page.locator(`.item.done a[href="${order[1]}"]`).waitFor()
    await page.keyboard.press('j')
    expect(await focused(page)).toBe(order[2])
  })

  it('takes keys as soon as it appears, and never shows rows of another query', async () => {
    const page = await console_.signedIn({ reviewer: 'ben' })
    const one = await held(bot)
    await console_.inQueue(page, one)
    await visit(page, console_.world, 'policies')
    await page.getByRole('heading', { name: 'Policies' }).waitFor()
    const seen = await page.evaluate(
      () =>
        new Promise<[string | null | undefined, string | null | undefined]>((done) => {
          const watch = new MutationObserver(() => {
            const first = document.querySelector('.item a')
            if (!first) return
            document.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }))
            const focus = document.activeElement?.getAttribute('href')
            watch.disconnect()
            // before the browser has painted once
            location.hash = '#/queue?q=nothing-like-it'
            addEventListener('hashchange', () => done([focus, document.querySelector('.item')?.textContent]))
          })
          watch.observe(document.body, { childList: true, subtree: true })
          location.hash = '#/queue'
        }),
    )
    expect(seen).toEqual([expect.stringContaining('#/thread/'), undefined])
  })

  it('fits a phone, even when a reviewer with a long name has claimed a call', async () => {
    const one = await held(bot, { subject: 'Claimed by a long name', payload: { amount: 60_000 } })
    const plain = await held(bot, { subject: 'Claimed by nobody', payload: { amount: 60_000 } })
    const name = 'Katharina-Sophie von Hohenstein-Wolkenburg'
    const page = await console_.signedIn({ reviewer: 'eve', viewport: PHONE })
    await page.route('**/api/review/threads?*', async (route) => {
      const response = await route.fetch()
      const { threads } = (await response.json()) as { threads: { thread_id: string }[] }
      const claim = { reviewer: 'kat', name, expires_at: new Date().toISOString() }
      const claimed = threads.map((row) => (row.thread_id === one.thread ? { ...row, claim } : row))
      await route.fulfill({ json: { threads: claimed } })
    })
    await page.reload()
    await page.getByText(`claimed by ${name}`).first().waitFor()
    await expectNoSidewaysScroll(page)
    const [row, other] = await Promise.all(
      [one, plain].map(({ thread }) => page.locator(`.item:has(a[href$="${thread}"])`).boundingBox()),
    )
    expect(row?.height).toBe(other?.height)
  })

  it('counts a decided call no longer among the new ones', async () => {
    const page = await console_.signedIn({ reviewer: 'ben' })
    const one = await held(bot)
    const news = page.locator('.news')
    await news.waitFor()
    await (await console_.world.reviewer('cat')).approve(one.thread)
    await news.waitFor({ state: 'detached' })
  })
})

describe('the text that a reviewer writes', () => {
  it('stays in a queue filter when a thread arrives', async () => {
    const page = await console_.signedIn({ reviewer: 'ann' })
    await page.getByRole('button', { name: 'Filter' }).click()
    const field = page.getByLabel('agent')
    await field.pressSequentially('nob')
    const one = await held(bot)
    await page.locator('.news').waitFor()
    await field.pressSequentially('ody')
    expect(await field.inputValue()).toBe('nobody')
    await field.press('Enter')
    await page.getByText('waiting calls fits these filters').waitFor()
    await visit(page, console_.world, 'queue?agent=bot')
    await console_.inQueue(page, one)
    expect(await field.inputValue()).toBe('bot')
    await ben.approve(one.thread)
  })

  it('stays in the search field when the list arrives', async () => {
    const page = await console_.signedIn({ reviewer: 'ann' })
    let answer = (): void => undefined
    const asked = new Promise<void>((resolve) => (answer = resolve))
    await page.route(/threads\?/, async (route) => {
      await asked
      await route.continue()
    })
    await page.evaluate(() => (location.hash = '#/history'))
    const field = page.getByRole('searchbox')
    await field.pressSequentially('of nobo')
    answer()
    await page.waitForFunction(() => document.querySelectorAll('.item').length > 0)
    await field.pressSequentially('dy')
    expect(await field.inputValue()).toBe('of nobody')
    await field.press('Enter')
    await page.getByText('Nothing that has ended fits this search.').waitFor()
  })
})

describe('a low window', () => {
  it('shows the second step with its buttons, and hides the fixed bar at 400 % zoom', async () => {
    const one = await held(bot, { payload: { amount: 20_000 } })
    const page = await console_.signedIn({ reviewer: 'eve', viewport: { width: 720, height: 360 } })
    await console_.show(page, one)
    await seeAll(page)
    await approve(page)
    const box = await page.getByRole('button', { name: 'Approve high risk' }).boundingBox()
    expect((box?.y ?? 999) + (box?.height ?? 0)).toBeLessThanOrEqual(360)
    await page.keyboard.press('Escape')
    await page.setViewportSize({ width: 320, height: 256 })
    await page.evaluate(() => scrollTo(0, 0))
    const bar = await page.getByRole('region', { name: 'Your decision' }).boundingBox()
    expect(bar?.y).toBeGreaterThan(256)
    await expectNoSidewaysScroll(page)
  })
})

describe('forced colours of the reader', () => {
  it('forced colours of the reader keep the shapes of risks, and a frame around the selected filter', async () => {
    await held(bot, { payload: { amount: 60_000 } })
    const page = await console_.signedIn({ reviewer: 'ann' })
    await page.emulateMedia({ forcedColors: 'active' })
    await visit(page, console_.world, 'queue?risk=critical')
    const style = (selector: string): Promise<readonly string[]> =>
      page
        .locator(selector)
        .first()
        .evaluate((element) => {
          const { backgroundColor, outlineStyle } = getComputedStyle(element)
          return [backgroundColor, outlineStyle]
        })
    const [paper] = await style('body')
    expect((await style('.item .risk.critical i'))[0]).not.toBe(paper)
    expect((await style('.filters [aria-pressed=true]'))[1]).toBe('solid')
    expect((await style('.filters [aria-pressed=false]'))[1]).toBe('none')
    expect((await style('nav [aria-current]'))[1]).toBe('solid')
  })
})
