import type { Page } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import type { JsonObject } from '../../src/contract/json.ts'
import { BEAT_MS } from '../../src/http/operations/stream.ts'
import { INSTALL_MS } from '../debian.ts'
import { held, type Held, type Reviewer } from '../gateway-fixture.ts'
import { approve, expectNoSidewaysScroll, PHONE, seeAll, WIDE } from './browser.ts'
import { bot, console_, consoleWorld } from './console-world.ts'

/** Ways to make a reviewer approve another call than the one that runs, in one session of a browser. */

let ben: Reviewer
let page: Page
consoleWorld()
beforeAll(async () => {
  ben = await console_.world.reviewer('ben')
  page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
}, INSTALL_MS)

const votesOn = async ({ thread }: Held): Promise<number> => (await ben.show(thread)).body.votes.length
const holding = (payload: JsonObject): Promise<Held> => held(bot, { tool_name: 'hold', payload })

it.each([
  ['4,000 blanks', `safe${' '.repeat(4_000)}900`],
  ['800 line ends', `safe${'\n'.repeat(800)}900`],
])('%s before the text that decides do not hide it', async (_, note) => {
  const one = await holding({ note })
  await console_.show(page, one)
  const button = page.getByRole('button', { name: /not seen/ })
  await page.locator('.approve').waitFor()
  for (let press = 0; press < 3 && (await button.count()) === 1; press++) await page.keyboard.press('a')
  const end = page.locator('.tree .said').filter({ hasText: /900$/ }).last()
  const bottom = await end.evaluate((element) => {
    const range = document.createRange()
    range.selectNodeContents(element)
    return [...range.getClientRects()].at(-1)?.bottom ?? Infinity
  })
  expect(bottom < WIDE.height || (await button.count()) === 1).toBe(true)
  expect(await votesOn(one)).toBe(0)
})

it('names that look alike, that imitate fields or that are long are drawn whole and apart', async () => {
  const long = `${'k"'.repeat(90)}end`
  const names = ['constructor', 'a.b', '[0]', 'env ', 'Env', 'env', long, 'x\nWhat policy says']
  const deep = Array.from({ length: 20 }).reduce<JsonObject>((inner) => ({ in: inner }), { at: 'the bottom' })
  const payload = {
    ...Object.fromEntries(names.map((name, i) => [name, i])),
    deep,
    large: 10_000_000,
    text: 'a\nenv prod\nallow',
  }
  const one = await holding(payload)
  await console_.show(page, one)
  const shown = await page.locator('.payload .tree > li .name .said').allTextContents()
  for (const name of names) expect(shown.filter((text) => text === name)).toHaveLength(1)
  await page.getByText('the bottom').waitFor()
  // a number with seven zeros has gaps to count them by, and no other characters
  expect(
    await page
      .locator('.number', { hasText: /^10000000$/ })
      .locator('.digits')
      .count(),
  ).toBe(2)
  expect(await page.locator('.note.warn li', { hasText: /^Env Names/ }).count()).toBe(1)
  // later lines of a value begin further right than any name
  const lefts = await page.locator('.payload').evaluate((panel) => {
    const text = [...panel.querySelectorAll('.long .said')].find((said) =>
      said.textContent?.includes('env prod'),
    )
    const range = document.createRange()
    if (text) range.selectNodeContents(text)
    const name = text?.closest('li')?.querySelector('.name')
    return [name?.getBoundingClientRect().left ?? 0, ...[...range.getClientRects()].map(({ left }) => left)]
  })
  expect(lefts.length).toBeGreaterThan(2)
  for (const left of lefts.slice(1)) expect(left).toBeGreaterThan(lefts[0] ?? Infinity)
  for (const size of [WIDE, { width: 320, height: 640 }, PHONE]) {
    await page.setViewportSize(size)
    await expectNoSidewaysScroll(page)
  }
  await page.setViewportSize(WIDE)
})

it('a rejection by another reviewer closes the dialog, and the key of the dialog decides nothing', async () => {
  const one = await held(bot, { payload: { amount: 20_000 } })
  await console_.show(page, one)
  await seeAll(page)
  await approve(page)
  await page.getByRole('dialog').waitFor()
  await (await console_.world.reviewer('eve')).vote(one.thread, { decision: 'reject', revision: 1 })
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('y')
  await page.getByText('Rejected.').first().waitFor()
  expect(await votesOn(one)).toBe(1)
})

it('the way back after a vote neither loses nor repeats it', async () => {
  const one = await held(bot)
  await console_.show(page, one)
  await seeAll(page)
  await approve(page)
  await page.locator('.undo').getByText('You approved').waitFor()
  await page.goBack()
  await page.goForward()
  await expect.poll(() => votesOn(one)).toBe(1)
})

it('an idle page says that its session has ended, by the stream alone', async () => {
  const own = await console_.signedIn({ reviewer: 'eve', viewport: WIDE })
  await own.getByText('Live', { exact: true }).waitFor()
  const asked: string[] = []
  own.on('request', (request) => asked.push(request.url()))
  await console_.world.admin('DELETE', 'reviewers/acme/eve/sessions')
  await own.getByText('Your session has ended').waitFor()
  expect(asked.filter((url) => /review\/(?!session$)/.test(url))).toEqual([])
  expect(BEAT_MS).toBeLessThan(5_000)
  expect(await own.getByText('Live', { exact: true }).count()).toBe(0)
})
