import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { held } from '../gateway-fixture.ts'
import { approve, axe, expectNoSidewaysScroll, PHONE, seeAll, visit, WIDE } from './browser.ts'
import { bot, console_, consoleWorld } from './console-world.ts'

/** The list and a call: side by side in a wide window, one at a time in a narrow one, by keyboard alone. */

consoleWorld()

const open = (page: Page): Promise<string> =>
  page.locator('.item [aria-current]').evaluate((link) => link.getAttribute('href') ?? '')
const focus = (page: Page): Promise<string> =>
  page.evaluate(() => document.activeElement?.getAttribute('href') ?? document.activeElement?.id ?? '')
const title = (page: Page, text: string): Promise<void> =>
  page.locator('#call-title', { hasText: text }).waitFor()

describe('a wide window', () => {
  it('opens calls beside the list, continues with the next after a vote, and keeps the place on reload', async () => {
    for (const amount of [201, 202, 203]) await held(bot, { payload: { amount } })
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE, advance: true })
    const loads: string[] = []
    page.on('load', () => loads.push(page.url()))
    const order = await page
      .locator('.item a')
      .evaluateAll((rows) => rows.map((one) => one.getAttribute('href')))
    await page.keyboard.press('j')
    await title(page, 'amount 201')
    expect([await open(page), await focus(page)]).toEqual([order[0], order[0]])
    await page.keyboard.press('j')
    await title(page, 'amount 202')
    await page.keyboard.press('k')
    await title(page, 'amount 201')
    await page.keyboard.press('Enter')
    expect(await focus(page)).toBe('call-title')
    await page.keyboard.press('Escape')
    expect(await focus(page)).toBe(order[0])
    await seeAll(page)
    await approve(page)
    await title(page, 'amount 202')
    expect(await open(page)).toBe(order[1])
    await page.locator(`.item.done a[href="${order[0]}"]`).waitFor()
    expect(loads).toEqual([])
    await page.reload()
    await title(page, 'amount 202')
    await page.locator('.item').first().waitFor()
    expect(await open(page)).toBe(order[1])
    // the second line of a row is a part of its link
    const { x = 0, y = 0 } = (await page.locator('.item').last().locator('.why b').boundingBox()) ?? {}
    await page.mouse.click(x + 4, y + 8)
    await title(page, 'amount 203')
    const list = page.locator('.list .scroll')
    expect(await list.evaluate((pane) => pane.scrollWidth - pane.clientWidth)).toBe(0)
    expect(await axe(page)).toEqual([])
    await expectNoSidewaysScroll(page)
  })

  it('lists by risk under headings, and in another order when asked, which the address keeps', async () => {
    const small = await held(bot, { payload: { amount: 411 } }, 'order')
    const large = await held(bot, { payload: { amount: 60_000 } }, 'order')
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    await visit(page, console_.world, 'queue?task_id=order')
    const order = async (all: readonly { readonly thread: string }[]): Promise<void> => {
      const [first, second] = all.map(({ thread }) => `.item:has([href$="${thread}"])`)
      await page.locator(`${first} ~ ${second}, ol:has(${first}) ~ ol ${second}`).waitFor()
    }
    await order([large, small])
    expect(await page.locator('.level').allTextContents()).toEqual(['critical 1', 'low 1'])
    expect(await page.locator('.item .why').last().innerText()).toMatch(/amount\s+411/)
    await page.getByLabel('Order of the queue').selectOption('Oldest first')
    await order([small, large])
    expect(page.url()).toContain('sort=oldest')
    expect(await page.locator('.level').count()).toBe(0)
    expect(await axe(page)).toEqual([])
  })

  it('stays at the decided call when the profile menu says so, and names the next one', async () => {
    await held(bot)
    const one = await held(bot, { payload: { amount: 333 } })
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE, advance: true })
    await page.getByRole('button', { name: 'Ann Ash' }).click()
    await page.getByLabel('Open the next call after a vote').uncheck()
    await page.keyboard.press('Escape')
    await (await console_.inQueue(page, one)).click()
    await title(page, 'amount 333')
    await seeAll(page)
    await approve(page)
    await page.getByText('You approved revision 1.').waitFor()
    await page.getByRole('link', { name: 'Next call that waits for you' }).waitFor()
  })

  it('scrolls its panes and covers nothing: strip and bar are beside the call, never over it', async () => {
    const text = Array.from({ length: 60 }, (_, i) => [`line ${i}`])
    const one = await held(bot, { tool_name: 'hold', payload: { text } })
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    await console_.show(page, one)
    const box = async (selector: string): Promise<{ top: number; bottom: number }> => {
      const { y, height } = (await page.locator(selector).boundingBox()) ?? { y: 0, height: 0 }
      return { top: Math.round(y), bottom: Math.round(y + height) }
    }
    await page.getByText('line 59').scrollIntoViewIfNeeded()
    const [strip, pane, bar] = [await box('.strip'), await box('.call > .scroll'), await box('.bar')]
    expect([strip.bottom, pane.bottom]).toEqual([pane.top, bar.top])
    expect(bar.bottom).toBeLessThanOrEqual(WIDE.height)
    expect(await page.evaluate(() => scrollY)).toBe(0)
  })
})

describe('a narrow window', () => {
  it('shows one pane: back leads from the call to the list, also after the next call opened by itself', async () => {
    const [one, two] = [await held(bot), await held(bot)]
    const page = await console_.signedIn({ reviewer: 'ann', viewport: PHONE, advance: true })
    await (await console_.inQueue(page, one)).click()
    await seeAll(page)
    await page.getByRole('button', { name: /^Approve/ }).click()
    await page.waitForURL((url) => url.hash.startsWith('#/thread/') && !url.hash.endsWith(one.thread))
    await page.goBack()
    await page.waitForURL(/#\/queue$/)
    await console_.inQueue(page, two)
    expect(await page.locator('.call').count()).toBe(0)
    await visit(page, console_.world, `thread/${two.thread}`)
    await page.locator('.bar').waitFor()
    expect(await page.locator('.list').count()).toBe(0)
    await expectNoSidewaysScroll(page)
  })

  it('flows as one page when it is low, and its bar ends the page', async () => {
    const page = await console_.signedIn({ reviewer: 'ann', viewport: { width: 640, height: 400 } })
    await console_.show(page, await held(bot))
    const pane = page.locator('.call > .scroll')
    expect(await pane.evaluate((one) => getComputedStyle(one).overflowY)).toBe('visible')
    const bar = await page.locator('.bar').boundingBox()
    expect(bar?.y).toBeGreaterThan(400)
    expect(await axe(page)).toEqual([])
  })
})
