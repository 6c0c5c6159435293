import type { Page, Route } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import type { ThreadView } from '../../src/contract/reviewer.ts'
import { INSTALL_MS } from '../debian.ts'
import { type Held, held, type Reviewer } from '../gateway-fixture.ts'
import { approve, axe, DESKTOP, expectNoSidewaysScroll, PHONE, seeAll, visit } from './browser.ts'
import { bot, console_, consoleWorld } from './console-world.ts'

/** One thread: reading it, deciding on it, and everything that may happen meanwhile. */

let ann: Page
let ben: Reviewer

consoleWorld()
beforeAll(async () => {
  ben = await console_.world.reviewer('ben')
  ann = await console_.signedIn({ reviewer: 'ann' })
}, INSTALL_MS)

const HIGH = { amount: 20_000 }
const CRITICAL = { amount: 60_000 }

const stateOf = async ({ thread }: Held): Promise<ThreadView> => (await ben.show(thread)).body
const button = (page: Page, name: string): ReturnType<Page['getByRole']> =>
  page.getByRole('button', { name: new RegExp(`^${name}`) })
const revise = (one: Held, amount: number, id = 'r2'): Promise<unknown> =>
  bot.revise(one.task, one.thread, { revision_id: id, request_payload: { amount }, subject: `Now ${amount}` })

describe('reading a thread', () => {
  it("separates the agent's text from policy's, and shows the payload whole, as tree and as exact text", async () => {
    const one = await held(bot, {
      subject: 'Pay the invoice',
      preview: 'A preview',
      summary: ['one line'],
      workflow_name: 'month end',
      risk_level: 'medium',
      payload: { to: 'x'.repeat(90), amount: 500 },
    })
    await console_.show(ann, one)
    const claims = ann.getByRole('region', { name: 'What the agent says' })
    for (const text of ['Pay the invoice', 'A preview', 'one line', 'month end', 'medium'])
      await claims.getByText(text).waitFor()
    const policy = ann.getByRole('region', { name: 'What policy says' })
    await policy.getByText('More than pocket money.').waitFor()
    await policy.getByText('rules/pay.yaml').first().waitFor()
    await policy.getByText('policy alone: low').waitFor()
    await policy.getByText('in shadow mode').click()
    await policy.getByText('Perhaps nobody should pay at all.').waitFor()
    await button(ann, 'Exact text').click()
    await ann.getByText(`{"amount":500,"to":"${'x'.repeat(90)}"}`).waitFor()
    expect(await button(ann, 'Code points').count()).toBe(0)
    await button(ann, 'Copy').click()
    await ann.getByText('Copied').waitFor({ state: 'attached' })
    expect(await ann.evaluate(() => navigator.clipboard.readText())).toBe(
      `{"amount":500,"to":"${'x'.repeat(90)}"}`,
    )
  })

  it('folds a long text by count and shows it whole on demand', async () => {
    const text = Array.from({ length: 2_000 }, (_, i) => `line ${i}.`).join('\n')
    await console_.show(ann, await held(bot, { tool_name: 'hold', payload: { text } }))
    await button(ann, 'Show 1,986 more lines').click()
    await ann.getByText('line 1999.').waitFor()
  })

  it('masks sensitive values until a reviewer reveals them, and records that', async () => {
    const one = await held(bot, { payload: { amount: 500, secret: 'the cellar door' } })
    await console_.show(ann, one)
    expect(await ann.getByText('the cellar door').count()).toBe(0)
    await button(ann, 'Reveal 1 hidden value').click()
    await ann.getByText('the cellar door').waitFor()
    expect((await stateOf(one)).evidence.map(({ type }) => type)).toContainEqual(
      expect.stringMatching(/reveal/),
    )
  })

  it('shows no change when a value is hidden in one revision and shown in the other', async () => {
    const secret = 'the cellar door'
    const one = await held(bot, { payload: { amount: 500, secret } })
    const again = { amount: 600, secret }
    await bot.revise(one.task, one.thread, { revision_id: 'r2', request_payload: again })
    await console_.show(ann, one)
    const changes = ann.getByRole('region', { name: 'What changed' })
    await changes.getByText('600').waitFor()
    await button(ann, 'Reveal 1 hidden value').click()
    await ann.getByText(secret).waitFor()
    expect(await changes.getByText('secret', { exact: true }).count()).toBe(0)
  })

  it('has no fault that axe finds in light or dark, wide or narrow', async () => {
    const one = await held(bot, {
      subject: 'hid\u200bden',
      payload: { ...CRITICAL, secret: 's' },
      images: ['https://x.test/a.png'],
    })
    await revise(one, 70_000)
    for (const look of [
      { dark: false, viewport: PHONE },
      { dark: true, viewport: DESKTOP },
    ]) {
      const page = await console_.signedIn({ reviewer: 'ann', ...look })
      await console_.show(page, one)
      await page.getByRole('heading', { name: 'What changed' }).waitFor()
      expect(await axe(page), JSON.stringify(look)).toEqual([])
      await expectNoSidewaysScroll(page)
      await seeAll(page)
      await approve(page)
      await page.getByRole('dialog').waitFor()
      expect(await axe(page), 'dialog').toEqual([])
    }
  })

  it('says why the reviewer cannot vote and who can, and hides the vote buttons', async () => {
    const one = await held(bot)
    const olga = await console_.signedIn({ reviewer: 'olga' })
    await console_.show(olga, one)
    await olga.getByText('You cannot vote on this call, because').waitFor()
    await olga.getByText(/Ann Ash.* can vote/).waitFor()
    expect(await button(olga, 'Approve').count()).toBe(0)
    await approve(olga)
    expect(await olga.getByRole('dialog').count()).toBe(0)
    expect((await stateOf(one)).votes).toEqual([])
  })
})

