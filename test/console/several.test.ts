import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Call } from '../../src/console/several/table.ts'
import { differenceFrom, sumOf, tableOf } from '../../src/console/several/table.ts'
import type { JsonObject } from '../../src/contract/json.ts'
import { INSTALL_MS } from '../debian.ts'
import { type Agent, held, type Held, type Reviewer } from '../gateway-fixture.ts'
import { approve, axe, type Console, expectNoSidewaysScroll, openConsole, PHONE, WIDE } from './browser.ts'

/** A vote on several calls: one table of calls that are alike, and one act for those that were chosen and seen. */

const calls = (...payloads: readonly JsonObject[]): Call[] =>
  payloads.map((payload, i) => ({
    id: `thr_${i}`,
    payload,
    masked: [],
    because: [{ field: 'payload.amount', value: Number(payload['amount']) }],
  }))

describe('the table', () => {
  it('has a column for each field that differs, and the equal fields above', () => {
    const { same, columns, names } = tableOf(
      calls(
        { amount: 3, order: 'o-1', currency: 'eur' },
        { amount: 5, order: 'o-2', currency: 'eur', note: 'x' },
      ),
    )
    expect(same.map(({ name }) => name)).toEqual(['currency'])
    expect(columns.map(({ name }) => name)).toEqual(['order', 'amount', 'note'])
    expect(names).toEqual(['o-1', 'o-2'])
  })

  it('adds numbers, names the least and the most, and counts equal values', () => {
    const { columns } = tableOf(calls({ amount: 3, to: 'a' }, { amount: 5, to: 'b' }, { amount: 4, to: 'a' }))
    const [amount, to] = columns
    expect(amount).toMatchObject({ numeric: true, sum: '12', decides: true })
    expect(amount?.cells.map(({ least, most }) => [least, most])).toEqual([
      [true, false],
      [false, true],
      [false, false],
    ])
    expect(to).toMatchObject({ numeric: false, different: 2, decides: false })
    expect(to?.cells.map(({ times }) => times)).toEqual([2, 1, 2])
  })

  it('writes the least, the most and the sum as the headings do, where all of them have one format', () => {
    const written = (texts: readonly string[], amounts = [25_000, 64_450]): unknown => {
      const all = calls(...amounts.map((amount) => ({ amount }))).map((one, i) => {
        const segment = { text: texts[i] ?? '', field: 'payload.amount', exact: String(amounts[i]) }
        return { ...one, heading: { line: '', segments: [segment] } }
      })
      return tableOf(all).columns[0]?.written
    }
    expect(written(['€250.00', '€644.50'])).toEqual(['€250.00', '€644.50', '€894.50'])
    expect(written(['¥25,000', '¥64,450'])).toEqual(['¥25,000', '¥64,450', '¥89,450'])
    expect(written(['€250.00', '$644.50'])).toBeUndefined()
    expect(written(['25.0 kB', '64.4 kB'])).toBeUndefined()
    expect(written(['a lot', 'more'])).toBeUndefined()
    expect(tableOf(calls({ amount: 1 }, { amount: 2 })).columns[0]?.written).toBeUndefined()
  })

  it('never calls a hidden value equal to its tag, and a missing one to nothing', () => {
    const [one, two] = calls({ amount: 1, a: '[hidden 1]' }, { amount: 1, a: '[hidden 1]' })
    const { columns } = tableOf([{ ...one!, masked: ['/a'] }, two!])
    expect(columns.map(({ name }) => name)).toEqual(['a'])
    expect(tableOf(calls({ amount: 1, a: '' }, { amount: 1 })).columns.map(({ name }) => name)).toEqual(['a'])
  })

  it('names calls by a text that differs in each, or by their number', () => {
    expect(tableOf(calls({ amount: 1 }, { amount: 2 })).names).toEqual(['call 1', 'call 2'])
    expect(tableOf(calls({ amount: 1, to: 'a' }, { amount: 2, to: 'a' })).names).toEqual(['call 1', 'call 2'])
  })

  it('shows a long text as its difference from the first one, and other texts whole', () => {
    const node = (text: string) => ({ pointer: '/a', kind: 'text' as const, text })
    const [head, tail] = ['h'.repeat(300), 't'.repeat(300)]
    const difference = differenceFrom(node(`${head}9${tail}`), node(`${head}1${tail}`))
    expect(difference).toEqual({ before: 276, text: `${'h'.repeat(24)}9${'t'.repeat(24)}`, after: 276 })
    expect(differenceFrom(node(`9${'x'.repeat(300)}`), node('y'.repeat(301)))).toBeUndefined()
    expect(differenceFrom(node('a1'), node('a2'))).toBeUndefined()
  })

  it('adds decimals without the errors of binary fractions', () => {
    expect(sumOf([0.1, 0.2])).toBe('0.3')
    expect(sumOf([1, 2.25])).toBe('3.25')
    expect(sumOf([])).toBe('0')
  })
})

