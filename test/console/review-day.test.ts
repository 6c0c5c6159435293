import { readdirSync, readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { BUNDLE } from '../bundle.ts'
import { INSTALL_MS } from '../debian.ts'
import { held, type Proposal } from '../gateway-fixture.ts'
import { approve, type Console, openConsole, WIDE } from './browser.ts'

/**
 * Twenty decisions on 25 mixed calls of the starter policies, by keyboard alone, with every part seen. The test prints
 * its figures.
 */

const STARTER = new URL('../../policies/', import.meta.url)

function starterFiles(): Record<string, string | null> {
  const paths = readdirSync(STARTER, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.yaml'),
  )
  const files = paths.map((path) => [path, readFileSync(new URL(path, STARTER), 'utf8')] as const)
  return {
    ...Object.fromEntries(Object.keys(BUNDLE).map((path) => [path, null])),
    ...Object.fromEntries(files),
  }
}

type Agents = 'billing-bot' | 'support-bot' | 'ops-bot'
type Proposed = readonly [Agents, string, Proposal['payload']]

const refund = (order: number, amount_cents: number, more: object = {}): Proposed => [
  'billing-bot',
  'payments.refund',
  { charge: `ch_${order}`, amount_cents, currency: 'eur', order_id: `o-${order}`, ...more },
]
const email = (order: number): object => ({ email: `customer${order}@mail.example` })
const fetch = (path: string): Proposed => [
  'support-bot',
  'web.fetch',
  { url: `https://partner.example/${path}` },
]
const remove = (kind: string, name: string, env: string): Proposed => [
  'ops-bot',
  'cloud.delete',
  { kind, name, env },
]
const write = (name: string): Proposed => [
  'ops-bot',
  'file.write',
  { path: `/workspace/docs/${name}.md`, content: 'Release notes.\n\nNothing else changed.' },
]
const query = (database: string, text: string): Proposed => [
  'ops-bot',
  'sql.query',
  { database, query: text },
]
const mail = (to: readonly string[], subject: string): Proposed => [
  'support-bot',
  'email.send',
  { to, subject, body: 'Dear all,\n\nhere are the numbers.\n\nBest regards' },
]
const thirty = [
  ...Array.from({ length: 29 }, (_, i) => `person${i + 1}@acme.com`),
  'someone@elsewhere.example',
]

/** Low and medium, six of one kind, high, and critical: in the order in which they arrive. */
const CALLS: readonly Proposed[] = [
  fetch('terms'),
  remove('vm', 'campaign-6', 'staging'),
  refund(8790, 6_400, email(1)),
  write('release-notes'),
  mail(thirty, 'Numbers for the board'),
  refund(8795, 9_900, email(2)),
  query('staging', 'select count(*) from orders'),
  fetch('prices'),
  refund(8801, 11_850, email(3)),
  ['ops-bot', 'shell.run', { argv: ['cat', '/workspace/.env'], cwd: '/workspace' }],
  remove('vm', 'campaign-7', 'staging'),
  refund(8803, 14_900, email(4)),
  fetch('contact'),
  query('analytics', "delete from sessions where at < '2026-01-01'"),
  refund(8806, 16_600, email(5)),
  write('faq'),
  ['ops-bot', 'shell.run', { argv: ['npm', 'test'], cwd: '/workspace' }],
  refund(8809, 29_800, email(1)),
  ['billing-bot', 'ledger.transfer', transfer()],
  ['ops-bot', 'shell.run', { argv: ['make', 'docs'], cwd: '/workspace' }],
  refund(9120, 31_000, { reason: 'fraudulent', ...email(6) }),
  mail(['dispatch@logistics.example'], 'Delivery on Tuesday'),
  fetch('status'),
  remove('vm', 'web-7', 'prod'),
  remove('cluster', 'search-blue', 'prod'),
]

function transfer(): object {
  return { from: 'acct_ops', to: 'acct_reserve_7', amount_cents: 36_000, currency: 'eur', memo: 'surplus' }
}

/** Calls that the reviewer leaves to others. */
const LEFT = ['partner.example/prices', 'campaign-7', 'faq', 'analytics', 'make docs']

let console_: Console

beforeAll(async () => {
  console_ = await openConsole({ files: starterFiles() })
}, INSTALL_MS)
afterAll(async () => {
  await console_.close()
  expect(console_.misdeeds).toEqual([])
})

it('decides 20 of 25 calls with at most 40 keys and no page change, each part seen', async () => {
  const { world } = console_
  for (const [agent, tool_name, payload] of CALLS) {
    await held(await world.agent(agent), { tool_name, payload })
    world.clock.advance(1_000)
  }
  const page = await console_.signedIn({ reviewer: 'carol', viewport: WIDE, advance: true })
  const risks = await page
    .locator('.item')
    .evaluateAll((rows) => rows.map((row) => row.querySelector('.risk')?.className.split(' ')[1]))
  expect(risks).toHaveLength(25)
  expect(risks.slice(0, 2)).toEqual(['critical', 'critical'])
  expect(risks.slice(2, 7).every((risk) => risk === 'high')).toBe(true)

  const keys: string[] = []
  const press = async (key: string): Promise<void> => {
    keys.push(key)
    if (keys.length > 60) throw new Error(`too many keys: ${keys.join(' ')}`)
    await page.keyboard.press(key)
  }
  const loads: string[] = []
  page.on('load', () => loads.push(page.url()))
  await page.evaluate(() => {
    const list = document.querySelector('.list')
    new MutationObserver(() => {
      if (!list?.isConnected) document.title = 'the list has gone'
    }).observe(document.body, { childList: true, subtree: true })
  })

  let decided = 0
  const started = Date.now()
  await press('j')
  while (decided < 20) {
    const before = await page.evaluate(() => location.hash)
    const several = page.locator('.strip', { hasText: 'alike' }).getByText('6 alike')
    await opened(page)
    const title = await page.locator('#call-title').innerText()
    if (LEFT.some((words) => title.includes(words))) {
      await press('j')
    } else if ((await several.count()) > 0) {
      await press('X')
      await page.getByRole('heading', { name: '6 calls of payments.refund' }).waitFor()
      await press('v')
      await page.getByRole('button', { name: 'Choose the 6 that were seen' }).waitFor()
      await press('X')
      await ready(page, press)
      keys.push(...(await approve(page)))
      decided += 6
    } else {
      const risk = await page.locator('.strip .risk').innerText()
      await ready(page, press)
      keys.push(...(await approve(page)))
      if (risk === 'high' || risk === 'critical') {
        await page.getByRole('dialog').waitFor()
        await press('y')
      }
      decided += 1
    }
    if (decided < 20) await page.waitForFunction((from) => location.hash !== from, before)
  }
  const seconds = Math.round((Date.now() - started) / 1_000)
  await expect.poll(async () => (await votesIn()).length).toBe(20)
  for (const { details } of await votesIn()) expect(details).toMatchObject({ displayed: 'all' })

  console.log(
    `20 decisions on 25 calls: ${keys.length} keys (${keys.join(' ')}), ${loads.length} page changes, ${seconds} s`,
  )
  expect(keys.length).toBeLessThanOrEqual(40)
  expect(loads).toEqual([])
  expect(await page.title()).not.toBe('the list has gone')

  async function votesIn() {
    const all = await world.allEvidence()
    return all.map(({ record }) => record).filter(({ type }) => type === 'vote.cast')
  }
})

/** Waits until the call of the current row is beside the list. */
const opened = async (page: Page): Promise<unknown> =>
  page.waitForFunction(() => {
    const [row, call] = ['.item [aria-current] .does', '#call-title .does'].map(
      (place) => document.querySelector(place)?.textContent,
    )
    return row !== undefined && row === call && document.querySelector('.bar .approve') !== null
  })

/** Waits until the call can be approved, with the keys that a reviewer needs for parts that are not on the screen. */
async function ready(page: Page, press: (key: string) => Promise<void>): Promise<void> {
  for (;;) {
    const next = await page.evaluate(async () => {
      const isReady = (): boolean =>
        document.querySelector('.bar .approve:not([aria-disabled=true])') !== null
      const pane = document.querySelector('.call > .scroll')?.getBoundingClientRect()
      const shown = (part: Element): boolean => {
        const { top, bottom } = part.getBoundingClientRect()
        return pane !== undefined && top >= pane.top && bottom <= pane.bottom
      }
      if (document.querySelector('.reveal button:not([aria-disabled=true])')) return 'v'
      // as long as parts on the screen are being looked at, a reviewer waits
      for (let looks = 0; looks < 12 && !isReady(); looks++) {
        await new Promise((later) => setTimeout(later, 100))
        const unseen = [...document.querySelectorAll('.part:has(> .seen.not)')]
        if (unseen.length === 0 || unseen.some(shown)) looks = Math.min(looks, 2)
      }
      return isReady() ? 'ready' : 'a'
    })
    if (next === 'ready') return
    await press(next)
    if (next === 'v')
      await page.locator('.reveal button:not([aria-disabled=true])').waitFor({ state: 'detached' })
  }
}
