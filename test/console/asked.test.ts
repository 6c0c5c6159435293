import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasStopped } from '../../src/console/time/asked.ts'
import { INSTALL_MS } from '../debian.ts'
import { type Agent, held, HOUR, MINUTE, SECOND } from '../gateway-fixture.ts'
import { axe, type Console, openConsole, WIDE } from './browser.ts'

/** Whether the agent still waits, the number of calls that need a vote, and filters that stay in the address. */

describe('hasStopped', () => {
  it('waits for ten minutes, and for three of the usual intervals', () => {
    const at = Date.UTC(2026, 10, 27)
    const asked_at = new Date(at).toISOString()
    expect(hasStopped({ asked_at }, at + 10 * MINUTE)).toBe(false)
    expect(hasStopped({ asked_at }, at + 10 * MINUTE + 1)).toBe(true)
    expect(hasStopped({ asked_at, asks_every_ms: 5 * MINUTE }, at + 15 * MINUTE)).toBe(false)
    expect(hasStopped({ asked_at, asks_every_ms: 5 * MINUTE }, at + 15 * MINUTE + 1)).toBe(true)
    expect(hasStopped({}, at)).toBe(false)
  })
})

describe('the queue', () => {
  let console_: Console
  let bot: Agent

  beforeAll(async () => {
    console_ = await openConsole()
    bot = await console_.world.agent()
  }, INSTALL_MS)
  afterAll(async () => {
    await console_.close()
    expect(console_.misdeeds).toEqual([])
  })

  it('shows when the agent last asked, filters by it, and keeps the filter beside an open call', async () => {
    const { clock } = console_.world
    const old = await held(bot, { payload: { amount: 301 } })
    clock.advance(3 * HOUR + SECOND)
    const fresh = await held(bot, { payload: { amount: 302 } })
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    const rows = page.locator('.item .open')
    await page.locator('.item', { hasText: 'amount 301' }).getByText('last asked 3 h ago').waitFor()
    expect(await page.getByText('last asked').count()).toBe(1)
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByRole('button', { name: 'No agent waits for it any more' }).click()
    await page.locator('.item', { hasText: 'amount 302' }).waitFor({ state: 'detached' })
    expect(await axe(page)).toEqual([])
    await rows.click()
    await page.locator('.note.gone').getByText('The agent last asked 3 h ago').waitFor()
    await page.waitForURL(`**/#/thread/${old.thread}?asked=stopped`)
    await page.reload()
    await page.locator('.note.gone').waitFor()
    await expect.poll(() => rows.count()).toBe(1)
    expect(await page.getByRole('button', { name: 'No agent waits' }).getAttribute('aria-pressed')).toBe(
      'true',
    )
    await page.keyboard.press('Escape')
    await page.goto(`${console_.world.url}/console/#/thread/${fresh.thread}`)
    await page.locator('.top').getByText('the agent last asked just now').waitFor()
    expect(await page.locator('.note.gone').count()).toBe(0)
    for (const { thread } of [old, fresh]) await bot.withdraw(thread)
    await page.context().close()
  })

  it('counts the calls that need my vote in the title, the icon and the navigation', async () => {
    const [one, two] = [
      await held(bot, { payload: { amount: 401 } }),
      await held(bot, { payload: { amount: 402 } }),
    ]
    const others = await held(bot, { payload: { amount: 60_000 } })
    const page = await console_.signedIn({ reviewer: 'cat', viewport: WIDE })
    const icon = page.locator('link[rel=icon]')
    const titled = (title: string) => page.waitForFunction((wanted) => document.title === wanted, title)
    await titled('(2) Countersign')
    await expect.poll(() => icon.getAttribute('href')).toMatch(/^blob:/)
    expect(await page.locator('nav .count').innerText()).toBe('2')
    const three = await held(bot, { payload: { amount: 403 } })
    await titled('(3) Countersign')
    for (const { thread } of [one, two, three]) await bot.withdraw(thread)
    await titled('(0) Countersign')
    await expect.poll(() => icon.getAttribute('href')).not.toMatch(/^blob:/)
    await bot.withdraw(others.thread)
    await page.context().close()
  })
})
