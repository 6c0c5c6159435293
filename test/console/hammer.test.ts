import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { INSTALL_MS } from '../debian.ts'
import { held, type Held, type Reviewer } from '../gateway-fixture.ts'
import { approve, type Console, openConsole, visit, WIDE } from './browser.ts'

/** A reviewer who presses keys without looking, by a clock that the test moves. */

let console_: Console
let ben: Reviewer
beforeAll(async () => {
  console_ = await openConsole()
  ben = await console_.world.reviewer('ben')
}, INSTALL_MS)
afterAll(async () => {
  await console_.close()
  expect(console_.misdeeds).toEqual([])
})

const LONG = Array.from({ length: 120 }, (_, i) => `line ${i}.`).join('\n')
const callOf = (text: string): object => ({ tool_name: 'hold', payload: { text } })
const votesOn = async ({ thread }: Held): Promise<number> => (await ben.show(thread)).body.votes.length

/** A page whose timers wait between the steps of the test. */
async function stopped(advance: boolean): Promise<Page> {
  const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE, advance })
  await page.clock.install({ time: Date.now() })
  await page.reload()
  await page.locator('.item').first().waitFor()
  await page.clock.pauseAt(Date.now() + 60_000)
  return page
}

/** Moves the clock until the call of the address is there. */
async function opened(page: Page, thread: string): Promise<void> {
  await expect
    .poll(async () => {
      await page.clock.runFor(20)
      return page.evaluate(() => [location.hash, document.querySelectorAll('.call .part').length > 0])
    })
    .toEqual([`#/thread/${thread}`, true])
}

const label = (page: Page): Promise<string> => page.locator('.bar .approve').innerText()

it('approves no call that had to be paged, and none in its first second, by one `a` a second', async () => {
  const bot = await console_.world.agent()
  const calls: Held[] = []
  for (let i = 0; i < 10; i++)
    calls.push(await held(bot, callOf(i % 3 === 2 ? `${i} ${LONG}` : `short ${i}`)))
  const page = await stopped(true)
  await page.keyboard.press('j')
  const shown = new Map<string, number>()
  const decided: { thread: string; after: number }[] = []
  for (let second = 0; second < 15; second++) {
    const thread = await page.evaluate(() => location.hash.replace('#/thread/', ''))
    if (!shown.has(thread)) {
      await opened(page, thread)
      shown.set(thread, await page.evaluate(() => performance.now()))
    }
    const at = await page.evaluate(() => performance.now())
    await page.keyboard.press('a')
    const now = await page.evaluate(() => location.hash.replace('#/thread/', ''))
    if (now !== thread) decided.push({ thread, after: at - (shown.get(thread) ?? at) })
    // no number of these keys decides a call that had to be paged, so this reviewer takes the next
    else if ((await page.evaluate(() => document.activeElement?.matches('.approve'))) === true)
      await page.keyboard.press('j')
    await page.clock.runFor(1_000)
  }
  await page.clock.runFor(10_000)
  const short = calls.filter((_, i) => i % 3 !== 2)
  const long = calls.filter((_, i) => i % 3 === 2)
  expect(decided.length).toBeGreaterThan(1)
  for (const { thread, after } of decided) {
    expect(short.map((one) => one.thread)).toContain(thread)
    expect(after).toBeGreaterThanOrEqual(1_000)
  }
  await expect
    .poll(async () => (await Promise.all(short.map(votesOn))).reduce((sum, votes) => sum + votes, 0))
    .toBe(decided.length)
  expect(await Promise.all(long.map(votesOn))).toEqual(long.map(() => 0))
  for (const one of calls) await bot.withdraw(one.thread)
  await page.context().close()
})

it('pages by `a` and by Space, and then Enter decides: neither `a` nor Space does', async () => {
  const bot = await console_.world.agent()
  const one = await held(bot, callOf(LONG))
  const page = await stopped(false)
  await visit(page, console_.world, `thread/${one.thread}`)
  await opened(page, one.thread)
  for (let key = 0; (await label(page)).includes('not seen'); key++) {
    expect(key).toBeLessThan(12)
    await page.keyboard.press(key % 2 === 0 ? 'a' : 'Space')
    await page.clock.runFor(700)
  }
  expect(await label(page)).toContain('Approve in a second')
  await page.keyboard.press('a')
  await page.clock.runFor(1_500)
  expect(await page.locator('.undo').count()).toBe(0)
  for (const key of ['a', 'Space', 'a', 'Space']) await page.keyboard.press(key)
  await page.locator('.ready').getByText('All seen: Enter approves').waitFor()
  await page.clock.runFor(10_000)
  expect(await votesOn(one)).toBe(0)
  expect(await approve(page)).toEqual(['Enter'])
  await page.locator('.undo').waitFor()
  await page.clock.runFor(10_000)
  await expect.poll(() => votesOn(one)).toBe(1)
  await page.context().close()
})

it('does not decide by Enter when the button showed the last screen', async () => {
  const bot = await console_.world.agent()
  const one = await held(bot, callOf(LONG))
  const page = await stopped(false)
  await visit(page, console_.world, `thread/${one.thread}`)
  await opened(page, one.thread)
  for (let i = 0; i < 12; i++) {
    if ((await label(page)).includes('not seen')) await page.locator('.bar .approve').focus()
    for (const key of ['Enter', 'Enter']) await page.keyboard.press(key)
    await page.clock.runFor(2_000)
  }
  expect(await label(page)).not.toContain('not seen')
  expect(await page.locator('.undo').count()).toBe(0)
  expect(await votesOn(one)).toBe(0)
  await page.context().close()
})

it('does not count a quick scroll to the end, a held key or many keys', async () => {
  const bot = await console_.world.agent()
  const one = await held(bot, callOf(LONG))
  const page = await stopped(false)
  await visit(page, console_.world, `thread/${one.thread}`)
  await opened(page, one.thread)
  await page.keyboard.press('a')
  await page.clock.runFor(100)
  await page.getByText('line 119.').waitFor({ state: 'attached' })
  const pane = page.locator('.call > .scroll')
  const height = await pane.evaluate(({ scrollHeight }) => scrollHeight)
  for (let at = 0; at <= height; at += 400) {
    await pane.evaluate((element, top) => element.scrollTo(0, top), at)
    await page.clock.runFor(100)
  }
  for (let i = 0; i < 20; i++) {
    await page.keyboard.press('a')
    await page.clock.runFor(20)
  }
  for (const way of ['down', 'down', 'up'] as const) await page.keyboard[way]('a')
  expect(await label(page)).toContain('1 part not seen')
  expect(await votesOn(one)).toBe(0)
  await page.context().close()
})