describe('deciding', () => {
  it('approves a low risk with one key press, and shows what became of the proof', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await seeAll(ann)
    await button(ann, 'Approve').click()
    await ann.getByText('You approved revision 1.').waitFor()
    await ann.getByText('has not collected the approval yet').waitFor()
    await bot.poll({ thread_id: one.thread })
    await ann.getByText('has collected its one-time proof').waitFor()
    const { votes } = await stateOf(one)
    expect(votes).toMatchObject([{ reviewer: 'ann', decision: 'approve', revision: 1, via: 'link' }])
  })

  it.each([HIGH, CRITICAL])(
    'approves %j only in a deliberate second step: Enter, Space and the same key do nothing',
    async (payload) => {
      const one = await held(bot, { payload })
      await console_.show(ann, one)
      await seeAll(ann)
      await approve(ann)
      const dialog = ann.getByRole('dialog', { name: 'Approve this call?' })
      await dialog.getByText('irreversible').waitFor()
      await dialog.locator('.because mark').first().waitFor()
      const weights = await dialog
        .locator('.acts button')
        .evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor))
      expect(new Set(weights).size).toBe(1)
      for (const text of ['pay', 'bot']) await dialog.getByText(text, { exact: true }).first().waitFor()
      for (const key of ['Enter', 'Space', 'a', 'a']) await ann.keyboard.press(key)
      expect((await stateOf(one)).votes).toEqual([])
      await ann.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      await seeAll(ann)
      await approve(ann)
      await ann.keyboard.press('y')
      await ann.getByText('You approved revision 1.').waitFor()
      expect((await stateOf(one)).votes).toHaveLength(1)
    },
  )

  it('rejects with a comment, by keyboard alone', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await ann.getByRole('textbox', { name: 'Comment' }).focus()
    await ann.keyboard.type('not without a ticket')
    await ann.keyboard.press('Escape')
    await ann.keyboard.press('r')
    await ann.getByText('You rejected revision 1.').waitFor()
    expect(await stateOf(one)).toMatchObject({
      status: 'rejected',
      votes: [{ comment: 'not without a ticket' }],
    })
  })

  it('asks what should change before it requests changes', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await ann.keyboard.press('c')
    await ann.waitForFunction(() => document.activeElement?.tagName === 'TEXTAREA')
    // for eyes as well as for ears
    await ann.getByPlaceholder('Say what should change, then request changes').waitFor()
    await ann.keyboard.type('half of it')
    await button(ann, 'Request changes').click()
    await ann.getByText('You asked for changes to revision 1.').waitFor()
    expect((await stateOf(one)).status).toBe('changes_requested')
    await revise(one, 250)
    await button(ann, 'Look at revision 2').click()
    await ann.getByRole('heading', { name: 'What changed' }).waitFor()
    await ann.getByText('half of it').waitFor()
    await ann.getByText('void: the agent revised since').waitFor()
  })

  it('fits a phone, with the decision bar in reach', async () => {
    const one = await held(bot, { payload: HIGH })
    const page = await console_.signedIn({ reviewer: 'eve', viewport: PHONE })
    await page.getByText(/pay/).first().waitFor()
    await console_.show(page, one)
    const box = await button(page, 'Approve').boundingBox()
    expect((box?.y ?? 999) + (box?.height ?? 0)).toBeLessThanOrEqual(PHONE.height)
    await seeAll(page)
    await button(page, 'Approve').tap()
    await page.getByRole('button', { name: 'Approve high risk' }).tap()
    await page.getByText('You approved revision 1.').waitFor()
  })

  it('shows policy, call and agent in this order on a phone, with hashes folded', async () => {
    const one = await held(bot)
    const page = await console_.signedIn({ reviewer: 'eve', viewport: PHONE })
    await console_.show(page, one)
    const tops = await Promise.all(
      ['What policy says', 'What runs', 'What the agent says', 'Evidence'].map(
        async (name) => (await page.getByRole('heading', { name }).boundingBox())?.y ?? -1,
      ),
    )
    expect(tops).toEqual(tops.toSorted((a, b) => a - b))
    const digest = (await stateOf(one)).revisions[0]?.payload_digest ?? ''
    expect(digest).toMatch(/^[0-9a-f]{64}$/)
    const whole = page.getByText(digest)
    expect(await whole.isVisible()).toBe(false)
    await page.getByText(`SHA-256 ${digest.slice(0, 12)}…`).click()
    await whole.waitFor()
    await expectNoSidewaysScroll(page)
    expect(await axe(page)).toEqual([])
  })

  it('reports the result of a vote in one notice, with a link to the next waiting call', async () => {
    const desk = await console_.signedIn({ reviewer: 'ben' })
    const [one, other] = [await held(bot, { payload: { amount: 500 } }), await held(bot)]
    await console_.show(desk, one)
    await seeAll(desk)
    await button(desk, 'Approve').click()
    await desk.getByText('You approved revision 1.').waitFor()
    // an equal call that another test rejected has a note of its own
    expect(await desk.locator('.note:not([aria-label="Rejected before"])').count()).toBe(1)
    const waiting = (await ben.list({ status: 'pending_review', mine: 'true' })).body
    const next = waiting.threads[0]?.thread_id ?? ''
    expect(waiting.threads.map(({ thread_id }) => thread_id)).toContain(other.thread)
    const link = desk.getByRole('link', { name: 'Next call that waits for you' })
    expect(await link.getAttribute('href')).toBe(`#/thread/${next}`)
    await link.click()
    await desk.waitForURL(`**/#/thread/${next}`)
    await desk.context().close()
  })

  it('sends one vote, however often and fast the reviewer presses the button', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    let sent = 0
    await ann.route('**/votes', async (route) => {
      sent += 1
      await route.continue()
    })
    await seeAll(ann)
    await button(ann, 'Approve').evaluate((element: HTMLElement) => {
      element.click()
      element.click()
      element.click()
    })
    await ann.getByText('You approved revision 1.').waitFor()
    await ann.unroute('**/votes')
    expect(sent).toBe(1)
  })

  it('requires a confirmation before it approves text that could deceive', async () => {
    const one = await held(bot, { subject: 'file\u202etxt.exe' })
    await console_.show(ann, one)
    await ann.getByText('U+202E').first().waitFor()
    await seeAll(ann)
    await approve(ann)
    await ann.waitForFunction(() => document.activeElement?.id === 'acknowledge')
    expect((await stateOf(one)).votes).toEqual([])
    await ann.getByLabel('I have seen this').check()
    await seeAll(ann)
    await approve(ann)
    await ann.getByText('You approved revision 1.').waitFor()
  })
})

