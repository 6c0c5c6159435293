import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { INSTALL_MS } from '../debian.ts'
import { held } from '../gateway-fixture.ts'
import { axe, PHONE, visit, WIDE } from './browser.ts'
import { bot, console_, consoleWorld } from './console-world.ts'

/** States without content: one sentence each, which says what is the case and what to do, with its buttons. */

let page: Page

consoleWorld()
beforeAll(async () => {
  page = await console_.signedIn({ reviewer: 'cat', viewport: WIDE })
}, INSTALL_MS)

const sentence = (words: string) => page.locator('.state h2', { hasText: words }).waitFor()

describe('a state', () => {
  it('is an empty queue, and a filter that nothing fits', async () => {
    await sentence('Nothing needs your vote; new calls appear here by themselves.')
    expect(await axe(page)).toEqual([])
    await visit(page, console_.world, 'queue?tool=nothing')
    await sentence('None of the 0 waiting calls fits these filters.')
    await page.getByRole('link', { name: 'Clear the filters' }).click()
    await sentence('Nothing needs your vote')
  })

  it('is a call that does not exist, with a way to find it', async () => {
    await visit(page, console_.world, 'thread/thr_nothing')
    await sentence('Nothing has this address: the link may be cut off, or belong to another tenant.')
    expect(await axe(page)).toEqual([])
    await page.getByRole('link', { name: 'Search the history' }).click()
    await page.getByRole('heading', { name: 'History' }).waitFor()
  })

  it('is a call that the gateway cannot read, and one that it does not answer', async () => {
    const one = await held(bot)
    const path = `**/api/review/threads/${one.thread}`
    const json = { status: 503, code: 'overloaded', title: 'Busy', detail: 'too many requests', type: 'x' }
    await page.route(path, (route) => route.fulfill({ status: 503, json }))
    await visit(page, console_.world, `thread/${one.thread}`)
    await sentence('The gateway could not read this call and changed nothing; try again')
    await page.unroute(path)
    await page.route(path, (route) => route.abort('connectionreset'))
    await page.getByRole('button', { name: 'Try again' }).click()
    await sentence('The gateway has not answered since')
    expect(await axe(page)).toEqual([])
    await page.unroute(path)
    await page.getByRole('button', { name: 'Try now' }).click()
    await page.getByRole('heading', { name: 'What runs' }).waitFor()
  })

  it('is a list that loads for long, which says so', async () => {
    let answer = (): void => {}
    await page.route('**/api/review/threads?*tool=slow*', async (route) => {
      await new Promise<void>((done) => (answer = done))
      await route.continue()
    })
    await visit(page, console_.world, 'queue?tool=slow')
    await sentence('Loading the queue…')
    answer()
    await sentence('waiting calls fits these filters')
    await page.unroute('**/api/review/threads?*tool=slow*')
  })

  it('is a call that others decide: it names them, and a comment is left to do', async () => {
    const one = await held(bot, { payload: { amount: 20_000 } })
    await console_.show(page, one)
    await page.getByText('Only leads decides this call:').waitFor()
    await page.getByText('Ann Ash, Eve Elm can vote; you can comment.').waitFor()
  })

  it('fits a phone', async () => {
    const phone = await console_.signedIn({ reviewer: 'cat', viewport: PHONE })
    await visit(phone, console_.world, 'thread/thr_nothing')
    await phone.locator('.state h2').waitFor()
    expect(await axe(phone)).toEqual([])
    await phone.context().close()
  })
})
