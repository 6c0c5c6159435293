import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Displayed } from '../../src/contract/review-requests.ts'
import { displayedDigest } from '../../src/domain/digest.ts'
import { INSTALL_MS } from '../debian.ts'
import { type EvidenceLine, held, type Held, type Reviewer } from '../gateway-fixture.ts'
import { approve, seeAll, WIDE } from './browser.ts'
import { bot, console_, consoleWorld } from './console-world.ts'

/**
 * Ways to approve without looking, beside those of seen.test.ts. No page records a part as seen that was not on the
 * screen.
 */

let ben: Reviewer

consoleWorld()
beforeAll(async () => {
  ben = await console_.world.reviewer('ben')
}, INSTALL_MS)

/** Longer than it takes to see a call that fits on the screen. */
const LOOK_MS = 1_200
const votes = async ({ thread }: Held): Promise<number> => (await ben.show(thread)).body.votes.length
const castIn = async (one: Held): Promise<EvidenceLine[]> =>
  (await console_.world.allEvidence()).filter(
    ({ record }) => record.type === 'vote.cast' && record.thread_id === one.thread,
  )

/** The display of a vote: the extent in its record, and the places in its disclosures. */
const displayIn = async (one: Held): Promise<unknown> => {
  const [cast] = await castIn(one)
  const { seen, unseen } = (cast?.disclosures?.members['display'] ?? {}) as Partial<Displayed>
  return { extent: cast?.record.details?.['displayed'], seen, unseen }
}

/** Looks for a while, and tries to approve. */
async function expectBlocked(page: Page, one: Held): Promise<void> {
  await page.locator('.approve').waitFor()
  await page.waitForTimeout(LOOK_MS)
  await page.keyboard.press('a')
  await page.keyboard.press('a')
  expect(await page.locator('.approve[aria-disabled=true]', { hasText: 'not seen' }).count()).toBe(1)
  expect(await page.locator('.undo').count()).toBe(0)
  expect(await votes(one)).toBe(0)
}

describe('a page that does not show the call', () => {
  it.each([
    ['is magnified until a part is wider than the window', '.call .part { zoom: 8 }'],
    ['has parts without opacity', '.call .part { opacity: 0 }'],
    ['has parts that are invisible', '.call .part { visibility: hidden }'],
    ['has parts beside the window', '.call .part { transform: translateX(-9999px) }'],
    ['clips its parts', '.call .part { clip-path: inset(50%) }'],
    ['has parts without height', '.call .part { height: 0; overflow: hidden }'],
    ['has a pane of one line', '.call > .scroll { height: 8px; padding: 0 }'],
    ['has no pane', '.call > .scroll { display: none }'],
    ['puts the bar over the call', '.pane > .bar { position: fixed; inset: 0; z-index: 99 }'],
    [
      'puts the list over the call',
      '.list { position: fixed; inset: 0 0 90px; z-index: 99; background: #fff }',
    ],
  ])('%s', async (_, css) => {
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    const one = await held(bot, { payload: { amount: 501 } })
    await page.evaluate((text) => {
      const sheet = new CSSStyleSheet()
      sheet.replaceSync(text)
      document.adoptedStyleSheets = [sheet]
    }, css)
    await console_.show(page, one).catch(() => undefined)
    await expectBlocked(page, one)
    await bot.withdraw(one.thread)
    await page.context().close()
  })

  it('is magnified by two fingers', async () => {
    const page = await console_.signedIn({ reviewer: 'ann', viewport: { width: 1080, height: 800 } })
    const one = await held(bot, { payload: { amount: 502 } })
    const session = await page.context().newCDPSession(page)
    await session.send('Emulation.setPageScaleFactor', { pageScaleFactor: 4 })
    await console_.show(page, one)
    await expectBlocked(page, one)
    await page.context().close()
  })
})