describe('meanwhile', () => {
  it('blocks approval after a new revision until the reviewer looks at it', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await revise(one, 900)
    await ann.getByText('The agent has sent revision 2.').waitFor()
    expect(await button(ann, 'Approve').isDisabled()).toBe(true)
    const payload = ann.getByRole('region', { name: 'What runs' })
    expect(await payload.getByText('500', { exact: true }).count()).toBe(1)
    await approve(ann)
    await button(ann, 'Look at revision 2').click()
    const changes = ann.getByRole('region', { name: 'What changed' })
    await changes.getByText('500').waitFor()
    await changes.getByText('900').first().waitFor()
    await seeAll(ann)
    await button(ann, 'Approve').click()
    await ann.getByText('You approved revision 2.').waitFor()
    expect((await stateOf(one)).votes).toMatchObject([{ revision: 2 }])
  })

  it('approves nothing when the page missed a revision, and shows the revision first', async () => {
    const one = await held(bot)
    const page = await console_.signedIn({ reviewer: 'ann' })
    await page.route('**/api/review/stream', (route) => route.abort())
    await page.reload()
    await console_.show(page, one)
    // between the press and the vote the agent revises
    await page.route('**/votes', async (route) => {
      await revise(one, 900)
      await route.continue()
    })
    await seeAll(page)
    await button(page, 'Approve').click()
    await page.getByText('Your vote was not counted.').waitFor()
    await approve(page)
    await page.getByText('Look at the new revision first').waitFor()
    await button(page, 'Look at revision 2').click()
    await page.getByRole('region', { name: 'What changed' }).getByText('900').first().waitFor()
    const { votes, status } = await stateOf(one)
    expect([votes, status]).toEqual([[], 'pending_review'])
  })

  it('reads the thread again when the connection breaks during a vote', async () => {
    const one = await held(bot, { payload: HIGH })
    await console_.show(ann, one)
    await ann.route('**/votes', async (route) => {
      await route.fetch()
      await route.abort('connectionreset')
    })
    await seeAll(ann)
    await button(ann, 'Approve').click()
    await ann.keyboard.press('y')
    await ann.getByText('The outcome is unknown.').waitFor()
    await ann.getByText('has not collected the approval yet').waitFor()
    await ann.unroute('**/votes')
    expect((await stateOf(one)).votes).toHaveLength(1)
  })

  it('reads the thread again after 503 outcome_unknown', async () => {
    const one = await held(bot, { payload: HIGH })
    await console_.show(ann, one)
    const problem = {
      title: 'The store did not confirm in time: the outcome is unknown',
      code: 'outcome_unknown',
      detail: 'look again',
      status: 503,
    }
    await ann.route('**/votes', (route) => route.fulfill({ status: 503, json: problem }))
    await seeAll(ann)
    await button(ann, 'Approve').click()
    await ann.keyboard.press('y')
    await ann.getByText('The outcome is unknown.').waitFor()
    await ann.unroute('**/votes')
    await seeAll(ann)
    await button(ann, 'Approve').click()
    await ann.keyboard.press('y')
    await ann.getByText('You approved revision 1.').waitFor()
  })

  it("follows another reviewer's decision, and offers no more votes", async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await ben.vote(one.thread, { decision: 'reject', revision: 1, comment: 'no' })
    await ann.getByText('Rejected.', { exact: true }).waitFor()
    expect(await button(ann, 'Approve').count()).toBe(0)
  })

  it('keeps a written comment when the session ends and the reviewer signs in again', async () => {
    const one = await held(bot)
    const page = await console_.signedIn({ reviewer: 'cat' })
    await console_.show(page, one)
    await page.getByRole('textbox', { name: 'Comment' }).fill('Half a sentence')
    await console_.world.admin('DELETE', 'reviewers/acme/cat/sessions')
    // by the stream within seconds, or by the next thing one asks for
    await visit(page, console_.world, 'history')
    await page.getByText('Your session has ended').waitFor()
    await visit(page, console_.world, `sign-in/${await console_.world.link('cat')}`)
    await page.getByRole('button', { name: 'Sign in with this link' }).click()
    await page.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
    await console_.show(page, one)
    const text = page.getByRole('textbox', { name: 'Comment' })
    expect(await text.inputValue()).toBe('Half a sentence')
    await button(page, 'Comment').click()
    await page.getByText('Your comment was added for all reviewers.').waitFor()
    expect(await text.inputValue()).toBe('')
  })

  it('ignores the late refusal of an ended session when the reviewer has signed in again', async () => {
    const page = await console_.signedIn({ reviewer: 'cat' })
    let answerLate = (): Promise<void> => Promise.resolve()
    const asked = new Promise<void>((resolve) => {
      const hold = (route: Route): void => {
        answerLate = () => route.fulfill({ status: 401, json: {} })
        resolve()
      }
      void page.route('**/api/review/threads?*', hold, { times: 1 })
    })
    await visit(page, console_.world, 'history')
    await asked
    await console_.world.admin('DELETE', 'reviewers/acme/cat/sessions')
    await page.getByText('Your session has ended').waitFor()
    await visit(page, console_.world, `sign-in/${await console_.world.link('cat')}`)
    await page.getByRole('button', { name: 'Sign in with this link' }).click()
    await page.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
    const heard = page.waitForResponse((response) => response.status() === 401)
    await answerLate()
    await heard
    // two frames: whatever the answer brings about is drawn by then
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
    expect(await page.getByRole('heading', { name: 'Queue', exact: true }).count()).toBe(1)
    expect(await page.getByText('Your session has ended').count()).toBe(0)
  })

  it('claims, takes over and releases a thread, and posts comments', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await button(ann, 'Claim').click()
    await ann.getByText('Claimed by you').waitFor()
    const cat = await console_.signedIn({ reviewer: 'cat' })
    await console_.show(cat, one)
    await cat.getByText('Claimed by Ann Ash').waitFor()
    await button(cat, 'Take over').click()
    await ann.getByText('Claimed by Cat Cox').waitFor()
    await button(cat, 'Release').click()
    await button(ann, 'Claim').waitFor()
    await cat.getByRole('textbox', { name: 'Comment' }).fill('I know this one')
    await button(cat, 'Comment').click()
    await ann.getByText('I know this one').waitFor()
    expect((await stateOf(one)).comments).toHaveLength(1)
  })

  it('explains in words that a thread does not exist', async () => {
    await visit(ann, console_.world, 'thread/thr_nothing')
    await ann.getByRole('alert').getByText('Nothing has this address').waitFor()
  })
})
