import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { INSTALL_MS } from '../debian.ts'
import { type Agent, held, type Reviewer } from '../gateway-fixture.ts'
import { axe, type Console, openConsole, visit } from './browser.ts'

/** What somebody writes is never lost, cut off or taken for something else; and any number of tabs leaves connections for acts. */

let console_: Console
let bot: Agent
let ben: Reviewer
let ann: Page

beforeAll(async () => {
  console_ = await openConsole()
  bot = await console_.world.agent()
  ben = await console_.world.reviewer('ben')
  ann = await console_.signedIn({ reviewer: 'ann' })
}, INSTALL_MS)
afterAll(async () => {
  await console_.close()
  expect(console_.misdeeds).toEqual([])
})

const comment = (page: Page): ReturnType<Page['getByRole']> => page.getByRole('textbox', { name: 'Comment' })

describe('a comment', () => {
  it('that is half written when the thread ends stays, takes the keys that follow, and can be sent', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await comment(ann).pressSequentially('It was fine a')
    await ben.vote(one.thread, { decision: 'reject', revision: 1, comment: 'no' })
    await ann.getByText('Rejected.', { exact: true }).waitFor()
    await ann.keyboard.type('gain')
    expect(await comment(ann).inputValue()).toBe('It was fine again')
    expect(ann.url()).toContain(one.thread)
    await ann.getByText('Nothing is to be decided here now.').waitFor()
    await ann.getByRole('button', { name: 'Only comment' }).click()
    await ann.getByText('Your comment is there for everybody.').waitFor()
    expect((await ben.show(one.thread)).body.comments).toMatchObject([{ comment: 'It was fine again' }])
  })

  it('that nobody has begun yet takes the keys all the same, when its field has the focus', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await comment(ann).focus()
    await ben.vote(one.thread, { decision: 'reject', revision: 1, comment: 'no' })
    await ann.getByText('Rejected.', { exact: true }).waitFor()
    await ann.keyboard.type('again')
    expect(await comment(ann).inputValue()).toBe('again')
    expect(ann.url()).toContain(one.thread)
  })

  it('outlasts loading the page again, as single sign-on does, and is shown to nobody else', async () => {
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
    await ann.getByRole('button', { name: 'Only comment' }).click()
    await ann.getByText('Your comment is there for everybody.').waitFor()
    await ann.reload()
    expect(await comment(ann).inputValue()).toBe('')
  })

  it('is left to nobody when its writer signs out', async () => {
    const one = await held(bot)
    const page = await console_.signedIn({ reviewer: 'cat' })
    await console_.show(page, one)
    await comment(page).fill('Half a sentence')
    await page.getByText('Cat Cox').first().click()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByText('Ask whoever runs this gateway').waitFor()
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
    await page.close()
  })

  it('that is too long is refused in words, and kept whole', async () => {
    await console_.show(ann, await held(bot))
    const long = 'x'.repeat(4_001)
    await comment(ann).focus()
    await ann.keyboard.insertText(long)
    await ann.getByRole('button', { name: 'Only comment' }).click()
    await ann.getByRole('alert').getByText('4000').waitFor()
    expect(await comment(ann).inputValue()).toBe(long)
    await comment(ann).fill('')
  })
})

describe('who listens', () => {
  it('hears that a thread has ended', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await ben.vote(one.thread, { decision: 'reject', revision: 1, comment: 'no' })
    await ann.getByRole('status').filter({ hasText: 'pay: Rejected.' }).waitFor({ state: 'attached' })
  })

  it('finds a heading where there is no thread, and reading starts there', async () => {
    await visit(ann, console_.world, 'queue')
    await ann.getByRole('heading', { name: 'Queue' }).waitFor()
    await visit(ann, console_.world, 'thread/thr_nothing')
    await ann.getByRole('alert').getByText('Not found').waitFor()
    expect(await ann.evaluate(() => document.activeElement?.tagName)).toBe('H1')
    expect(await axe(ann)).toEqual([])
  })
})

describe('a filter', () => {
  it.each(['queue', 'history'])(
    'of the %s that is taken away keeps its field, and the focus',
    async (page) => {
      await visit(ann, console_.world, page)
      await ann.getByText('More', { exact: true }).click()
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

describe('a call that is tried', () => {
  it('sends what stands there, to the letter: what an agent could not send is refused as it would be', async () => {
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
    await page.locator('.row, .empty').first().waitFor()
    return page
  }

  it('leave a connection for the one that is looked at, which is live; one of the others listens for all', async () => {
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
    const one = await held(bot, { subject: 'Seen by the first' })
    await first.getByText('Seen by the first').waitFor()
    expect(await last.getByText('Seen by the first').count()).toBe(0)
    await look(last, false)
    await last.getByText('Seen by the first').waitFor()
    await last.getByText('Live', { exact: true }).waitFor()
    await first.close()
    const next = others[0] as Page
    await next.getByText('Seen by the first').waitFor()
    await ben.approve(one.thread)
    await next.getByText('Seen by the first').waitFor({ state: 'detached' })
  })

  it('no stream is asked for when nobody is signed in', async () => {
    const page = await console_.signedIn({ reviewer: 'eve' })
    await page.getByRole('button', { name: 'Eve Elm' }).click()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByText('Ask whoever runs this gateway').waitFor()
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
  it('that fails says so in sight, however far down the button stands, and can be tried again', async () => {
    const other = await console_.world.agent('other')
    for (let i = 0; i < 30; i++) await held(other, { subject: `Number ${i}.` })
    await visit(ann, console_.world, 'queue?agent=other')
    await ann.getByText('Number 24.').waitFor()
    await ann.route(/cursor=/, (route) => route.abort())
    await ann.getByRole('button', { name: 'Load more' }).click()
    await ann.waitForFunction(() => document.activeElement?.textContent === 'Try again')
    await ann.unroute(/cursor=/)
    await ann.keyboard.press('Enter')
    await ann.getByRole('alert').waitFor({ state: 'detached' })
    await ann.getByRole('button', { name: 'Load more' }).click()
    await ann.getByText('Number 29.').waitFor()
  })
})
