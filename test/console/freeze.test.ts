import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import type { FreezeList } from '../../src/contract/freeze.ts'
import { INSTALL_MS } from '../debian.ts'
import { held, newTask } from '../gateway-fixture.ts'
import { axe, expectNoSidewaysScroll, PHONE, visit } from './browser.ts'
import { bot, console_, consoleWorld } from './console-world.ts'

/** Freezing from the console: by administrators, with a reason, visible to every reviewer. So are legal holds. */

let ann: Page

consoleWorld()
beforeAll(async () => {
  ann = await console_.signedIn({ reviewer: 'ann' })
}, INSTALL_MS)

const button = (page: Page, name: string): ReturnType<Page['getByRole']> =>
  page.getByRole('button', { name, exact: true })
const frozen = async (): Promise<FreezeList['freezes']> =>
  (await console_.world.admin<FreezeList>('GET', 'freezes?tenant=acme')).body.freezes
const status = async (): Promise<string> =>
  (await bot.submit(newTask(), { tool_name: 't', payload: {} })).body.status

describe('the agents page', () => {
  it('freezes one agent by keyboard, and shows who did it and why', async () => {
    const { thread } = await held(bot)
    await visit(ann, console_.world, 'agents')
    await button(ann, 'Freeze bot').focus()
    await ann.keyboard.press('Enter')
    const dialog = ann.getByRole('dialog', { name: 'Freeze bot' })
    await dialog.getByText('end for good').waitFor()
    expect(await axe(ann)).toEqual([])
    await ann.keyboard.press('Tab')
    await ann.keyboard.type('it talks to strangers')
    await ann.keyboard.press('Tab')
    await ann.keyboard.press('Tab')
    await ann.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await ann.getByText('bot is frozen').waitFor()
    await ann.waitForFunction(() => document.activeElement?.tagName === 'H1')
    await ann.getByText('by ann: it talks to strangers').waitFor()
    expect(await frozen()).toMatchObject([{ agent: 'bot', by: 'reviewer:ann' }])
    expect(await status()).toBe('reject')
    await console_.world.due()
    await visit(ann, console_.world, `thread/${thread}`)
    await ann.getByText('frozen: it talks to strangers').first().waitFor()
    await visit(ann, console_.world, 'agents')
    expect(await axe(ann)).toEqual([])
  })

  it('unfreezes the agent, and says which calls stay cancelled', async () => {
    await button(ann, 'Unfreeze bot').click()
    const dialog = ann.getByRole('dialog', { name: 'Unfreeze bot' })
    await dialog.getByText('stay ended').waitFor()
    await dialog.getByRole('textbox').fill('mended')
    await button(ann, 'Unfreeze').click()
    await dialog.waitFor({ state: 'detached' })
    await button(ann, 'Freeze bot').waitFor()
    expect(await frozen()).toEqual([])
    expect(await status()).toBe('allow')
  })

  it('freezes a tool and everything, but not without a reason or after Escape', async () => {
    await button(ann, 'Freeze a tool').click()
    await button(ann, 'Freeze').click()
    expect(await ann.getByRole('dialog').count()).toBe(1)
    await ann.keyboard.press('Escape')
    expect(await frozen()).toEqual([])
    await button(ann, 'Freeze a tool').click()
    await ann.getByLabel('Tool', { exact: true }).fill('t')
    await ann.getByLabel('Why').fill('odd')
    await button(ann, 'Freeze').click()
    await ann.getByText('The tool t is frozen').waitFor()
    await button(ann, 'Freeze everything').click()
    await ann.getByLabel('Why').fill('all of it')
    await button(ann, 'Freeze').click()
    await ann.getByText('Everything is frozen').waitFor()
    expect(await frozen()).toHaveLength(2)
    expect(await axe(ann)).toEqual([])
    const phone = await console_.signedIn({ reviewer: 'ann', viewport: PHONE })
    await visit(phone, console_.world, 'agents')
    await phone.getByText('Everything is frozen').waitFor()
    await expectNoSidewaysScroll(phone)
    expect(await axe(phone)).toEqual([])
  })

  it('says that policy knows no such tool, and sends one freeze for a double click', async () => {
    let sent = 0
    await ann.route('**/freeze', async (route) => {
      sent += 1
      await route.continue()
    })
    await button(ann, 'Freeze a tool').click()
    await ann.getByLabel('Tool', { exact: true }).fill('Pay')
    await ann.getByLabel('Why').fill('meant another')
    await button(ann, 'Freeze').evaluate((element: HTMLElement) => {
      element.click()
      element.click()
    })
    await ann.getByRole('alert').filter({ hasText: 'the policy has no Pay: check the spelling.' }).waitFor()
    await ann.unroute('**/freeze')
    expect(sent).toBe(1)
    expect(await axe(ann)).toEqual([])
  })

  it('shows freezes to every reviewer, and lets only administrators change them', async () => {
    const ben = await console_.signedIn({ reviewer: 'ben' })
    await visit(ben, console_.world, 'agents')
    await ben.getByText('Everything is frozen').waitFor()
    expect(await ben.getByRole('button', { name: /freeze/i }).count()).toBe(0)
    expect(await axe(ben)).toEqual([])
  })
})

describe('a legal hold', () => {
  it('shows its reason on the agents page, in the history and on the call', async () => {
    const body = { tenant: 'acme', agent: 'bot', reason: 'case 17-204' }
    expect((await console_.world.admin('POST', 'legal-holds', { body })).status).toBe(200)
    const page = await console_.signedIn({ reviewer: 'ann' })
    await visit(page, console_.world, 'agents')
    const holds = page.getByRole('region', { name: 'Legal holds' })
    await holds.getByText('Threads of bot').waitFor()
    await holds.getByText('case 17-204').waitFor()
    expect(await axe(page)).toEqual([])
    await visit(page, console_.world, 'history')
    await page.getByText('legal hold', { exact: true }).first().waitFor()
    expect(await axe(page)).toEqual([])
    await page.locator('.ended a.open').first().click()
    await page.getByText('Under a legal hold').waitFor()
    expect(await axe(page)).toEqual([])
  })
})
