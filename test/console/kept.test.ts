import type { BrowserContext, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { INSTALL_MS } from '../debian.ts'
import { held, type Reviewer } from '../gateway-fixture.ts'
import { axe, visit } from './browser.ts'
import { bot, console_, consoleWorld } from './console-world.ts'

/**
 * A reviewer's text is never lost, cut off or mistaken for something else. Any number of tabs leaves connections for
 * acts.
 */

let ben: Reviewer
let ann: Page

consoleWorld()
beforeAll(async () => {
  ben = await console_.world.reviewer('ben')
  ann = await console_.signedIn({ reviewer: 'ann' })
}, INSTALL_MS)

const comment = (page: Page): ReturnType<Page['getByRole']> => page.getByRole('textbox', { name: 'Comment' })

describe('a comment', () => {
  it('keeps a half-written comment when the thread ends, and can still send it', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await comment(ann).pressSequentially('It was fine a')
    await ben.vote(one.thread, { decision: 'reject', revision: 1, comment: 'no' })
    await ann.getByText('Rejected.', { exact: true }).waitFor()
    await ann.keyboard.type('gain')
    expect(await comment(ann).inputValue()).toBe('It was fine again')
    expect(ann.url()).toContain(one.thread)
    await ann.getByText('No decision is needed right now.').waitFor()
    await ann.getByRole('button', { name: 'Comment' }).click()
    await ann.getByText('Your comment was added for all reviewers.').waitFor()
    expect((await ben.show(one.thread)).body.comments).toMatchObject([{ comment: 'It was fine again' }])
  })

  it('keeps the focus in an empty comment field when the thread ends', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await comment(ann).focus()
    await ben.vote(one.thread, { decision: 'reject', revision: 1, comment: 'no' })
    await ann.getByText('Rejected.', { exact: true }).waitFor()
    await ann.keyboard.type('again')
    expect(await comment(ann).inputValue()).toBe('again')
    expect(ann.url()).toContain(one.thread)
  })

  it('survives a reload of the page, as single sign-on causes, and is not shown to another reviewer', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await comment(ann).fill('Half a sentence')
    await ann.reload()
    expect(await comment(ann).inputValue()).toBe('Half a sentence')
    await visit(ann, console_.world, `sign-in/${await console_.world.link('cat')}`)
    await ann.getByRole('button', { name: 'Sign in with this link' }).click()
    await ann.getByRole('button', { name: 'Cat Cox' }).waitFor()
    await console_.show(ann, one)
    expect(await comment(ann).inputValue()).toBe('')
    await visit(ann, console_.world, `sign-in/${await console_.world.link('ann')}`)
    await ann.getByRole('button', { name: 'Sign in with this link' }).click()
    await ann.getByRole('button', { name: 'Ann Ash' }).waitFor()
    await console_.show(ann, one)
    expect(await comment(ann).inputValue()).toBe('Half a sentence')
    await ann.getByRole('button', { name: 'Comment' }).click()
    await ann.getByText('Your comment was added for all reviewers.').waitFor()
    await ann.reload()
    expect(await comment(ann).inputValue()).toBe('')
  })

  it('is deleted when its writer signs out', async () => {
    const one = await held(bot)
    const page = await console_.signedIn({ reviewer: 'cat' })
    await console_.show(page, one)
    await comment(page).fill('Half a sentence')
    await page.getByText('Cat Cox').first().click()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByText('Ask the operator of this gateway').waitFor()
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
    await page.close()
  })

  it('is refused with a message when it is too long, and kept whole', async () => {
    await console_.show(ann, await held(bot))
    const long = 'x'.repeat(4_001)
    await comment(ann).focus()
    await ann.keyboard.insertText(long)
    await ann.getByRole('button', { name: 'Comment' }).click()
    await ann.getByRole('alert').getByText('4000').waitFor()
    expect(await comment(ann).inputValue()).toBe(long)
    await comment(ann).fill('')
  })
})

describe('a link to a call, opened signed out', () => {
  it('leads to its call after the sign-in, by link and after a page of the provider', async () => {
    const one = await held(bot)
    for (const isAway of [false, true]) {
      const page = await console_.open()
      await visit(page, console_.world, `thread/${one.thread}`)
      await page.getByText('Ask the operator of this gateway').waitFor()
      if (isAway) await page.goto('about:blank')
      await visit(page, console_.world, `sign-in/${await console_.world.link('ben')}`)
      await page.getByRole('button', { name: 'Sign in with this link' }).click()
      await comment(page).waitFor()
      expect(page.url()).toContain(one.thread)
      expect(await page.evaluate(() => sessionStorage.getItem('wanted'))).toBeNull()
      await page.context().close()
    }
  })
})

