// @first
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchBrowser } from '../chromium.ts'
import { INSTALL_MS } from '../debian.ts'
import { spawnSync } from '../sync-child.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

interface Pages {
  readonly files: readonly string[]
  readonly pathOf: (file: string) => string
  readonly resolveLink: (from: string, href: string, repository: string) => string
}
interface Group {
  readonly items: readonly { readonly text: string; readonly link: string }[]
}

const load = async (name: string): Promise<unknown> =>
  import(new URL(`../../docs/.vitepress/${name}`, import.meta.url).href)
const pages = (await load('pages.mjs')) as Pages
const { sidebar } = (await load('sidebar.mjs')) as { sidebar: readonly Group[] }

/** The site's own packages, installed once for each lock file. */
function install(): void {
  const place = join(root, 'docs/.vitepress')
  const lock = readFileSync(join(place, 'package-lock.json'), 'utf8')
  const made = join(place, 'node_modules/.made-from')
  if (existsSync(made) && readFileSync(made, 'utf8') === lock) return
  const installed = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: place, timeout: 170_000 })
  expect(installed.status, `${installed.stdout}${installed.stderr}`).toBe(0)
  writeFileSync(made, lock)
}

let site: string
let output: string
beforeAll(() => {
  install()
  site = mkdtempSync(join(tmpdir(), 'cs-site-'))
  const args = ['docs/.vitepress/node_modules/vitepress/bin/vitepress.js', 'build', 'docs', '--outDir', site]
  const built = spawnSync(process.execPath, args, { cwd: root, timeout: 170_000 })
  output = `${built.stdout}${built.stderr}`
  expect(built.status, output).toBe(0)
})
afterAll(() => rmSync(site, { recursive: true, force: true }))

const html = (path: string): string => readFileSync(join(site, path), 'utf8')

