import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCoverage, LOOK_MS } from '../../src/console/seen/coverage.ts'
import { INSTALL_MS } from '../debian.ts'
import { type Agent, held, type Held, type Reviewer } from '../gateway-fixture.ts'
import { approve, axe, type Console, openConsole, PHONE, seeAll, visit, WIDE } from './browser.ts'

/** Parts to see: an approval needs each of them on the screen, and nothing else counts as seen. */

describe('the coverage of a part', () => {
  const looks = (all: readonly (readonly [number, string])[]): boolean[] => {
    const coverage = createCoverage()
    return all.map(([at, points]) =>
      coverage.look(
        Array.from(points, (point) => point === '#'),
        at,
      ),
    )
  }

  it('is complete when each point was visible for half a second without a break', () => {
    expect(looks([0, 100, 200, 300, 400, LOOK_MS].map((at) => [at, '##']))).toEqual([
      ...Array.from({ length: 5 }, () => false),
      true,
    ])
  })

  it('begins again for a point that left the screen, and after a pause of the page', () => {
    const left = [
      [0, '#'],
      [300, '.'],
      [600, '#'],
      [900, '#'],
    ] as const
    expect(looks(left).at(-1)).toBe(false)
    const asleep = [
      [0, '#'],
      [60_000, '#'],
    ] as const
    expect(looks(asleep).at(-1)).toBe(false)
  })

  it('adds up the pieces of a long text, and starts anew when its length changes', () => {
    const steps = [0, 100, 200, 300, 400, 500]
    const pieces = [
      ...steps.map((at) => [at, '#.'] as const),
      ...steps.map((at) => [600 + at, '.#'] as const),
    ]
    expect(looks(pieces).at(-1)).toBe(true)
    expect(looks([...steps.map((at) => [at, '#'] as const), [600, '##'] as const]).at(-1)).toBe(false)
  })
})

