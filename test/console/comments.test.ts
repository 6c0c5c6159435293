import { afterAll, beforeAll, expect, it } from 'vitest'
import { BUNDLE } from '../bundle.ts'
import { INSTALL_MS } from '../debian.ts'
import { held } from '../gateway-fixture.ts'
import { axe, type Console, openConsole, PHONE, WIDE } from './browser.ts'

/** Saved comments of a level, by keys and by buttons. */

const ROUTING = BUNDLE['routing.yaml']?.replace(
  'low:      { group: desk,',
  'low:      { comments: [Checked., Half of it is enough.], require_comment: true, group: desk,',
)
let console_: Console

beforeAll(async () => {
  console_ = await openConsole({ files: { 'routing.yaml': ROUTING ?? null } })
}, INSTALL_MS)
afterAll(async () => {
  await console_.close()
  expect(console_.misdeeds).toEqual([])
})

it('inserts saved comments by their numbers, and asks for one where a rejection needs it', async () => {
  const bot = await console_.world.agent()
  const one = await held(bot)
  const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
  await console_.show(page, one)
  await page.keyboard.press('r')
  await page.locator('textarea[placeholder="Say why, then reject"]:focus').waitFor()
  await page.keyboard.press('Escape')
  await page.locator('textarea:focus').waitFor({ state: 'detached' })
  await page.keyboard.press('2')
  const field = page.getByRole('textbox', { name: 'Comment' })
  expect(await field.inputValue()).toBe('Half of it is enough.')
  await page.getByRole('button', { name: 'Checked.' }).click()
  expect(await field.inputValue()).toBe('Half of it is enough. Checked.')
  expect(await axe(page)).toEqual([])
  await page.keyboard.press('r')
  await page.getByText('You rejected revision 1.').waitFor()
  const ben = await console_.world.reviewer('ben')
  expect((await ben.show(one.thread)).body.votes).toMatchObject([
    { comment: 'Half of it is enough. Checked.' },
  ])
  const phone = await console_.signedIn({ reviewer: 'ann', viewport: PHONE })
  await console_.show(phone, await held(bot))
  await phone.getByRole('button', { name: 'Write a comment' }).click()
  await phone.getByRole('textbox', { name: 'Comment' }).fill('from a phone')
  expect(await axe(phone)).toEqual([])
})
