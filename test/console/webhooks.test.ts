import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DeliveryList, WebhookSecret } from '../../src/contract/webhook.ts'
import { INSTALL_MS } from '../debian.ts'
import { type Agent, held, until } from '../gateway-fixture.ts'
import { type Receiver, Receivers } from '../webhooks/receiver.ts'
import { axe, type Console, DESKTOP, expectNoSidewaysScroll, openConsole, PHONE, visit } from './browser.ts'

/** The console's view of webhooks, with receivers that really answer. */

const receivers = new Receivers()
const spare: Receiver[] = []
let console_: Console
let bot: Agent
let ann: Page

beforeAll(async () => {
  for (let i = 0; i < 10; i++) spare.push(await receivers.open())
  console_ = await openConsole({
    config: { webhooksAllow: spare.map(({ port }) => `127.0.0.1/32:${port}`).join(',') },
    webhooks: { everyMs: 20, deadlineMs: 10_000, ca: receivers.ca },
  })
  bot = await console_.world.agent()
  ann = await console_.signedIn({ reviewer: 'ann' })
}, INSTALL_MS)
afterAll(async () => {
  await console_.close()
  await receivers.dispose()
  expect(console_.misdeeds).toEqual([])
})

interface Destination {
  readonly id: string
  readonly receiver: Receiver
}

async function destination(body: object = {}): Promise<Destination> {
  const receiver = spare.pop() as Receiver
  const asked = { tenant: 'acme', url: receiver.url, ...body }
  const { body: made } = await console_.world.admin<WebhookSecret>('POST', 'webhooks', { body: asked })
  return { id: made.id, receiver }
}
const rows = (page: Page): ReturnType<Page['locator']> => page.locator('.row')
/** Every delivery gets all its attempts, at a receiver that refuses. The clock of the world jumps over the days. */
async function everythingDies(id: string): Promise<void> {
  const { world } = console_
  await until(async () => {
    const { body } = await world.admin<DeliveryList>('GET', `webhooks/${id}/deliveries`)
    const tries = body.deliveries.flatMap(({ next_at }) => (next_at === undefined ? [] : Date.parse(next_at)))
    // to the next one only: with tries that were passed by it may take five days, and who fails for so long is paused
    if (tries.length > 0) world.clock.now = Math.max(world.clock.now, Math.min(...tries))
    return body.deliveries.every(({ state }) => state === 'dead')
  })
}
const button = (page: Page, name: string): ReturnType<Page['getByRole']> =>
  page.getByRole('button', { name, exact: true })
const read = (page: Page): Promise<unknown> =>
  page.waitForFunction(() => !document.querySelector('[aria-busy=true]'))

describe('the page of destinations', () => {
  it('says that there is no destination, and how to create one', async () => {
    await ann.getByRole('link', { name: 'Webhooks' }).click()
    await ann.getByText('No webhook receives events yet.').waitFor()
    await ann.getByText('countersign api create_webhook -f tenant=acme').waitFor()
    expect(await axe(ann)).toEqual([])
  })

  it('is listed for administrators only, and explains this to other reviewers', async () => {
    const ben = await console_.signedIn({ reviewer: 'ben' })
    expect(await ben.getByRole('link', { name: 'Webhooks' }).count()).toBe(0)
    await ben.keyboard.press('g')
    await ben.keyboard.press('w')
    await ben.getByRole('heading', { name: 'Webhooks' }).waitFor()
    await ben.getByText('This page is for administrators.').waitFor()
    expect(await axe(ben)).toEqual([])
  })

  it('shows each destination with its URL, state, events and waiting deliveries; the keyboard opens one', async () => {
    const one = await destination({ events: ['review.approved', 'review.rejected'], payload: 'full' })
    await ann.reload()
    const row = rows(ann).filter({ hasText: one.receiver.url })
    await row.getByText('active').waitFor()
    await row.getByText('review.approved, review.rejected, with the payload').waitFor()
    await row.getByText('0 waiting').waitFor()
    expect(await ann.locator(`a[href^="https:"]`).count()).toBe(0)
    await ann.keyboard.press('j')
    await ann.keyboard.press('Enter')
    await ann.getByRole('heading', { name: 'Deliveries' }).waitFor()
    await ann.getByText('No delivery is kept.').waitFor()
    await ann.keyboard.press('Escape')
    await ann.getByRole('heading', { name: 'Webhooks' }).waitFor()
    await ann.keyboard.press('Escape')
    await ann.getByRole('heading', { name: 'Queue', exact: true }).waitFor()
  })

  it('shows an error, and tries again', async () => {
    await ann.route('**/api/admin/webhooks?*', (route) => route.abort())
    await visit(ann, console_.world, 'webhooks')
    await ann.getByRole('alert').getByText('The gateway has not answered since').waitFor()
    await ann.unroute('**/api/admin/webhooks?*')
    await button(ann, 'Try now').click()
    await rows(ann).first().waitFor()
    await visit(ann, console_.world, 'webhooks/whk_acme_nothing')
    await ann.getByRole('alert').getByText('Nothing has this address').waitFor()
  })
})

