import type { Page, Route } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { INSTALL_MS } from '../debian.ts'
import { held, type Reviewer, until } from '../gateway-fixture.ts'
import { visit, seeAll } from './browser.ts'
import { bot, console_, consoleWorld } from './console-world.ts'

/** Answers that arrive late, in another order than their questions, or never. */

let ben: Reviewer
let ann: Page

consoleWorld()
beforeAll(async () => {
  ben = await console_.world.reviewer('ben')
  ann = await console_.signedIn({ reviewer: 'ann' })
}, INSTALL_MS)

const button = (page: Page, name: string): ReturnType<Page['getByRole']> =>
  page.getByRole('button', { name, exact: true })
const comment = (page: Page): ReturnType<Page['getByRole']> => page.getByRole('textbox', { name: 'Comment' })
/** Two frames: whatever an answer brings about is drawn by then. */
const drawn = (page: Page): Promise<unknown> =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))

interface Late {
  /** Resolves when the question has arrived. The page does not have the answer yet. */
  readonly asked: Promise<void>
  arrive(): Promise<void>
}

/**
 * The next question to an address gets the answer that `answer` makes, in two steps: at its arrival, and when the test
 * says so.
 */
async function heldBack(
  page: Page,
  address: string | RegExp,
  answer: (route: Route) => Promise<() => Promise<void>>,
): Promise<Late> {
  let heard = (): void => undefined
  let bring = (): void => undefined
  const asked = new Promise<void>((resolve) => (heard = resolve))
  const brought = new Promise<void>((resolve) => (bring = resolve))
  let over: Promise<void> = Promise.resolve()
  const hold = (route: Route): Promise<void> =>
    (over = (async () => {
      const end = await answer(route)
      heard()
      await brought
      await end()
    })())
  await page.route(address, hold, { times: 1 })
  return {
    asked,
    arrive: async () => {
      bring()
      await over
      await drawn(page)
    },
  }
}

/** The next answer to an address is as old as its question, and arrives when the test says so. */
const late = (page: Page, address: string | RegExp): Promise<Late> =>
  heldBack(page, address, async (route) => {
    const response = await route.fetch()
    return () => route.fulfill({ response })
  })

/** The connection of the next question to an address breaks when the test says so. */
const lost = (page: Page, address: string): Promise<Late> =>
  heldBack(page, address, (route) => Promise.resolve(() => route.abort('connectionreset')))

/** The next question to an address is refused when the test says so. */
const refused = (page: Page, address: string): Promise<Late> => {
  const problem = {
    type: 'about:blank',
    title: 'Busy',
    status: 503,
    code: 'overloaded',
    detail: 'Try again.',
  }
  return heldBack(page, address, (route) =>
    Promise.resolve(() => route.fulfill({ status: 503, json: problem })),
  )
}

/** A call whose votes are sent at once, after a second step. */
const GRAVE = { payload: { amount: 20_000 } }

/** A vote that is refused when its page was left for the queue. */
async function refusedElsewhere(page: Page): Promise<void> {
  await console_.show(page, await held(bot, GRAVE))
  const answer = await refused(page, '**/votes')
  await reject(page)
  await answer.asked
  await visit(page, console_.world, 'queue')
  await answer.arrive()
}

describe('a stream that never opens', () => {
  it('counts as a lost connection: the page says so and reads again', async () => {
    const page = await console_.signedIn({ reviewer: 'ann' })
    await page.route('**/review/stream', () => undefined)
    await page.clock.install()
    await page.reload()
    await page.getByText('Nothing needs your vote').waitFor()
    const one = await held(bot)
    await page.clock.runFor(20_000)
    await page.getByText('Connection lost: trying again').waitFor()
    await console_.inQueue(page, one)
  })

  it('is not live while a proxy passes its headers on and keeps its events', async () => {
    const page = await console_.signedIn({ reviewer: 'ann' })
    await page.addInitScript(() => {
      const ask = globalThis.fetch
      globalThis.fetch = (input, init) =>
        input === '/api/review/stream'
          ? Promise.resolve(new Response(new ReadableStream()))
          : ask(input, init)
    })
    await page.clock.install()
    await page.reload()
    await page.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
    const one = await held(bot)
    await page.clock.runFor(20_000)
    await page.getByText('Connection lost: trying again').waitFor()
    await console_.inQueue(page, one)
  })
})

