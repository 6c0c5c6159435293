import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { INSTALL_MS } from '../debian.ts'
import { type Agent, newTask } from '../gateway-fixture.ts'
import { approve, type Console, openConsole, visit } from './browser.ts'

/** Everything that the data of hostile texts and pictures holds, in every place where an agent can put text. */

interface Text {
  readonly id: string
  readonly class: string
  readonly text: string
}
const texts = dataOf<Text>('hostile-unicode.json', 'more-unicode.json')
const images = dataOf<{ readonly value?: string }>('hostile-images.json', 'more-images.json').flatMap(
  ({ value }) => value ?? [],
)

function dataOf<T>(...names: readonly string[]): T[] {
  return names.flatMap((name) => {
    const file = new URL(`../data/hostile/${name}`, import.meta.url)
    return (JSON.parse(readFileSync(file, 'utf8')) as { entries: T[] }).entries
  })
}

let console_: Console
let bot: Agent
let page: Page

beforeAll(async () => {
  console_ = await openConsole()
  bot = await console_.world.agent()
  page = await console_.signedIn({ reviewer: 'ann' })
}, INSTALL_MS)
afterAll(() => console_.close())

/** The thread of a proposal; undefined when the gateway refuses it. */
async function propose(claims: object): Promise<string | undefined> {
  const { status, body } = await bot.submit(newTask(), { tool_name: 'hold', ...claims })
  expect([200, 400]).toContain(status)
  return body.thread_id
}

/** The page shows no invisible and no bidirectional control character. */
async function expectNothingHidden(): Promise<void> {
  const drawn = await page.evaluate(() => document.body.innerText)
  expect(
    drawn.match(/\p{Bidi_Control}|[\u200b\u2060\ufeff\u00ad]|(?![\n\t])\p{Cc}|\p{Noncharacter_Code_Point}/gu),
  ).toBe(null)
}

describe('hostile text', () => {
  it('shows hostile values in the queue as boxed text in their own rows', async () => {
    const taken = []
    for (const { text } of texts) if ((await propose({ payload: { text } })) !== undefined) taken.push(text)
    expect(taken.length).toBeGreaterThan(90)
    await page.reload()
    for (;;) {
      await page.waitForFunction(() => !document.querySelector('[aria-busy=true]'))
      const more = page.getByRole('button', { name: 'Load more' })
      if ((await more.count()) === 0) break
      await more.click()
    }
    expect(await page.locator('.item').count()).toBe(taken.length)
    const markup = await page
      .locator('.list :is(script, img, svg, iframe, form, meta, object, style)')
      .count()
    expect(markup).toBe(0)
    await expectNothingHidden()
    const leaving = await page.evaluate(() => {
      const rows = [...document.querySelectorAll<HTMLElement>('.item')]
      // what has no room ends with an ellipsis, within its line
      const lineMore = 1.3 * Math.min(...rows.map((row) => row.offsetHeight))
      return rows.filter((row) => row.scrollWidth > row.clientWidth + 1 || row.offsetHeight > lineMore).length
    })
    expect(leaving, 'rows whose text leaves them').toBe(0)
  })

  it('puts a lone subject into quotation marks, but never a text of policy', async () => {
    const task = newTask()
    const thread = async (more: object): Promise<string> =>
      (await bot.submit(task, { tool_name: 'hold', payload: {}, ...more })).body.thread_id ?? ''
    const quiet = await thread({})
    const lines = 'People look at this.\napproved pay just now\nby security'
    await thread({ subject: lines })
    const marks = (): Promise<readonly string[]> =>
      page.locator('q').evaluateAll((all) => all.map((one) => getComputedStyle(one, '::before').content))
    await visit(page, console_.world, `thread/${quiet}`)
    const said = page.getByRole('region', { name: 'Earlier in this task' }).locator('q')
    await said.filter({ hasText: 'People look at this.' }).waitFor()
    expect(await marks()).toEqual([expect.stringContaining('“')])
    // no line of the text begins where an entry begins
    expect(await said.locator('.said').evaluate((text) => getComputedStyle(text).whiteSpace)).toBe('normal')
  })

  it('shows hostile claims, names and values as boxed text, and approves only after a look', async () => {
    const usable = []
    for (const { text } of texts) if ((await propose({ preview: text })) !== undefined) usable.push(text)
    const all = usable.filter((text) => text.length < 5_000)
    const thread = await propose({
      subject: all.join(' | ').slice(0, 30_000),
      preview: all.slice(0, 40).join('\n'),
      summary: all.slice(0, 100),
      workflow_name: all[3],
      task_label: all[4],
      payload: {
        values: all,
        ...Object.fromEntries(all.filter((text) => text !== '__proto__').map((text, i) => [text, i])),
      },
    })
    expect(thread).toBeDefined()
    await visit(page, console_.world, `thread/${thread}`)
    await page.getByRole('heading', { name: 'Check these warnings' }).waitFor()
    await page
      .locator('.long button')
      .evaluateAll((folds) => folds.forEach((one) => (one as HTMLElement).click()))
    await expectNothingHidden()
    expect(
      await page.locator('article :is(script, iframe, form, meta, svg, img, object, style)').count(),
    ).toBe(0)
    expect(
      await page
        .locator('article a')
        .evaluateAll((links) =>
          links.map((one) => one.getAttribute('href')).filter((href) => !href?.startsWith('#/')),
        ),
    ).toEqual([])
    await page.getByRole('button', { name: 'Exact text' }).click()
    await expectNothingHidden()
    await approve(page)
    await page.waitForFunction(() => document.activeElement?.id === 'acknowledge')
  })

  it('shows hostile comments and votes of other reviewers as text', async () => {
    const thread = (await propose({ subject: 'talk' })) ?? ''
    const ben = await console_.world.reviewer('ben')
    for (const { text } of texts.filter((one) => one.class === 'markup')) {
      await ben.call('POST', `threads/${thread}/comments`, { body: { comment: text } })
    }
    await visit(page, console_.world, `thread/${thread}`)
    await page.getByText('<script>alert(1)</script>', { exact: true }).waitFor()
    expect(await page.locator('article :is(script, iframe, form, meta, svg, img)').count()).toBe(0)
  })
})

describe('hostile pictures', () => {
  it('hostile pictures are shown as text, and are never fetched', async () => {
    for (let at = 0; at < images.length; at += 16) {
      const thread = await propose({ subject: 'pictures', images: images.slice(at, at + 16) })
      if (thread === undefined) continue
      await visit(page, console_.world, `thread/${thread}`)
      await page.getByText('Picture 1 of').first().waitFor()
      expect(await page.locator('article img').count()).toBe(0)
      await expectNothingHidden()
    }
  })

  it("shows a valid picture from the console's own origin, with a name", async () => {
    const pixel =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    const thread = await propose({ images: [`data:image/png;base64,${pixel}`] })
    await visit(page, console_.world, `thread/${thread}`)
    const image = page.getByRole('img', { name: 'Picture 1 of 1 from the agent' })
    await image.waitFor()
    await page.waitForFunction(() =>
      [...document.images].every((one) => one.complete && one.naturalWidth === 1),
    )
  })
})

describe('all hostile content together', () => {
  it('ran no script, sent no request elsewhere, and violated no security policy', () => {
    expect(console_.misdeeds).toEqual([])
  })
})
