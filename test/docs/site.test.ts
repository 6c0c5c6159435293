import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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

let site: string
let output: string
beforeAll(() => {
  site = mkdtempSync(join(tmpdir(), 'cs-site-'))
  const args = ['node_modules/vitepress/bin/vitepress.js', 'build', 'docs', '--outDir', site]
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

  it('leads to its pages by links of the sidebar that exist', () => {
    const links = sidebar.flatMap(({ items }) => items.map(({ link }) => link))
    const known = pages.files.map((file) => `/${pages.pathOf(file)}`)
    expect(links.filter((link) => !known.includes(link.replace(/#.*$/, '')))).toEqual([])
  })

  it('draws diagrams at build time', () => {
    for (const path of ['architecture', 'explanation/how-proofs-work', 'explanation/what-evidence-proves'])
      expect(html(`${path}.html`), path).toMatch(/<figure class="diagram"[^>]*><svg/)
    expect(html('architecture.html')).not.toContain('language-mermaid')
  })

  it('asks no other server: no script, style, font or picture of another origin', () => {
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

  it('has local search, both colour schemes and edit links', () => {
    const page = html('architecture.html')
    expect(page).toContain('VPNavBarSearch')
    expect(page).toContain('VPSwitchAppearance')
    expect(page).toMatch(/href="[^"]*\/edit\/main\/docs\/architecture\.md"/)
  })

  it('refuses dead links, and sends links to files of the repository there', () => {
    const resolve = (href: string): string => pages.resolveLink('docs/errors.md', href, 'https://r.example')
    expect(resolve('limits.md')).toBe('/limits')
    expect(resolve('../SECURITY.md')).toBe('/security')
    expect(resolve('../policies')).toBe('https://r.example/tree/main/policies')
    expect(() => resolve('missing.md')).toThrow('dead link in docs/errors.md: missing.md')
    expect(() => resolve('limits.md#missing')).toThrow('dead link')
  })
})
