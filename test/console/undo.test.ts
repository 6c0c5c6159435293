import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import type { ThreadView } from '../../src/contract/reviewer.ts'
import { INSTALL_MS } from '../debian.ts'
import { held, type Held, type Reviewer } from '../gateway-fixture.ts'
import { approve, axe, seeAll, visit, WIDE } from './browser.ts'
import { bot, console_, consoleWorld } from './console-world.ts'

/** Votes on calls of low and medium risk wait five seconds, and no vote is lost in silence. */

let ben: Reviewer
let ann: Page

consoleWorld()
beforeAll(async () => {
  ben = await console_.world.reviewer('ben')
  ann = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
}, INSTALL_MS)

const stateOf = async ({ thread }: Held): Promise<ThreadView> => (await ben.show(thread)).body
const approved = async (page: Page, one: Held): Promise<void> => {
  await console_.show(page, one)
  await seeAll(page)
  await approve(page)
  await page.locator('.undo').getByText('You approved').waitFor()
}

describe('a vote that waits', () => {
  it('is taken back by u, and leaves the call as it was, with its comment', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await ann.getByRole('textbox', { name: 'Comment' }).fill('checked')
    await ann.keyboard.press('Escape')
    await approved(ann, one)
    expect(await axe(ann)).toEqual([])
    await ann.keyboard.press('u')
    await ann.locator('.undo').waitFor({ state: 'detached' })
    await ann.getByRole('button', { name: /^Approve/ }).waitFor()
    expect(await ann.getByRole('textbox', { name: 'Comment' }).inputValue()).toBe('checked')
    expect((await stateOf(one)).votes).toEqual([])
    await ann.getByRole('textbox', { name: 'Comment' }).fill('')
  })

  it('is sent after five seconds, with the parts that were on the screen', async () => {
    const one = await held(bot)
    await approved(ann, one)
    expect((await stateOf(one)).votes).toEqual([])
    await ann.getByText('You approved revision 1.').waitFor()
    expect((await stateOf(one)).votes).toHaveLength(1)
    const { body } = await ben.show(one.thread)
    expect(body.display.parts).toContain('payload.amount')
  })

  it('is sent when the page is left, and once only', async () => {
    const one = await held(bot)
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    await approved(page, one)
    await page.goto('about:blank')
    await expect.poll(async () => (await stateOf(one)).votes.length).toBe(1)
    await page.goto(`${console_.world.url}/console/`)
    await page.locator('.list').waitFor()
    expect(await page.locator('.undo').count()).toBe(0)
    await page.context().close()
  })

  it('stays on the page when the connection is lost, and can be sent again or dropped', async () => {
    const [one, two] = [await held(bot), await held(bot)]
    await approved(ann, one)
    await ann.route('**/votes', (route) => route.abort('connectionreset'))
    await ann.locator('.undo.bad').getByText('1 vote was not sent:').waitFor()
    expect(await axe(ann)).toEqual([])
    await ann.unroute('**/votes')
    await ann.getByRole('button', { name: 'Send it' }).click()
    await expect.poll(async () => (await stateOf(one)).votes.length).toBe(1)
    await ann.locator('.undo').waitFor({ state: 'detached' })
    await ann.route('**/votes', (route) => route.abort('connectionreset'))
    await approved(ann, two)
    await ann.getByRole('button', { name: 'Drop it' }).click()
    await ann.locator('.undo').waitFor({ state: 'detached' })
    await ann.unroute('**/votes')
    expect((await stateOf(two)).votes).toEqual([])
  })

  it('counts as sent when only its answer was lost', async () => {
    const one = await held(bot)
    await approved(ann, one)
    await ann.route('**/votes', async (route) => {
      await route.fetch()
      await route.abort('connectionreset')
    })
    await ann.locator('.undo').waitFor({ state: 'detached' })
    await ann.unroute('**/votes')
    expect((await stateOf(one)).votes).toHaveLength(1)
  })

  it('keeps its reviewer signed in until it arrived or was dropped', async () => {
    const one = await held(bot)
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    await approved(page, one)
    await page.route('**/votes', (route) => route.abort('connectionreset'))
    const signOut = async (): Promise<void> => {
      await page.getByText('Ann Ash').first().click()
      await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    }
    await signOut()
    await page.getByText('Send it or drop it, then sign out.').waitFor()
    expect((await stateOf(one)).votes).toEqual([])
    await page.unroute('**/votes')
    await page.getByRole('button', { name: 'Send it' }).click()
    await page.locator('.undo').waitFor({ state: 'detached' })
    expect((await stateOf(one)).votes).toHaveLength(1)
    await page.context().close()
  })

  it('is not counted for a revision that was not on the screen, and the page says so', async () => {
    const one = await held(bot)
    await approved(ann, one)
    const revision = { revision_id: 'r2', request_payload: { amount: 900 } }
    await bot.revise(one.task, one.thread, revision)
    await ann.locator('.undo.bad').getByText('Your vote was not counted.').waitFor()
    await ann.getByRole('link', { name: 'Look at it' }).click()
    expect((await stateOf(one)).votes).toEqual([])
    expect(await ann.locator('.undo').count()).toBe(0)
  })

  it('is shown after the next sign-in when the session ended meanwhile', async () => {
    const one = await held(bot)
    const page = await console_.signedIn({ reviewer: 'cat', viewport: WIDE })
    await approved(page, one)
    await console_.world.admin('DELETE', 'reviewers/acme/cat/sessions')
    await page.getByText('Your session has ended').waitFor()
    await visit(page, console_.world, `sign-in/${await console_.world.link('cat')}`)
    await page.getByRole('button', { name: 'Sign in with this link' }).click()
    await page.waitForURL(`**/#/thread/${one.thread}`)
    await page.locator('.undo').waitFor()
    expect((await stateOf(one)).votes).toEqual([])
    await page.getByRole('button', { name: 'Send it' }).click()
    await expect.poll(async () => (await stateOf(one)).votes.length).toBe(1)
    await page.context().close()
  })

  it('does not exist for a call of high risk, which keeps its dialog', async () => {
    const one = await held(bot, { payload: { amount: 20_000 } })
    await console_.show(ann, one)
    await seeAll(ann)
    await approve(ann)
    await ann.getByRole('dialog').waitFor()
    await ann.keyboard.press('y')
    await ann.getByText('You approved revision 1.').waitFor()
    expect(await ann.locator('.undo').count()).toBe(0)
  })

  it('loses to the vote of another reviewer that ends the call meanwhile, and the page says so', async () => {
    const one = await held(bot)
    await approved(ann, one)
    await ben.vote(one.thread, { decision: 'reject', revision: 1 })
    await ann.locator('.undo.bad').getByText('1 vote was not counted:').waitFor()
    await ann.getByRole('button', { name: 'Drop it' }).click()
    await ann.locator('.undo').waitFor({ state: 'detached' })
    const { status, votes } = await stateOf(one)
    expect([status, votes.map(({ reviewer }) => reviewer)]).toEqual(['rejected', ['ben']])
  })

  it('counts once beside the vote of another reviewer, and each sees the other', async () => {
    const one = await held(bot, { payload: { amount: 60_000 } })
    const cat = await console_.signedIn({ reviewer: 'ben', viewport: WIDE })
    await console_.show(cat, one)
    await console_.show(ann, one)
    await seeAll(ann)
    await approve(ann)
    await ann.getByRole('dialog').waitFor()
    await ann.keyboard.press('y')
    await ann.getByText('You approved revision 1.').waitFor()
    await cat.getByText('Ann Ash').locator('visible=true').first().waitFor()
    expect((await stateOf(one)).votes.map(({ reviewer }) => reviewer)).toEqual(['ann'])
    await cat.context().close()
  })
})