describe('another page', () => {
  const LONG = { text: Array.from({ length: 90 }, (_, i) => `line ${i}.`).join('\n') }

  it('of the same reviewer, in another tab, has its own looks', async () => {
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    const one = await held(bot, { tool_name: 'hold', payload: LONG })
    await console_.show(page, one)
    await seeAll(page)
    const other = await page.context().newPage()
    await console_.show(other, one)
    await other.locator('.approve[aria-disabled=true]', { hasText: 'not seen' }).waitFor()
    await page.reload()
    await page.locator('.approve[aria-disabled=true]', { hasText: 'not seen' }).waitFor()
    expect(await votes(one)).toBe(0)
    await bot.withdraw(one.thread)
    await page.context().close()
  })

  it('is stale: a vote for what it showed is not counted for the revision', async () => {
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    const one = await held(bot, { payload: { amount: 503 } })
    await console_.show(page, one)
    await seeAll(page)
    await page.route(`**/api/review/threads/${one.thread}`, (route) => route.abort())
    await bot.revise(one.task, one.thread, { request_payload: { amount: 9_999 } })
    await approve(page)
    await page.locator('.undo.bad').getByText('Your vote was not counted.').waitFor()
    expect(await castIn(one)).toEqual([])
    await page.unroute(`**/api/review/threads/${one.thread}`)
    await page.context().close()
  })

  it('names a part that was not seen in a rejection, which is never blocked', async () => {
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    const one = await held(bot, { tool_name: 'hold', payload: { ...LONG, name: 'x' } })
    await console_.show(page, one)
    await page.locator('.approve', { hasText: '1 part not seen' }).waitFor()
    await page.keyboard.press('r')
    await page.locator('.undo').waitFor()
    await expect.poll(() => votes(one), { timeout: 10_000 }).toBe(1)
    expect(await displayIn(one)).toMatchObject({ unseen: ['payload.text'] })
    await page.context().close()
  })

  it('shows several calls, one of which was not seen: its vote says so, and the others are whole', async () => {
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    const calls: Held[] = []
    for (const text of ['short', LONG.text])
      calls.push(await held(bot, { tool_name: 'hold', payload: { text, same: 'x' } }))
    const [short, long] = calls
    await page.goto(`${console_.world.url}/console/#/several/${short?.thread}`)
    await page.getByRole('button', { name: 'Choose the 1 that were seen' }).waitFor()
    for (const box of await page.locator('.calls [type=checkbox]').all()) await box.check()
    await page.locator('.approve[aria-disabled=true]', { hasText: '1 part not seen' }).waitFor()
    await page.keyboard.press('a')
    await page.keyboard.press('a')
    expect(await page.locator('.undo').count()).toBe(0)
    await page.keyboard.press('r')
    await page.locator('.undo').waitFor()
    await expect
      .poll(async () => (await Promise.all(calls.map(votes))).join(), { timeout: 10_000 })
      .toBe('1,1')
    expect(await displayIn(short!)).toMatchObject({ extent: 'all', unseen: [] })
    expect(await displayIn(long!)).toMatchObject({ unseen: ['payload.text'] })
    await page.context().close()
  })
})

describe('a record of the displayed parts', () => {
  /** The vote of an honest page on a revision. */
  async function displayedOf(by: Reviewer, { thread }: Held): Promise<Displayed> {
    const { display, thread_id, revision } = (await by.show(thread)).body
    const { parts: seen, ...known } = display
    return { digest: displayedDigest({ thread_id, revision, ...known, seen }), seen, unseen: [], ms: 1 }
  }
  const refused = async (one: Held, displayed: Displayed, revision = 1): Promise<void> => {
    const answer = await ben.vote(one.thread, { decision: 'approve', revision, displayed })
    expect([answer.status, answer.problem.code]).toEqual([412, 'stale_revision'])
    expect(await castIn(one)).toEqual([])
  }

  it('of another thread is refused, also when both calls are equal', async () => {
    const [one, other] = [await held(bot), await held(bot)]
    await refused(one, await displayedOf(ben, other))
  })

  it('of an earlier revision is refused when it is sent again', async () => {
    const one = await held(bot, { payload: { amount: 504 } })
    const before = await displayedOf(ben, one)
    await bot.revise(one.task, one.thread, { request_payload: { amount: 505 } })
    await refused(one, before, 2)
  })

  it('with places that its digest does not have is refused', async () => {
    const one = await held(bot, { payload: { amount: 506 } })
    const displayed = await displayedOf(ben, one)
    await refused(one, { ...displayed, seen: [...displayed.seen, 'payload.to'] })
    await refused(one, { ...displayed, digest: '0'.repeat(64) })
  })

  it('counts a part as unseen when it names it nowhere', async () => {
    const one = await held(bot, { payload: { amount: 507 } })
    const { display, thread_id, revision } = (await ben.show(one.thread)).body
    const { parts, ...known } = display
    const digest = displayedDigest({ thread_id, revision, ...known, seen: [] })
    await ben.vote(one.thread, { decision: 'approve', revision, displayed: { digest, seen: [], unseen: [] } })
    expect(await displayIn(one)).toEqual({ extent: 'none', seen: [], unseen: parts })
  })
})