describe('the documentation site', () => {
  it('builds without a warning', () => {
    expect(output).not.toMatch(/warn|deprecat|\(!\)/i)
  })

  it('has every page of docs/', () => {
    const missing = pages.files.filter((file) => {
      const path = pages.pathOf(file)
      return !existsSync(join(site, `${path.replace(/(^|\/)$/, '$1index')}.html`))
    })
    expect(pages.files.length).toBeGreaterThan(80)
    expect(missing).toEqual([])
  })

  it('has working links in its sidebar', () => {
    const links = sidebar.flatMap(({ items }) => items.map(({ link }) => link))
    const known = pages.files.map((file) => `/${pages.pathOf(file)}`)
    expect(links.filter((link) => !known.includes(link.replace(/#.*$/, '')))).toEqual([])
  })

  it('has the headings that its sidebar links to', () => {
    const links = sidebar.flatMap(({ items }) => items.map(({ link }) => link.split('#')))
    const anchored = links.filter(([, anchor]) => anchor !== undefined)
    expect(anchored.length).toBeGreaterThan(0)
    const dead = anchored.filter(
      ([page = '', anchor = '']) => !html(`${page}.html`).includes(`id="${anchor}"`),
    )
    expect(dead).toEqual([])
  })

  it('renders diagrams at build time', () => {
    for (const path of ['architecture', 'explanation/how-proofs-work', 'explanation/what-evidence-proves'])
      expect(html(`${path}.html`), path).toMatch(/<figure class="diagram"[^>]*><svg/)
    expect(html('architecture.html')).not.toContain('language-mermaid')
  })

  it('shows the picture, the rule and the call of the README on its first page', () => {
    const blocks = (file: string): string[] =>
      readFileSync(join(root, file), 'utf8').match(/^```.*?^```$/gms) ?? []
    const [rule = '', call = ''] = blocks('README.md')
    expect(rule).toContain('tool: ledger.transfer')
    expect(call).toContain('pending_review')
    expect(blocks('docs/README.md')).toEqual([rule, call])
    expect(html('index.html')).toMatch(/<img src="[^"]*\/thread\.[\w-]+\.png"/)
  })

  it('marks optional details of events in words, and sets none of them in italics', () => {
    const page = html('evidence.html')
    const table = page.slice(page.indexOf('<code>decision.allowed</code>'), page.indexOf('id="checkpoints"'))
    expect(table.match(/<\/code> \(optional\): /g)?.length).toBeGreaterThan(30)
    expect(table).not.toContain('<em>')
  })

  it('uses no other server: no script, style, font or picture of another origin', () => {
    const files = readdirSync(site, { recursive: true, encoding: 'utf8' })
    const loaded = files
      .filter((file) => /\.(html|css)$/.test(file))
      .flatMap((file) => [
        ...html(file).matchAll(
          /(?:<(?:script|img)[^>]*src|<link[^>]*href|@import\s+url\(|url\()=?["'(]?(https?:[^"')\s]+)/g,
        ),
      ])
    expect(loaded.map(([, url]) => url)).toEqual([])
  })

  it('has local search, light and dark colours, and edit links', () => {
    const page = html('architecture.html')
    expect(page).toContain('VPNavBarSearch')
    expect(page).toContain('VPSwitchAppearance')
    expect(page).toMatch(/href="[^"]*\/edit\/main\/docs\/architecture\.md"/)
  })

  it('refuses broken links, and links files of the repository to their page there', () => {
    const resolve = (href: string): string => pages.resolveLink('docs/errors.md', href, 'https://r.example')
    expect(resolve('limits.md')).toBe('/limits')
    expect(resolve('../SECURITY.md')).toBe('/security')
    expect(resolve('../policies')).toBe('https://r.example/tree/main/policies')
    expect(() => resolve('missing.md')).toThrow('dead link in docs/errors.md: missing.md')
    expect(() => resolve('limits.md#missing')).toThrow('dead link')
  })
})

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
}

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

async function open(fragment: string): Promise<Page> {
  const page = await browser.newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(`${address()}/playground.html${fragment}`)
  await page.locator('.result').waitFor()
  return page
}

const verdictOf = (page: Page): ReturnType<Page['locator']> => page.locator('.result .verdict')
const callOf = (page: Page): ReturnType<Page['locator']> => page.locator('#playground-request')

describe('the site in Chromium', () => {
  beforeAll(async () => {
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    browser = await launchBrowser()
  }, INSTALL_MS)
  afterAll(async () => {
    await browser.close()
    server.closeAllConnections()
    await new Promise((resolve) => {
      server.close(resolve)
    })
  })

  it('finds what a reader types before the box of the search is loaded', async () => {
    const page = await browser.newPage()
    let release = (): void => {}
    const typed = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route('**/VPLocalSearchBox*', async (route) => {
      await typed
      await route.continue()
    })
    await page.goto(`${address()}/limits.html`)
    await page.waitForFunction("'__vue_app__' in document.querySelector('#app')")
    await page.keyboard.press('/')
    await page.keyboard.type('restpre')
    for (const key of ['Backspace', 'Backspace', 'Backspace', 'o', 'r', 'e']) await page.keyboard.press(key)
    release()
    await page.locator('.result', { hasText: 'Backup and restore' }).first().waitFor()
    await page.keyboard.type(' backup')
    expect(await page.locator('#localsearch-input').inputValue()).toBe('restore backup')
    await page.close()
  })

  it('draws labels of diagrams with 10 px or more, on a wide screen and on a phone', async () => {
    const smallest = `Math.min(...[...document.querySelectorAll('.diagram text')].map((text) =>
      parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a))`
    const page = await browser.newPage()
    for (const width of [1440, 390])
      for (const path of [
        'architecture',
        'explanation/how-proofs-work',
        'explanation/what-evidence-proves',
      ]) {
        await page.setViewportSize({ width, height: 900 })
        await page.goto(`${address()}/${path}.html`)
        expect(await page.evaluate(smallest), `${path} at ${width}`).toBeGreaterThanOrEqual(10)
      }
    await page.close()
  })

  it('knows every recipe that the cookbook links to', async () => {
    const cookbook = readFileSync(join(root, 'docs/cookbook.md'), 'utf8')
    const linked = [...cookbook.matchAll(/playground\.md#recipe=([\w-]+)/g)].map(([, name]) => name)
    const page = await open('')
    const known = await page.getByLabel('Recipe').locator('option').allTextContents()
    expect(linked.length).toBeGreaterThan(10)
    expect(linked.filter((name) => !known.includes(name ?? ''))).toEqual([])
    await page.close()
  })

  it('opens a recipe by link, and decides again at each change of the call', async () => {
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