describe('several calls', () => {
  let console_: Console
  let bot: Agent
  let ben: Reviewer

  beforeAll(async () => {
    console_ = await openConsole()
    bot = await console_.world.agent()
    ben = await console_.world.reviewer('ben')
  }, INSTALL_MS)
  afterAll(async () => {
    await console_.close()
    expect(console_.misdeeds).toEqual([])
  })

  const hold = async (amounts: readonly number[], more: JsonObject = {}): Promise<Held[]> => {
    const all: Held[] = []
    for (const amount of amounts)
      all.push(await held(bot, { payload: { amount, to: `shop ${amount}`, ...more } }))
    return all
  }
  const end = async (all: readonly Held[]): Promise<void> => {
    for (const { thread } of all) await bot.withdraw(thread)
  }
  const votesOn = async ({ thread }: Held) => (await ben.show(thread)).body.votes
  const checked = (page: Page): Promise<number> => page.locator('.calls :checked').count()
  const allSeen = (page: Page, count: number): Promise<void> =>
    page.getByRole('button', { name: `Choose the ${count} that were seen` }).waitFor()
  const open = async (page: Page, [first]: readonly Held[]): Promise<void> => {
    await page.goto(`${console_.world.url}/console/#/several/${first?.thread}`)
    await page.locator('.calls tbody tr').first().waitFor()
  }

  it('opens from a row by X, starts unchosen, and approves all that were seen with one act', async () => {
    const all = await hold([210, 220, 230])
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    await page.keyboard.press('j')
    await page.keyboard.press('Shift+X')
    await page.getByRole('heading', { name: '3 calls of pay by bot' }).waitFor()
    expect(await checked(page)).toBe(0)
    await approve(page)
    await page.getByText('Choose calls first').waitFor({ state: 'attached' })
    await allSeen(page, 3)
    expect(await axe(page)).toEqual([])
    await page.keyboard.press('Shift+X')
    expect(await checked(page)).toBe(3)
    await page.getByText('3 of 3 chosen, sum of amount 660').waitFor()
    await page.locator('.approve:not([aria-disabled=true])').waitFor()
    await approve(page)
    await page.locator('.undo').getByText('3 calls of pay').waitFor()
    expect((await Promise.all(all.map(votesOn))).flat()).toEqual([])
    await page.locator('.undo').waitFor({ state: 'detached' })
    for (const one of all) {
      const [vote] = await votesOn(one)
      expect(vote).toMatchObject({ reviewer: 'ann', decision: 'approve' })
    }
    const { evidence } = (await ben.show(all[0]!.thread)).body
    expect(evidence.map(({ type }) => type)).toContain('vote.cast')
    await page.context().close()
  })

  it('chooses one row after the other by x, and u takes all votes back', async () => {
    const all = await hold([310, 320, 330])
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.locator('.calls').waitFor()
    await allSeen(page, 3)
    expect(await checked(page)).toBe(1)
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    expect(await checked(page)).toBe(2)
    await page.keyboard.press('r')
    await page.locator('.undo').getByText('You rejected').waitFor()
    await page.keyboard.press('u')
    await page.locator('.undo').waitFor({ state: 'detached' })
    await page.locator('.calls tbody tr').nth(2).waitFor()
    expect((await Promise.all(all.map(votesOn))).flat()).toEqual([])
    await end(all)
    await page.context().close()
  })

  it('blocks an approval with a chosen row that was not seen, and leads to it', async () => {
    const text = Array.from({ length: 60 }, (_, i) => `line ${i}.`).join('\n')
    const all = []
    for (const name of ['one', 'two'])
      all.push(
        await held(bot, { tool_name: 'hold', payload: { name, text: name === 'two' ? text : 'short' } }),
      )
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    await open(page, all)
    await allSeen(page, 1)
    await page.getByLabel('Choose two').check()
    await page.locator('.approve[aria-disabled=true]', { hasText: '1 part not seen' }).waitFor()
    await approve(page)
    await page.getByText('line 59.').waitFor({ state: 'attached' })
    await approve(page)
    expect((await Promise.all(all.map(votesOn))).flat()).toEqual([])
    await end(all)
    await page.context().close()
  })

  it('reveals the hidden values of all rows by v, and needs them from medium risk up', async () => {
    const all = await hold([12_000, 13_000], { secret: 'the cellar door' })
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    await open(page, all)
    await page.getByLabel('Choose shop 12000').check()
    await page.locator('.approve[aria-disabled=true]', { hasText: 'not seen' }).waitFor()
    await page.keyboard.press('v')
    await page.getByText('The same in all:').locator('..').getByText('the cellar door').waitFor()
    await allSeen(page, 2)
    await page.keyboard.press('Shift+X')
    await page.locator('.approve:not([aria-disabled=true])').waitFor()
    await approve(page)
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Approve 2 calls of high risk?').waitFor()
    expect(await dialog.locator('tbody tr').count()).toBe(2)
    expect(await axe(page)).toEqual([])
    await page.keyboard.press('Enter')
    expect((await Promise.all(all.map(votesOn))).flat()).toEqual([])
    await page.keyboard.press('y')
    await expect.poll(async () => (await Promise.all(all.map(votesOn))).flat().length).toBe(2)
    await page.context().close()
  })

  it('is never offered for calls of critical risk', async () => {
    const all = await hold([60_000, 70_000])
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    await page.keyboard.press('j')
    await page.locator('.strip .risk.critical').waitFor()
    await page.keyboard.press('Shift+X')
    await page.getByText('No other call is like this one').waitFor({ state: 'attached' })
    expect(await page.locator('.item .tag', { hasText: 'alike' }).count()).toBe(0)
    await end(all)
    await page.context().close()
  })

  it('loses a row that its agent revises or that another reviewer decides, and says so', async () => {
    const all = await hold([410, 420, 430])
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    await open(page, all)
    await page.locator('.calls tbody tr').nth(2).waitFor()
    await ben.approve(all[0]!.thread)
    await page.getByText('1 call has left the table').waitFor()
    await bot.revise(all[1]!.task, all[1]!.thread, { request_payload: { amount: 425, to: 'shop' } })
    await page.getByText('2 calls have left the table').waitFor()
    await end(all.slice(1))
    await page.getByText('None of these calls can be decided together any more.').waitFor()
    await page.context().close()
  })

  it('says which votes were refused when a call changed before they arrived', async () => {
    const all = await hold([510, 520])
    const page = await console_.signedIn({ reviewer: 'ann', viewport: WIDE })
    await open(page, all)
    await allSeen(page, 2)
    await page.keyboard.press('Shift+X')
    await page.locator('.approve:not([aria-disabled=true])').waitFor()
    await approve(page)
    await page.locator('.undo').waitFor()
    await bot.revise(all[1]!.task, all[1]!.thread, { request_payload: { amount: 525, to: 'shop' } })
    await page
      .locator('.undo.bad')
      .getByText('You approved 1 of 2 calls of pay, and 1 was refused:')
      .waitFor()
    expect((await votesOn(all[0]!)).length).toBe(1)
    expect(await votesOn(all[1]!)).toEqual([])
    await page.getByRole('link', { name: 'Show it' }).click()
    await page.locator('.undo').waitFor({ state: 'detached' })
    expect(page.url()).toContain(all[1]!.thread)
    await end(all.slice(1))
    await page.context().close()
  })

  it('fits a phone, where rows are cards', async () => {
    const all = await hold([610, 620])
    const page = await console_.signedIn({ reviewer: 'ann', viewport: PHONE })
    await open(page, all)
    await page.locator('.calls').waitFor()
    await expectNoSidewaysScroll(page)
    expect(await axe(page)).toEqual([])
    await page.keyboard.press('o')
    await page.getByRole('heading', { name: 'What runs', exact: true }).waitFor()
    expect(page.url()).toMatch(new RegExp(`#/thread/(?:${all.map(({ thread }) => thread).join('|')})$`))
    await page.keyboard.press('Escape')
    await page.locator('.calls tbody tr').nth(1).waitFor()
    await end(all)
    await page.context().close()
  })
})
