import { beforeAll, describe, it, expect } from 'vitest'
import { INSTALL_MS } from '../debian.ts'
import { approved, held, type Reviewer } from '../gateway-fixture.ts'
import { axe, PHONE, WIDE } from './browser.ts'
import { bot, console_, consoleWorld } from './console-world.ts'

/** Context next to a call: its parts load on their own, and never delay the vote. */

let ann: Reviewer

consoleWorld()
beforeAll(async () => {
  ann = await console_.world.reviewer('ann')
}, INSTALL_MS)

describe('the context of a call', () => {
  it('has the difference to the last approved call, and the last decisions with the same reason', async () => {
    await approved(bot, ann, { payload: { amount: 900, to: 'a', secret: 'x' } })
    const no = await held(bot, { payload: { amount: 901, to: 'b' } })
    await ann.vote(no.thread, { decision: 'reject', revision: 1, comment: 'not without an order' })
    const one = await held(bot, { payload: { amount: 901, to: 'a', secret: 'y' } })
    const page = await console_.signedIn({ reviewer: 'ben', viewport: WIDE })
    await console_.show(page, one)
    const context = page.getByRole('region', { name: 'Context' })
    await context.getByText('1 of 3 fields differ').waitFor()
    await context.getByText('0 of 1 approved').waitFor()
    expect(await context.getByText('hidden', { exact: true }).isVisible()).toBe(false)
    await page.keyboard.press('i')
    await context.getByText('hidden', { exact: true }).waitFor()
    await context.locator('tr.differs', { hasText: 'amount' }).getByText('900').waitFor()
    await context.getByText('not without an order').waitFor()
    expect(await axe(page)).toEqual([])
    await page.keyboard.press('i')
    await context.getByText('hidden', { exact: true }).waitFor({ state: 'hidden' })
    await page.context().close()
  })

  it('has the rejection of a nearly equal call in sight, without unfolding', async () => {
    const no = await held(bot, { payload: { amount: 955, to: 'd', pin: '7' } })
    await ann.vote(no.thread, { decision: 'reject', revision: 1, comment: 'unknown account' })
    const one = await held(bot, { payload: { amount: 956, to: 'd', pin: '7' } })
    const page = await console_.signedIn({ reviewer: 'ben', viewport: PHONE })
    await console_.show(page, one)
    const before = page.getByRole('region', { name: 'Rejected before' })
    await before.getByText('rejected a nearly equal call').waitFor()
    expect(await before.textContent()).toMatch(/Ann Ash.*of bot, with another amount.*unknown account/)
    expect(await axe(page)).toEqual([])
    await page.context().close()
  })

  it('says what could not be read or does not exist, while the call can be decided', async () => {
    const one = await held(bot, { tool_name: 'hold', payload: { a: 1 } })
    const page = await console_.signedIn({ reviewer: 'ben', viewport: PHONE })
    await page.route('**/precedents', (route) => route.abort('connectionreset'))
    await console_.show(page, one)
    const context = page.getByRole('region', { name: 'Context' })
    await context.getByText('no such call').waitFor()
    await context.getByText('could not be read').waitFor()
    await page.getByRole('button', { name: /^Reject/ }).waitFor()
    await page.unroute('**/precedents')
    await page.context().close()
  })
})
