import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { long, short, starterFiles } from '../day-of-calls.ts'
import { INSTALL_MS } from '../debian.ts'
import { held } from '../gateway-fixture.ts'
import { approve, openConsole, WIDE } from './browser.ts'

/**
 * Twenty decisions on 25 mixed calls of the starter policies, by keyboard alone, with every part seen. The test prints
 * its figures.
 */

/** Calls that the reviewer leaves to others. */
const LEFT = ['partner.example/prices', 'campaign-7', 'faq', 'analytics', 'make docs']

describe.each([
  { what: 'short', calls: short, most: 40 },
  { what: 'long', calls: long, most: 45 },
])('a day of $what calls', ({ what, calls, most }) => {
  it(
    `decides 20 of 25 with at most ${most} keys and no page change, each part seen`,
    { timeout: INSTALL_MS },
    async () => {
      const console_ = await openConsole({ files: starterFiles() })
      const { world } = console_
      for (const [agent, tool_name, payload] of calls) {
        await held(await world.agent(agent), { tool_name, payload })
        world.clock.advance(1_000)
      }
      const page = await console_.signedIn({ reviewer: 'carol', viewport: WIDE, advance: true })
      const risks = await page
        .locator('.item')
        .evaluateAll((rows) => rows.map((row) => row.querySelector('.risk')?.className.split(' ')[1]))
      expect(risks).toHaveLength(25)
      expect(risks.slice(0, 2)).toEqual(['critical', 'critical'])
      expect(risks.slice(2, 7).every((risk) => risk === 'high')).toBe(true)

      const keys: string[] = []
      const press = async (key: string): Promise<void> => {
        keys.push(key)
        if (keys.length > 80) throw new Error(`too many keys: ${keys.join(' ')}`)
        await page.keyboard.press(key)
      }
      const loads: string[] = []
      page.on('load', () => loads.push(page.url()))
      await page.evaluate(() => {
        const list = document.querySelector('.list')
        new MutationObserver(() => {
          if (!list?.isConnected) document.title = 'the list has gone'
        }).observe(document.body, { childList: true, subtree: true })
      })

      let decided = 0
      const started = Date.now()
      await press('j')
      while (decided < 20) {
        const before = await page.evaluate(() => location.hash)
        const several = page.locator('.strip', { hasText: 'alike' }).getByText('6 alike')
        await opened(page)
        const title = await page.locator('#call-title').innerText()
        if (LEFT.some((words) => title.includes(words))) {
          await press('j')
        } else if ((await several.count()) > 0) {
          await press('X')
          await page.getByRole('heading', { name: '6 calls of payments.refund' }).waitFor()
          await press('v')
          await page.getByRole('button', { name: 'Choose the 6 that were seen' }).waitFor()
          await press('X')
          await ready(page, press)
          keys.push(...(await approve(page)))
          decided += 6
        } else {
          const risk = await page.locator('.strip .risk').innerText()
          await ready(page, press)
          keys.push(...(await approve(page)))
          if (risk === 'high' || risk === 'critical') {
            await page.getByRole('dialog').waitFor()
            await press('y')
          }
          decided += 1
        }
        if (decided < 20) await page.waitForFunction((from) => location.hash !== from, before)
      }
      const seconds = Math.round((Date.now() - started) / 1_000)
      await expect.poll(async () => (await votesIn()).length).toBe(20)
      for (const { details } of await votesIn()) expect(details).toMatchObject({ displayed: 'all' })

      console.log(
        `20 decisions on 25 ${what} calls: ${keys.length} keys (${keys.join(' ')}), ${loads.length} page changes, ${seconds} s`,
      )
      expect(keys.length).toBeLessThanOrEqual(most)
      expect(loads).toEqual([])
      expect(await page.title()).not.toBe('the list has gone')
      await console_.close()
      expect(console_.misdeeds).toEqual([])

      async function votesIn() {
        const all = await world.allEvidence()
        return all.map(({ record }) => record).filter(({ type }) => type === 'vote.cast')
      }
    },
  )
})

/** Waits until the call of the current row is beside the list. */
const opened = async (page: Page): Promise<unknown> =>
  page.waitForFunction(() => {
    const row = document.querySelector('.item [aria-current]')?.getAttribute('href')
    const id = row?.replace('#/thread/', '')
    return (
      row === location.hash &&
      document.querySelector(`.call a[href="#/playground?thread=${id}"]`) !== null &&
      document.querySelector('.bar .approve') !== null
    )
  })

/** Waits until the call can be approved, with the keys that a reviewer needs for parts that are not on the screen. */
async function ready(page: Page, press: (key: string) => Promise<void>): Promise<void> {
  for (;;) {
    const next = await page.evaluate(async () => {
      const isReady = (): boolean =>
        document.querySelector('.bar .approve:not([aria-disabled=true])') !== null
      const pane = document.querySelector('.call > .scroll')?.getBoundingClientRect()
      const shown = (part: Element): boolean => {
        const { top, bottom } = part.getBoundingClientRect()
        return pane !== undefined && top >= pane.top && bottom <= pane.bottom
      }
      const hides = document.querySelector('.reveal button:not([aria-disabled=true])') !== null
      // as long as parts on the screen are being looked at, a reviewer waits
      for (let looks = 0; looks < 15 && !isReady(); looks++) {
        await new Promise((later) => setTimeout(later, 100))
        const unseen = [...document.querySelectorAll('.part:has(> .seen.not)')]
        if (!hides && (unseen.length === 0 || unseen.some(shown))) looks = Math.min(looks, 2)
      }
      if (hides) return 'v'
      return isReady() ? 'ready' : 'a'
    })
    if (next === 'ready') return
    await press(next)
    if (next === 'v')
      await page.locator('.reveal button:not([aria-disabled=true])').waitFor({ state: 'detached' })
  }
}