describe('one destination', () => {
  it('shows each new delivery, with a link to its thread', async () => {
    const { id } = await destination()
    await visit(ann, console_.world, `webhooks/${id}`)
    await ann.getByText('No delivery is kept.').waitFor()
    const { thread } = await held(bot)
    const row = rows(ann).filter({ hasText: 'review.pending' })
    await row.getByText('delivered').waitFor()
    await row.getByText('1 try · last: 200').waitFor()
    await row.getByRole('link', { name: thread }).click()
    await ann.getByRole('heading', { name: 'What runs' }).waitFor()
  })

  it('sends a ping, pauses, shows waiting deliveries, and resumes', async () => {
    const { id, receiver } = await destination()
    await visit(ann, console_.world, `webhooks/${id}`)
    await button(ann, 'Ping').click()
    await ann.getByRole('status').getByText('The ping was sent.').waitFor()
    await rows(ann).filter({ hasText: 'webhook.ping' }).getByText('delivered').waitFor()
    await button(ann, 'Pause').click()
    await ann.getByText('An administrator has paused it.').waitFor()
    await held(bot)
    await ann.getByText('1 waiting').waitFor()
    expect(receiver.got).toHaveLength(1)
    await button(ann, 'Resume').click()
    await ann.getByText('0 waiting').waitFor()
    await until(() => receiver.got.length === 2)
    await ann.getByText('An administrator has paused it.').waitFor({ state: 'detached' })
  })

  it('shows a destination that ended itself, and why an action was refused', async () => {
    const { id, receiver } = await destination()
    receiver.answers(410)
    await visit(ann, console_.world, `webhooks/${id}`)
    await button(ann, 'Ping').click()
    await ann.getByText('It answered 410 (gone).').waitFor()
    await ann.route('**/ping', (route) => route.abort('connectionreset'))
    await button(ann, 'Ping').click()
    await ann.getByRole('alert').getByText('The connection ended before an answer arrived').waitFor()
    await ann.unroute('**/ping')
  })

  it('loads a page at a time, and more on demand', async () => {
    const { id } = await destination({ events: ['webhook.ping'] })
    for (let i = 0; i < 27; i++) await console_.world.admin('POST', `webhooks/${id}/ping`)
    await visit(ann, console_.world, `webhooks/${id}`)
    await rows(ann).nth(24).waitFor()
    // the page reads again by itself while the next page is under way
    let readAgain = (): void => undefined
    const again = new Promise<void>((resolve) => (readAgain = resolve))
    await ann.route(/deliveries\?/, async (route) => {
      if (!route.request().url().includes('cursor=')) readAgain()
      else await again
      await route.continue()
    })
    await button(ann, 'Load more').click()
    await held(bot)
    await rows(ann).nth(26).waitFor()
    expect(await rows(ann).count()).toBe(27)
    await ann.unroute(/deliveries\?/)
  })

  it('has no fault that axe finds in light or dark, wide or narrow, and never scrolls sideways', async () => {
    const { id, receiver } = await destination()
    receiver.answers(500)
    await held(bot)
    await until(() => receiver.got.length >= 1)
    for (const look of [
      { dark: false, viewport: DESKTOP },
      { dark: true, viewport: DESKTOP },
      { dark: false, viewport: PHONE },
      { dark: true, viewport: PHONE },
    ]) {
      const page = await console_.signedIn({ reviewer: 'ann', ...look })
      for (const hash of ['webhooks', `webhooks/${id}`]) {
        await visit(page, console_.world, hash)
        await rows(page).first().waitFor()
        await read(page)
        expect(await axe(page), `${hash} ${JSON.stringify(look)}`).toEqual([])
        await expectNoSidewaysScroll(page)
      }
    }
  })
  it('shows failures with reasons, redelivers one or all, and filters by state', async () => {
    const { id, receiver } = await destination()
    receiver.answers(503)
    const done = await held(bot)
    await until(() => receiver.got.length === 1)
    await visit(ann, console_.world, `webhooks/${id}`)
    const row = rows(ann).filter({ hasText: done.thread })
    await row.getByText('last: 503').waitFor()
    await row.getByText('next in').waitFor()
    await row.getByText('waiting', { exact: true }).waitFor()
    await everythingDies(id)
    // the session did not outlive that
    receiver.answers(204)
    const page = await console_.signedIn({ reviewer: 'ann' })
    await visit(page, console_.world, `webhooks/${id}?state=dead`)
    const dead = rows(page).filter({ hasText: done.thread })
    await dead.getByText('10 tries · last: 503').waitFor()
    await dead.getByRole('button', { name: /^Redeliver review.pending of / }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('review.pending is sent again.').waitFor()
    await page.getByText('No delivery is dead.').waitFor()
    await button(page, 'dead').click()
    await rows(page).filter({ hasText: done.thread }).getByText('1 try · last: 204').waitFor()
    await button(page, 'delivered').click()
    await page.waitForFunction(() => location.hash.endsWith('?state=delivered'))
    await expect.poll(() => rows(page).count()).toBe(1)
  })

  it('redelivers everything that was given up since a time', async () => {
    const { id, receiver } = await destination()
    receiver.answers(500)
    for (let i = 0; i < 3; i++) await held(bot)
    await everythingDies(id)
    receiver.answers(200)
    const page = await console_.signedIn({ reviewer: 'ann' })
    await visit(page, console_.world, `webhooks/${id}`)
    await page.getByLabel('since').fill('2126-01-01T00:00')
    await button(page, 'Retry failed deliveries').click()
    await page.getByText('0 will be delivered again.').waitFor()
    await page.getByLabel('since').fill('2026-01-01T00:00')
    await button(page, 'Retry failed deliveries').click()
    await page.getByText('3 will be delivered again.').waitFor()
    await page.waitForFunction(() => document.querySelectorAll('.status.delivered').length === 3)
  })
})