describe('a sign-in while the page still asks other tabs for a session', () => {
  it('opens one stream, so that no second read hides an arrival', async () => {
    const page = await console_.open()
    await page.addInitScript(() => {
      const ask = globalThis.fetch
      globalThis.fetch = (input, init) => {
        const { dataset } = document.documentElement
        if (input === '/api/review/stream') dataset['streams'] = `${dataset['streams'] ?? ''}|`
        return ask(input, init)
      }
    })
    await page.clock.install({ time: 0 })
    await page.clock.pauseAt(1_000)
    await page.goto(`${console_.world.url}/console/#/sign-in/${await console_.world.link('ann')}`)
    await button(page, 'Sign in with this link').click()
    await page.getByText('Live', { exact: true }).waitFor()
    const known = page.waitForResponse('**/review/me')
    await page.clock.resume()
    await (await known).finished()
    await drawn(page)
    expect(await page.locator('html').getAttribute('data-streams')).toBe('|')
  })
})

describe('background requests of the page', () => {
  it('background requests of the page do not extend the session after a minute without input, and do after a key press', async () => {
    const page = await console_.signedIn({ reviewer: 'ann' })
    await page.clock.install()
    await page.reload()
    await page.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
    await page.getByText('Live').waitFor()
    const unattended = async (): Promise<string | null> => {
      const counted = page.waitForRequest('**/review/counts')
      await held(bot)
      return (await counted).headerValue('countersign-unattended')
    }
    expect(await unattended()).toBe(null)
    await page.clock.fastForward(60_000)
    expect(await unattended()).toBe('1')
    await page.keyboard.press('j')
    expect(await unattended()).toBe(null)
  })
})

describe('a comment field keeps the focus', () => {
  it('keeps typed keys out of the shortcuts when the previous comment is answered', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await comment(ann).fill('First')
    const answer = await late(ann, '**/comments')
    await button(ann, 'Comment').click()
    await answer.asked
    await comment(ann).focus()
    await ann.keyboard.press('End')
    await ann.keyboard.type(', and then')
    await answer.arrive()
    await ann.getByText('Your comment was added for all reviewers.').waitFor()
    await ann.keyboard.type(' a second')
    expect(await comment(ann).inputValue()).toBe('First, and then a second')
    expect((await ben.show(one.thread)).body.votes).toEqual([])
    await comment(ann).fill('')
  })

  it('keeps typed keys out of the shortcuts when the previous page hears of a freeze', async () => {
    const one = await held(bot)
    await visit(ann, console_.world, 'agents')
    await button(ann, 'Freeze a tool').click()
    await ann.getByLabel('Tool', { exact: true }).fill('hold')
    await ann.getByLabel('Why').fill('odd')
    const answer = await late(ann, '**/freeze')
    await button(ann, 'Freeze').click()
    await answer.asked
    await console_.show(ann, one)
    await comment(ann).focus()
    await ann.keyboard.type('It is fine')
    const read = ann.waitForResponse('**/review/agents')
    await answer.arrive()
    await read
    await drawn(ann)
    await ann.keyboard.type(' as it is')
    expect(await comment(ann).inputValue()).toBe('It is fine as it is')
    expect((await ben.show(one.thread)).body.votes).toEqual([])
    await comment(ann).fill('')
  })
})

