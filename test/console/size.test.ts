import { readdirSync, readFileSync, statSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'

/** What a browser loads (docs/decisions/0014). The build has run before the tests. */

const BUILT = new URL('../../dist/console/', import.meta.url)
const names = readdirSync(new URL('assets/', BUILT))
const gzipped = (name: string): number => statSync(new URL(`assets/${name}.gz`, BUILT)).size
const page = readFileSync(new URL('index.html', BUILT), 'utf8')

describe('the built console', () => {
  const scripts = names.filter((name) => name.endsWith('.js'))

  it('shows the queue with less than 18.4 kB of JavaScript, and is less than 32.4 kB in all', () => {
    const first = /<script type="module" src="assets\/([^"]+)"/.exec(page)?.[1] ?? ''
    expect(scripts).toContain(first)
    expect(gzipped(first)).toBeLessThan(18_400)
    expect(scripts.reduce((sum, name) => sum + gzipped(name), 0)).toBeLessThan(32_400)
  })

  it('is two scripts, one style sheet and one icon, each compressed beside itself, with the hash in the name', () => {
    const kinds = names
      .filter((name) => !/\.(gz|br)$/.test(name))
      .map((name) => name.replace(/-[\w-]+\./, '-#.'))
    expect(kinds.toSorted()).toEqual(['console-#.css', 'console-#.js', 'console-#.svg', 'pages-#.js'])
    for (const name of names.filter((one) => one.endsWith('.gz'))) {
      const plain = readFileSync(new URL(`assets/${name.slice(0, -3)}`, BUILT))
      expect(gunzipSync(readFileSync(new URL(`assets/${name}`, BUILT)))).toEqual(plain)
      expect(names).toContain(name.replace(/gz$/, 'br'))
    }
  })

  it('has no script and no style in the page itself, and nothing from elsewhere', () => {
    expect(page).not.toMatch(/<style|style=|\son\w+=|https?:/)
    expect([...page.matchAll(/<script[^>]*>([^]*?)<\/script>/g)].map((match) => match[1])).toEqual([''])
    for (const name of scripts) {
      const text = readFileSync(new URL(`assets/${name}`, BUILT), 'utf8')
      expect(text).not.toMatch(/\beval\(|new Function\(|document\.write/)
    }
  })
})