describe('who listens', () => {
  it('announces to screen readers that a thread has ended', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await ben.vote(one.thread, { decision: 'reject', revision: 1, comment: 'no' })
    await ann.getByRole('status').filter({ hasText: 'pay: Rejected.' }).waitFor({ state: 'attached' })
  })

  it('focuses a heading where the thread does not exist', async () => {
    await visit(ann, console_.world, 'queue')
    await ann.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
    await visit(ann, console_.world, 'thread/thr_nothing')
    await ann.getByRole('alert').getByText('Nothing has this address').waitFor()
    expect(await ann.evaluate(() => document.activeElement?.tagName)).toBe('H1')
    expect(await axe(ann)).toEqual([])
  })
})

describe('a filter', () => {
  it.each(['queue', 'history'])(
    'keeps the field and the focus when a filter of the %s is removed',
    async (page) => {
      await visit(ann, console_.world, page)
      await ann.getByText(page === 'queue' ? 'Filter' : 'More', { exact: true }).click()
      const field = ann.getByLabel('agent')
      await field.fill('bot')
      await field.press('Enter')
      await ann.waitForURL(/agent=bot/)
      await field.fill('')
      await field.press('Enter')
      await ann.waitForURL((url) => !url.href.includes('agent'))
      await field.pressSequentially('other')
      expect(await field.inputValue()).toBe('other')
      await field.fill('')
    },
  )
})

describe('a request in the policy playground of the console', () => {
  it('sends the text exactly as written, and refuses what an agent could not send', async () => {
    await visit(ann, console_.world, 'policies')
    const text = ann.getByLabel('A request as an agent')
    await text.fill('{ "tool_name": "pay", "payload": { "amount": 20000, "amount": 1 } }')
    await ann.getByRole('button', { name: 'Explain' }).click()
    await ann.getByRole('alert').getByText('duplicate key').waitFor()
    await text.fill('')
    await ann.getByRole('button', { name: 'Explain' }).click()
    await ann.getByRole('alert').getByText('JSON').waitFor()
  })
})

describe('many tabs', () => {
  /** Playwright shows every page at once; browsers do not. */
  const look = (page: Page, away: boolean): Promise<void> =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { configurable: true, value: hidden })
      document.dispatchEvent(new Event('visibilitychange'))
    }, away)

  async function tab(context: BrowserContext): Promise<Page> {
    const page = await context.newPage()
    await page.goto(`${console_.world.url}/console/`)
    await page.locator('.item, .empty').first().waitFor()
    return page
  }

  it('many tabs leave a connection for the visible tab, which is live; one hidden tab listens for all others', async () => {
    const first = await console_.signedIn({ reviewer: 'eve' })
    await look(first, true)
    const others: Page[] = []
    for (let i = 0; i < 8; i++) {
      const page = await tab(first.context())
      await page.getByText('Live', { exact: true }).waitFor()
      others.push(page)
      await look(page, true)
    }
    const last = others.at(-1) as Page
    // A stream that opens makes its page read the queue again: that answer must not hold the new thread.
    await last.waitForLoadState('networkidle')
    const one = await held(bot)
    const here = (page: Page): Promise<unknown> => console_.inQueue(page, one)
    await here(first)
    expect(await last.locator(`.news, a[href$="${one.thread}"]`).count()).toBe(0)
    await look(last, false)
    await here(last)
    await last.getByText('Live', { exact: true }).waitFor()
    await first.close()
    const next = others[0] as Page
    await here(next)
    await ben.approve(one.thread)
    await next.locator(`.item.done a[href$="${one.thread}"]`).waitFor()
  })

  it('requests no stream when no reviewer is signed in', async () => {
    const page = await console_.signedIn({ reviewer: 'eve' })
    await page.getByRole('button', { name: 'Eve Elm' }).click()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByText('Ask the operator of this gateway').waitFor()
    let asked = 0
    page.on('request', (request) => (asked += request.url().endsWith('/stream') ? 1 : 0))
    await look(page, true)
    await look(page, false)
    await page.evaluate(() => dispatchEvent(new Event('online')))
    await page.evaluate(() => fetch('/healthz'))
    expect(asked).toBe(0)
  })
})

describe('loading more', () => {
  it('shows a failure in view, however far down the button is, and can be tried again', async () => {
    const other = await console_.world.agent('other')
    for (let i = 0; i < 30; i++) await held(other, { payload: { amount: 200 + i } })
    await visit(ann, console_.world, 'queue?agent=other')
    await ann.getByText('amount 224').first().waitFor()
    await ann.route(/cursor=/, (route) => route.abort())
    await ann.getByRole('button', { name: 'Load more' }).click()
    await ann.waitForFunction(() => document.activeElement?.textContent === 'Try now')
    await ann.unroute(/cursor=/)
    await ann.keyboard.press('Enter')
    await ann.getByRole('alert').waitFor({ state: 'detached' })
    await ann.getByRole('button', { name: 'Load more' }).click()
    await ann.getByText('amount 229').first().waitFor()
  })
})