describe('a picture of another revision', () => {
  it('is never shown with this revision', async () => {
    const square =
      'iVBORw0KGgoAAAANSUhEUgAAACgAAAAoAQMAAAC2MCouAAAABlBMVEXIAAAAAABY3CUWAAAADElEQVR42mNgGFkAAADwAAE4aVpRAAAAAElFTkSuQmCC'
    const images = [`data:image/png;base64,${square}`]
    const one = await held(bot, { images })
    await console_.show(ann, one)
    const picture = ann.getByRole('img', { name: 'Picture 1 of 1 from the agent' })
    const here = (): Promise<boolean> => picture.evaluate((image: HTMLImageElement) => image.naturalWidth > 0)
    await until(here)
    const answer = await late(ann, '**/images/2/0')
    const revision = { revision_id: 'r2', request_payload: { amount: 600 } }
    await bot.revise(one.task, one.thread, revision, { images })
    await button(ann, 'Look at revision 2').click()
    await answer.asked
    expect(await picture.count()).toBe(0)
    await answer.arrive()
    await until(here)
  })
})

describe('the queue', () => {
  it('keeps arrivals and removals while more rows load', async () => {
    const page = await console_.signedIn({ reviewer: 'ann' })
    const other = await console_.world.agent('other')
    const first = await held(other)
    for (let i = 1; i < 27; i++) await held(other)
    await visit(page, console_.world, 'queue?agent=other')
    await page.locator('.item').nth(24).waitFor()
    const answer = await late(page, /cursor=/)
    await button(page, 'Load more').click()
    await answer.asked
    await ben.approve(first.thread)
    await page.locator('.item.done').waitFor()
    const came = await held(other)
    await page.locator('.news').waitFor()
    const field = page.getByLabel('agent')
    await field.focus()
    await answer.arrive()
    await page.locator('.item').nth(26).waitFor()
    expect(await field.evaluate((element) => element === document.activeElement)).toBe(true)
    expect(await page.locator('.item.done').count()).toBe(1)
    await console_.inQueue(page, came)
  })

  it('does not call a thread new when the reviewer decided it on another page', async () => {
    const page = await console_.signedIn({ reviewer: 'cat' })
    const one = await held(bot, {}, 'decided-elsewhere')
    await visit(page, console_.world, 'queue?task_id=decided-elsewhere')
    await (await console_.inQueue(page, one)).click()
    await page.getByRole('heading', { name: 'What runs' }).waitFor()
    await seeAll(page)
    await page.getByRole('button', { name: /^Approve/ }).click()
    await page.getByText('You approved revision 1.').waitFor()
    await page.locator('.back').click()
    await page.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
    await page.waitForFunction(() => !document.querySelector('[aria-busy=true]'))
    expect(await page.locator(`.item:not(.done) a[href$="${one.thread}"]`).count()).toBe(0)
    expect(await page.locator('.news').count()).toBe(0)
  })

  it('counts a change that arrives before an older answer', async () => {
    const page = await console_.signedIn({ reviewer: 'ann' })
    const counted = (): Promise<string | null> => page.locator('nav .count').textContent()
    await page.locator('nav .count').waitFor()
    const before = Number(await counted())
    const answer = await late(page, '**/review/threads?status=pending_review&mine=true&limit=100')
    await page.context().setOffline(true)
    await page.getByText('Connection lost: trying again').waitFor()
    await page.context().setOffline(false)
    const one = await held(bot)
    await answer.asked
    await ben.approve(one.thread)
    const two = await held(bot)
    const three = await held(bot)
    await page.waitForFunction(
      (n) => document.querySelector('nav .count')?.textContent === String(n),
      before + 2,
    )
    await answer.arrive()
    expect(Number(await counted())).toBe(before + 2)
    for (const { thread } of [two, three]) await ben.approve(thread)
  })
})