describe('an approval', () => {
  let console_: Console
  let bot: Agent
  let ben: Reviewer
  let ann: Page

  beforeAll(async () => {
    console_ = await openConsole()
    bot = await console_.world.agent()
    ben = await console_.world.reviewer('ben')
    ann = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
  }, INSTALL_MS)
  afterAll(async () => {
    await console_.close()
    expect(console_.misdeeds).toEqual([])
  })

  const votes = async ({ thread }: Held): Promise<number> => (await ben.show(thread)).body.votes.length
  const blocked = (page: Page): ReturnType<Page['locator']> =>
    page.locator('.approve[aria-disabled=true]', { hasText: 'not seen' })
  const LONG = { text: Array.from({ length: 120 }, (_, i) => `line ${i}.`).join('\n'), note: 'short' }

  it('needs no extra key when the call fits on the screen, and waits until each part was there', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await ann.locator('.ready.all').waitFor()
    await ann.locator('.approve:not([aria-disabled=true])').waitFor()
    await approve(ann)
    await ann.getByText('You approved revision 1.').waitFor()
  })

  it('leads to each missing part by the same key: it unfolds a long text, and scrolls to its end', async () => {
    const one = await held(bot, { tool_name: 'hold', payload: LONG })
    await console_.show(ann, one)
    await ann.locator('.approve', { hasText: '1 part not seen' }).waitFor()
    expect(await ann.locator('.ready').innerText()).toContain('text')
    for (let i = 0; i < 3; i++) await approve(ann)
    await ann.getByText('line 119.').waitFor({ state: 'attached' })
    expect(await axe(ann)).toEqual([])
    expect(await votes(one)).toBe(0)
    await seeAll(ann)
    await ann.getByText('Everything seen').waitFor()
    await approve(ann)
    await ann.getByText('You approved revision 1.').waitFor()
  })

  it('does not count what a cover hides, or a page that is hidden', async () => {
    const one = await held(bot)
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    await page.evaluate(() => {
      const cover = document.createElement('div')
      cover.id = 'cover'
      cover.style.cssText = 'position:fixed;inset:0 0 90px;z-index:99;background:#fff'
      document.documentElement.append(cover)
    })
    await console_.show(page, one)
    await page.waitForTimeout(1_200)
    expect(await blocked(page).count()).toBe(1)
    await page.evaluate(() => {
      Object.defineProperty(document, 'hidden', { configurable: true, value: true })
      document.getElementById('cover')?.remove()
    })
    await page.waitForTimeout(1_200)
    expect(await blocked(page).count()).toBe(1)
    await page.evaluate(() => Object.defineProperty(document, 'hidden', { configurable: true, value: false }))
    await page.locator('.ready.all').waitFor()
    await page.context().close()
  })

  it('does not count text that a style sheet blurs, fades, shrinks or hides in its ground', async () => {
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    const styles = [
      'filter: blur(4px)',
      'opacity: .01',
      'font-size: .5px !important',
      'color: transparent !important',
      'color: var(--card) !important; background: var(--card) !important',
    ]
    const one = await held(bot)
    for (const style of styles) {
      await page.evaluate((text) => {
        const sheet = new CSSStyleSheet()
        sheet.replaceSync(`.call .part, .call .part * { ${text} }`)
        document.adoptedStyleSheets = [sheet]
      }, style)
      await visit(page, console_.world, 'queue')
      await console_.show(page, one)
      await page.waitForTimeout(1_000)
      expect(await blocked(page).count(), style).toBe(1)
    }
    await page.evaluate(() => {
      document.adoptedStyleSheets = []
    })
    await page.locator('.ready.all').waitFor()
    await page.context().close()
  })

  it('shows the short members of a list beside each other', async () => {
    const list = Array.from({ length: 40 }, (_, i) => `entry ${i}`)
    await console_.show(ann, await held(bot, { tool_name: 'hold', payload: { list } }))
    const [first, second] = await ann
      .locator('.tree .tree > li')
      .evaluateAll((items) => items.slice(0, 2).map((item) => item.getBoundingClientRect().top))
    expect(first).toBe(second)
  })

  it('prints the whole call, without the queue and the buttons', async () => {
    const text = Array.from({ length: 2_000 }, (_, i) => `line ${i}.`).join('\n')
    await console_.show(ann, await held(bot, { tool_name: 'hold', payload: { text } }))
    expect(await ann.getByText('line 1999.').count()).toBe(0)
    const end = (): Promise<string> =>
      ann.locator('.tree .long .said').evaluate((said) => getComputedStyle(said, '::after').content)
    expect(await end()).toMatch(/^"…"/)
    await ann.emulateMedia({ media: 'print' })
    await ann.evaluate(() => dispatchEvent(new Event('beforeprint')))
    await ann.getByText('line 1999.').waitFor()
    expect(await end()).toMatch(/^"\\""/)
    const [scroll, bar, list] = await ann.evaluate(() =>
      ['.call > .scroll', '.call > .bar', '.list'].map((place) => {
        const { display, overflow } = getComputedStyle(document.querySelector(place) ?? document.body)
        return `${display} ${overflow}`
      }),
    )
    expect([scroll, bar?.split(' ')[0], list?.split(' ')[0]]).toEqual(['block visible', 'none', 'none'])
    await ann.evaluate(() => dispatchEvent(new Event('afterprint')))
    await ann.emulateMedia({ media: 'screen' })
  })

  it('counts the lines of a tiny window one after the other', async () => {
    const page = await console_.signedIn({ reviewer: 'ann', viewport: { width: 320, height: 240 } })
    const one = await held(bot)
    await console_.show(page, one)
    await page.waitForTimeout(1_200)
    expect(await blocked(page).count()).toBe(1)
    await seeAll(page)
    await page.context().close()
  })

  it('needs hidden values revealed from medium risk up, by a key of its own', async () => {
    const one = await held(bot, { payload: { amount: 20_000, secret: 'the cellar door' } })
    await console_.show(ann, one)
    await ann.locator('.approve', { hasText: '1 part not seen' }).waitFor()
    for (let i = 0; i < 3; i++) await approve(ann)
    expect(await ann.getByText('the cellar door').count()).toBe(0)
    await ann.keyboard.press('v')
    await ann.getByText('the cellar door').waitFor()
    await ann.getByText('Everything seen').waitFor()
    const low = await held(bot, { payload: { amount: 500, secret: 'the cellar door' } })
    await console_.show(ann, low)
    await ann.getByText('Everything seen · 1 value not revealed').waitFor()
  })

  it('never blocks a rejection, and begins with the changes of a revision', async () => {
    const one = await held(bot, { tool_name: 'hold', payload: LONG })
    const again = { revision_id: 'r2', tool_name: 'hold', request_payload: { ...LONG, note: 'shorter' } }
    await bot.revise(one.task, one.thread, again)
    await console_.show(ann, one)
    await ann.getByRole('region', { name: 'What changed' }).waitFor()
    await ann.keyboard.press('d')
    await ann.getByRole('button', { name: 'Show the changes' }).waitFor()
    expect(await ann.locator('.ready').innerText()).toContain('changes')
    await ann.keyboard.press('r')
    await ann.getByText('You rejected revision 2.').waitFor()
  })

  it('does not ask for the values of a rule that only watches', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await ann.getByText('in shadow mode').click()
    const watching = ann.locator('li', { hasText: 'Perhaps nobody should pay at all.' })
    await watching.locator('.because').first().waitFor()
    expect(await watching.locator('.part').count()).toBe(0)
  })

  it('shows the value that made the rule fire, and marks only what the test read', async () => {
    const one = await held(bot, { payload: { amount: 500, to: 'audit-office' } })
    await console_.show(ann, one)
    const policy = ann.getByRole('region', { name: 'What policy says' })
    expect(await policy.locator('mark').allInnerTexts()).toContain('audit-office')
    const phone = await console_.signedIn({ reviewer: 'ann', viewport: PHONE, dark: true })
    await console_.show(phone, one)
    const box = await phone.locator('.because').first().boundingBox()
    expect((box?.y ?? 999) + (box?.height ?? 0)).toBeLessThan(PHONE.height)
    expect(await axe(phone)).toEqual([])
    await phone.context().close()
  })
})
