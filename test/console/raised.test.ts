import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { INSTALL_MS } from '../debian.ts'
import { edited, held, type Reviewer } from '../gateway-fixture.ts'
import { axe, visit } from './browser.ts'
import { bot, console_, consoleWorld } from './console-world.ts'

/** The line of a call for which policy asks for more, and an approval that is taken back. */

let cat: Reviewer
let ann: Page

consoleWorld()
beforeAll(async () => {
  cat = await console_.world.reviewer('cat')
  ann = await console_.signedIn({ reviewer: 'ann' })
}, INSTALL_MS)

const button = (name: string): ReturnType<Page['getByRole']> =>
  ann.getByRole('region', { name: 'Your decision' }).getByRole('button', { name })

describe('an approval that was not used', () => {
  it('is taken back at once by a rejection with a comment', async () => {
    const one = await held(bot)
    await cat.approve(one.thread)
    await console_.show(ann, one)
    await ann.getByText('A rejection takes the approval back.').waitFor()
    expect(await button('Approve').count()).toBe(0)
    await ann.getByRole('textbox', { name: 'Comment' }).fill('the wrong account')
    await button('Reject').click()
    await ann.getByText('You rejected revision 1.').waitFor()
    expect((await bot.poll({ thread_id: one.thread })).body).toMatchObject({
      status: 'rejected',
      message: 'the wrong account',
    })
    await visit(ann, console_.world, 'history')
    await ann.getByText('You rejected: the wrong account.').waitFor()
  })
})

describe('a call for a person who reviews it', () => {
  it('has a button that rejects, and none that approves', async () => {
    await console_.show(ann, await held(bot, { subject: 'Ann' }))
    await ann.getByText('the agent says that it works for you').waitFor()
    await button('Reject').waitFor()
    expect(await button('Approve').count()).toBe(0)
  })
})

describe('a call of which policy asks for more', () => {
  it('says so in the list and on its page, as a part to see', async () => {
    const one = await held(bot)
    const raised = edited(
      'rules/pay.yaml',
      'review: More than pocket money.',
      'review: More than pocket money.\n    risk: critical',
    )
    await console_.world.changePolicies(raised)
    await console_.show(ann, one)
    const note = ann.locator('.part', {
      hasText: /Since .*\d\d:\d\d policy asks for two of board\.$/,
    })
    await note.waitFor()
    await ann.getByText('Everything seen').waitFor()
    expect(await axe(ann)).toEqual([])
    await visit(ann, console_.world, 'queue')
    await console_.inQueue(ann, one)
    await ann
      .locator('.item')
      .getByText(/^Since .* policy asks for two of board$/)
      .waitFor()
  })
})
