import { createServer } from 'node:http'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureProgram } from '../debian.ts'
import { spawnSync } from '../sync-child.ts'

/** The playground of the built documentation site, in Chromium. The server is that of static files. */

const root = fileURLToPath(new URL('../..', import.meta.url))
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
}

let site: string
let browser: Browser
const asked: string[] = []
const server = createServer((request, response) => {
  const path = join(site, new URL(request.url ?? '/', 'http://site').pathname)
  asked.push(request.url ?? '')
  response.writeHead(existsSync(path) ? 200 : 404, {
    'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream',
  })
  response.end(existsSync(path) ? readFileSync(path) : '')
})
const address = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

beforeAll(async () => {
  ensureProgram('chromium', 'chromium')
  site = mkdtempSync(join(tmpdir(), 'cs-playground-'))
  const args = ['node_modules/vitepress/bin/vitepress.js', 'build', 'docs', '--outDir', site]
  const built = spawnSync(process.execPath, args, { cwd: root, timeout: 170_000 })
  expect(built.status, `${built.stdout}${built.stderr}`).toBe(0)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  })
})
afterAll(async () => {
  await browser.close()
  server.closeAllConnections()
  await new Promise((resolve) => {
    server.close(resolve)
  })
  rmSync(site, { recursive: true, force: true })
})

async function open(fragment: string): Promise<Page> {
  const page = await browser.newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(`${address()}/playground.html${fragment}`)
  await page.locator('.result').waitFor()
  return page
}

const verdictOf = (page: Page): ReturnType<Page['locator']> => page.locator('.result .verdict')
const callOf = (page: Page): ReturnType<Page['locator']> => page.locator('#playground-request')

describe('the playground', () => {
  it('knows every recipe that the cookbook links to', async () => {
    const cookbook = readFileSync(join(root, 'docs/cookbook.md'), 'utf8')
    const linked = [...cookbook.matchAll(/playground\.md#recipe=([\w-]+)/g)].map(([, name]) => name)
    const page = await open('')
    const known = await page.getByLabel('Recipe').locator('option').allTextContents()
    expect(linked.length).toBeGreaterThan(10)
    expect(linked.filter((name) => !known.includes(name ?? ''))).toEqual([])
    await page.close()
  })

  it('opens a recipe by link, and decides anew with each change of the call', async () => {
    const page = await open('#recipe=spending-limit')
    await page.getByText('Tests (4 of 4 passed)').waitFor()
    expect(await verdictOf(page).textContent()).toBe('allow')
    await callOf(page).fill('{"tool_name":"payments.refund","payload":{"charge":"ch_1","amount":5001}}')
    await page.locator('.verdict.review').waitFor()
    expect(await page.locator('.result pre').textContent()).toContain('refund-large')
    await callOf(page).fill('{"tool_name":')
    await page.getByText('No decision:').waitFor()
    await page.close()
  })

  it('says where an edited rule does not check, and which test fails', async () => {
    const page = await open('#recipe=spending-limit')
    const rules = page.getByLabel('Text of the file')
    const text = await rules.inputValue()
    await rules.fill(text.replace('{ over: 5000 }', '{ over: 6000 }'))
    await page.getByText(/large: /).waitFor()
    await rules.fill(text.replace('at_most: 5000 }', 'at_mots: 5000 }'))
    await page.getByText('did you mean').or(page.getByText('at_mots')).first().waitFor()
    expect(await verdictOf(page).textContent()).toContain('the bundle does not load')
    await page.close()
  })

  it('shares bundle and call in the fragment, and asks no server for a decision', async () => {
    const page = await open('#recipe=who-may-what')
    asked.length = 0
    await callOf(page).fill('{"tool_name":"no.such"}')
    await page.locator('.verdict.reject').waitFor()
    await page.getByRole('button', { name: 'Share as a link' }).click()
    await page.getByText('The link is in the address bar').waitFor()
    expect(asked).toEqual([])
    const copy = await open(new URL(page.url()).hash)
    expect(await callOf(copy).inputValue()).toBe('{"tool_name":"no.such"}')
    expect(await verdictOf(copy).textContent()).toBe('reject')
    await Promise.all([page.close(), copy.close()])
  })
})