describe('an answer that never comes', () => {
  it('leaves no control busy forever', async () => {
    const one = await held(bot, GRAVE)
    const page = await console_.signedIn({ reviewer: 'eve' })
    await page.addInitScript(() => {
      AbortSignal.timeout = (ms) => {
        const end = new AbortController()
        addEventListener('patience', () => end.abort(new DOMException(`${ms} ms`, 'TimeoutError')))
        return end.signal
      }
    })
    await page.reload()
    await console_.show(page, one)
    const voted = page.waitForRequest('**/votes')
    await page.route('**/votes', () => undefined, { times: 1 })
    await seeAll(page)
    await page.getByRole('button', { name: /^Approve/ }).click()
    await page.keyboard.press('y')
    await voted
    await page.evaluate(() => dispatchEvent(new Event('patience')))
    await page.getByText('The outcome is unknown.').waitFor()
    await seeAll(page)
    await page.getByRole('button', { name: /^Approve/ }).click()
    await page.keyboard.press('y')
    await page.getByText('You approved revision 1.').waitFor()
  })
})

describe('a request that fails late', () => {
  it('shows no error when a newer answer has arrived', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    const answer = await lost(ann, `**/threads/${one.thread}`)
    const say = (text: string): Promise<unknown> =>
      ben.call('POST', `threads/${one.thread}/comments`, { body: { comment: text } })
    await say('Nobody has heard this')
    await answer.asked
    await say('This came first')
    await ann.getByText('This came first').waitFor()
    await answer.arrive()
    expect(await ann.getByText('cannot be reached').count()).toBe(0)
  })
})

describe('a comment that is being sent', () => {
  it('keeps later additions when the reviewer leaves the thread and returns', async () => {
    const one = await held(bot)
    await console_.show(ann, one)
    await comment(ann).fill('First')
    const answer = await late(ann, '**/comments')
    await button(ann, 'Comment').click()
    await answer.asked
    await visit(ann, console_.world, 'queue')
    await console_.show(ann, one)
    await comment(ann).fill('First, and a second')
    await answer.arrive()
    await ann.reload()
    expect(await comment(ann).inputValue()).toBe('First, and a second')
    await comment(ann).fill('')
  })
})

describe('freezing', () => {
  it('shows the answer to the request that was sent last', async () => {
    const page = await console_.signedIn({ reviewer: 'ann' })
    const answer = await late(page, '**/review/agents')
    await visit(page, console_.world, 'agents')
    await answer.asked
    await button(page, 'Freeze a tool').click()
    await page.getByLabel('Tool', { exact: true }).fill('t')
    await page.getByLabel('Why').fill('odd')
    await button(page, 'Freeze').click()
    await page.getByText('The tool t is frozen').waitFor()
    await answer.arrive()
    expect(await page.getByText('The tool t is frozen').count()).toBe(1)
  })

  it('does not close another dialog when its answer is late', async () => {
    await visit(ann, console_.world, 'agents')
    await button(ann, 'Freeze a tool').click()
    await ann.getByLabel('Tool', { exact: true }).fill('search')
    await ann.getByLabel('Why').fill('odd')
    const answer = await late(ann, '**/admin/freeze')
    await button(ann, 'Freeze').click()
    await answer.asked
    await ann.keyboard.press('Escape')
    await button(ann, 'Freeze selfie').click()
    await ann.getByLabel('Why').fill('A long story')
    await answer.arrive()
    await ann.getByText('The tool search is frozen').waitFor()
    expect(await ann.getByLabel('Why').inputValue()).toBe('A long story')
    await ann.keyboard.press('Escape')
  })

  it('reads again when the outcome is unknown', async () => {
    await visit(ann, console_.world, 'queue')
    await visit(ann, console_.world, 'agents')
    await ann.route(
      '**/admin/freeze',
      async (route) => {
        await route.fetch()
        await route.abort('connectionreset')
      },
      { times: 1 },
    )
    await button(ann, 'Freeze selfie').click()
    await ann.getByLabel('Why').fill('odd')
    await button(ann, 'Freeze').click()
    await ann.getByText('The request may have taken effect, or not.').waitFor()
    await button(ann, 'Cancel').click()
    await ann.getByText('selfie is frozen').waitFor()
  })
})

