import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { INSTALL_MS } from '../debian.ts'
import { held } from '../gateway-fixture.ts'
import { type Console, openConsole, WIDE } from './browser.ts'

/** The order of letters on the screen, measured where a browser draws each of them. */

let console_: Console
beforeAll(async () => {
  console_ = await openConsole()
}, INSTALL_MS)
afterAll(async () => {
  await console_.close()
  expect(console_.misdeeds).toEqual([])
})

/** The characters of the first such element, from left to right as they are drawn. */
const drawn = (page: Page, selector: string, has: string): Promise<string> =>
  page
    .locator(selector, { hasText: has })
    .first()
    .evaluate((element) => {
      const letters: { letter: string; at: number }[] = []
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
      for (let node = walker.nextNode(); node; node = walker.nextNode())
        for (let i = 0; i < (node.textContent ?? '').length; i++) {
          const range = document.createRange()
          range.setStart(node, i)
          range.setEnd(node, i + 1)
          letters.push({ letter: node.textContent?.[i] ?? '', at: range.getBoundingClientRect().left })
        }
      return letters
        .toSorted((a, b) => a.at - b.at)
        .map(({ letter }) => letter)
        .join('')
    })

it('shows a value that mixes directions in its order, with a warning, and the exact text byte for byte', async () => {
  const bot = await console_.world.agent()
  const plain = 'שלום עולם.'
  const one = await held(bot, {
    tool_name: 'hold',
    payload: { change: 'אב 100 -> 900', plain },
  })
  const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
  await console_.show(page, one)
  expect(await drawn(page, '.tree .said', '900')).toBe('בא 100 -> 900')
  expect(await drawn(page, '.tree .said', 'שלום')).toBe(Array.from(plain).toReversed().join(''))
  const warnings = page.locator('.note.warn li')
  expect(await warnings.count()).toBe(1)
  expect(await warnings.innerText()).toMatch(/^change /)
  expect(await warnings.innerText()).toContain('run from right to left')
  await page.getByRole('button', { name: 'Exact text' }).click()
  const exact = JSON.stringify({ change: 'אב 100 -> 900', plain })
  expect(await drawn(page, 'pre .said', '900')).toBe(exact)
  // no translation of the browser changes a value, and no digits become a telephone link
  expect(await page.locator('.said:not([translate=no])').count()).toBe(0)
  expect(await page.locator('meta[name=format-detection]').getAttribute('content')).toContain('telephone=no')
})