describe('the signed-in reviewer', () => {
  it('sees no connection error of a request that was sent before signing in', async () => {
    const { world } = console_
    const page = await console_.signedIn({ reviewer: 'cat' })
    await page.goto('about:blank')
    const answer = await lost(page, '**/review/me')
    await page.goto(`${world.url}/console/#/sign-in/${await world.link('cat')}`)
    await answer.asked
    await page.getByRole('button', { name: 'Sign in with this link' }).click()
    await page.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
    await answer.arrive()
    expect(await page.getByRole('heading', { name: 'Queue', exact: true }).count()).toBe(1)
    expect(await page.getByText('cannot be reached').count()).toBe(0)
  })

  it('is named by every tab, even when the tab that signed in cannot load again', async () => {
    const { world } = console_
    const page = await console_.signedIn({ reviewer: 'cat' })
    const other = await page.context().newPage()
    await other.goto(`${world.url}/console/`)
    await other.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
    await other.getByRole('button', { name: 'Cat Cox' }).waitFor()
    await visit(other, world, `sign-in/${await world.link('ben')}`)
    await other.route('**/review/me', (route) => route.abort())
    await other.getByRole('button', { name: 'Sign in with this link' }).click()
    await page.getByRole('button', { name: 'Ben Bay' }).waitFor()
  })
})

async function reject(page: Page): Promise<void> {
  await page.keyboard.press('r')
  await page.getByRole('dialog', { name: 'Reject this call?' }).waitFor()
  await page.keyboard.press('x')
}

describe('an action that is refused after the reviewer has left its page', () => {
  it('shows a refused freeze on the page until the reviewer closes it', async () => {
    await visit(ann, console_.world, 'queue')
    await visit(ann, console_.world, 'agents')
    const answer = await refused(ann, '**/admin/freeze')
    await button(ann, 'Freeze a tool').click()
    await ann.getByLabel('Tool', { exact: true }).fill('dig')
    await ann.getByLabel('Why').fill('odd')
    await button(ann, 'Freeze').click()
    await answer.asked
    await ann.keyboard.press('Escape')
    await answer.arrive()
    await ann.getByRole('alert').getByText('Freeze dig: Busy.').waitFor()
    await button(ann, 'OK').click()
    expect(await ann.getByText('Freeze dig').count()).toBe(0)
  })

  it('shows a refused vote on every page', async () => {
    await refusedElsewhere(ann)
    await ann.getByRole('alert').getByText('pay, revision 1: Busy.').waitFor()
    await button(ann, 'OK').click()
  })

  it('shows each of several refused votes', async () => {
    await refusedElsewhere(ann)
    await refusedElsewhere(ann)
    const said = ann.getByRole('alert').getByText('pay, revision 1: Busy.')
    await said.nth(1).waitFor()
    for (const left of [1, 0]) {
      await button(ann, 'OK').first().click()
      await expect.poll(() => said.count()).toBe(left)
    }
  })

  it('shows a refused vote even when the page is left while it reads again', async () => {
    const one = await held(bot, GRAVE)
    await console_.show(ann, one)
    const answer = await refused(ann, '**/votes')
    await reject(ann)
    await answer.asked
    let bring = (): void => undefined
    const brought = new Promise<void>((resolve) => (bring = resolve))
    const address = new RegExp(`/threads/${one.thread}$`)
    // an event of the stream may read the thread too
    await ann.route(address, async (route) => {
      await brought
      await route.continue()
    })
    const reading = ann.waitForRequest(address)
    await answer.arrive()
    await reading
    await visit(ann, console_.world, 'queue')
    await ann.locator('.list').waitFor()
    bring()
    await ann.getByRole('alert').getByText('pay, revision 1: Busy.').waitFor()
    await button(ann, 'OK').click()
  })

  it('is not shown to the next reviewer who signs in there', async () => {
    const page = await console_.signedIn({ reviewer: 'ann' })
    await refusedElsewhere(page)
    await page.getByText('pay, revision 1: Busy.').waitFor()
    await page.goto(`${console_.world.url}/console/#/sign-in/${await console_.world.link('ben')}`)
    await button(page, 'Sign in with this link').click()
    await page.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
    expect(await page.getByText('pay, revision 1').count()).toBe(0)
  })
})
